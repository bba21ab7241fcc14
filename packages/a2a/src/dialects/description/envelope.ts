import { BodyTooDeepError, isTooDeep, MAX_BODY_DEPTH, problemsOf } from '@polyvac/core'
import { Type, type TObject, type TSchema } from '@sinclair/typebox'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'
import { InvalidEnvelopeError, InvalidParamsError, WrongMethodError } from '../../errors.js'
import { METHODS, type Method, type MethodName } from './methods.js'

/** A request's id, echoed as it came. */
export type RpcId = string | number | null

/** The envelope of a method, for the OpenAPI document. */
export function requestSchema (name: MethodName, { params }: Method): TSchema {
  return Type.Object({
    jsonrpc: Type.Literal('2.0'),
    method: Type.Literal(name),
    params,
    id: Type.Union([Type.String(), Type.Number(), Type.Null()], { description: 'comes back with the answer' })
  })
}

/** The answer to a request. */
export function responseSchema ({ result }: Method): TSchema {
  return Type.Union([Type.Object({ jsonrpc: Type.Literal('2.0'), id: Type.Unknown(), result }), RpcFailure])
}

/** A refused request. `data.code` is stable, for programs. */
export const RpcFailure = Type.Object({
  jsonrpc: Type.Literal('2.0'),
  id: Type.Unknown(),
  error: Type.Object({
    code: Type.Integer(),
    message: Type.String(),
    data: Type.Object({ code: Type.String() }, { additionalProperties: true })
  })
}, { title: 'RpcFailure' })

/** The id of whatever came, as far as it has one: failures before all checks carry it, too. */
export function idOf (body: unknown): RpcId {
  const id = isObject(body) ? body.id : null
  return isId(id) ? id : null
}

const checks = new Map<MethodName, TypeCheck<TObject>>()

/**
 * The params of a request, checked from the outside in: envelope, method, params.
 * @throws BODY_TOO_DEEP, A2A_INVALID_REQUEST, A2A_WRONG_METHOD, A2A_INVALID_PARAMS
 */
export function paramsOf (body: unknown, name: MethodName): unknown {
  if (isTooDeep(body)) throw new BodyTooDeepError(MAX_BODY_DEPTH)
  if (Array.isArray(body)) throw new InvalidEnvelopeError('a batch is not taken here; send one request at a time')
  if (!isObject(body)) throw new InvalidEnvelopeError('the body must be a JSON-RPC 2.0 request: an object with jsonrpc, method, params and id, sent as application/json')
  // JSON-RPC lets a request without params leave them out
  const { jsonrpc, method, params = {}, id } = body
  if (jsonrpc !== '2.0') throw new InvalidEnvelopeError("`jsonrpc` must be '2.0'")
  if (!('id' in body)) throw new InvalidEnvelopeError('`id` is missing; give a string or a number, it comes back with the answer')
  if (!isId(id)) throw new InvalidEnvelopeError('`id` must be a string, a number that JSON keeps exactly, or null')
  if (typeof method !== 'string') throw new InvalidEnvelopeError('`method` must be a string')
  if (method !== name) throw new WrongMethodError(name, JSON.stringify(method.slice(0, 64)))
  let check = checks.get(name)
  if (check === undefined) checks.set(name, check = TypeCompiler.Compile<TObject>(METHODS[name].params))
  const problems = problemsOf(check, params, 'params')
  if (problems.length > 0) throw new InvalidParamsError(problems.map(({ path, message }) => `${path}: ${message}`).join('; '))
  return params
}

function isObject (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isId (id: unknown): id is RpcId {
  if (typeof id === 'number') return Number.isSafeInteger(id) || (Number.isFinite(id) && !Number.isInteger(id))
  return typeof id === 'string' || id === null
}
