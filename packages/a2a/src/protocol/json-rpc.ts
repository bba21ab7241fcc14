import { BodyTooDeepError, isRecord, isTooDeep, MAX_BODY_DEPTH } from '@polyvac/core/plugin'
import { InvalidEnvelopeError } from '../errors.js'

/** A request's id, echoed as it came. */
export type RpcId = string | number | null

export interface RpcRequest {
  readonly id: RpcId
  readonly method: string
  /** JSON-RPC lets a request without params leave them out. */
  readonly params: unknown
}

/** The id of whatever came, as far as it has one: failures before all checks carry it, too. */
export function idOf (body: unknown): RpcId {
  const id = isRecord(body) ? body.id : null
  return isId(id) ? id : null
}

/**
 * The envelope of a request, checked. `checkCall` gets the call of a request without an id, which is refused in any
 * case: what it throws names the error of a protocol that checks method and params first.
 * @throws BODY_TOO_DEEP, A2A_INVALID_REQUEST
 */
export function readEnvelope (body: unknown, checkCall?: (method: string, params: unknown) => void): RpcRequest {
  if (isTooDeep(body)) throw new BodyTooDeepError(MAX_BODY_DEPTH)
  if (Array.isArray(body)) throw new InvalidEnvelopeError('a batch is not taken here; send one request at a time')
  if (!isRecord(body)) {
    throw new InvalidEnvelopeError('the body must be a JSON-RPC 2.0 request: ' +
      'an object with jsonrpc, method, params and id, sent as application/json')
  }
  const { jsonrpc, method, params = {}, id } = body
  if (jsonrpc !== '2.0') throw new InvalidEnvelopeError("`jsonrpc` must be '2.0'")
  if (!('id' in body)) {
    if (typeof method === 'string') checkCall?.(method, params)
    throw new InvalidEnvelopeError('`id` is missing; give a string or a number, it comes back with the answer')
  }
  if (!isId(id)) throw new InvalidEnvelopeError('`id` must be a string, a number that JSON keeps exactly, or null')
  if (typeof method !== 'string') throw new InvalidEnvelopeError('`method` must be a string')
  return { id, method, params }
}

function isId (id: unknown): id is RpcId {
  if (typeof id === 'number') return Number.isSafeInteger(id) || (Number.isFinite(id) && !Number.isInteger(id))
  return typeof id === 'string' || id === null
}
