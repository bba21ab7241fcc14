import { isRecord } from '@polyvac/core/plugin'
import { CODES, type CodeName } from '@polyvac/mcp-protocol'

/** Errors of an upstream server that the caller caused. */
const CAUSED_BY_CALLER: readonly CodeName[] = ['invalidParams', 'missingCapability']

/** JSON-RPC ids are strings or numbers; null stands for a request whose id cannot be read. */
export type RequestId = string | number

/** A JSON-RPC error response. Its message is sent to the caller. */
export class RpcError extends Error {
  readonly code: number

  /** @param status the HTTP status; by default 200 */
  constructor (code: CodeName, message: string, readonly data?: unknown, readonly status?: number) {
    super(message)
    this.code = CODES[code]
  }

  /** The error that answers a caller for an upstream server's error. What this process sent wrong is an internal error. */
  static fromUpstream ({ code, message, data }: { readonly code: number, readonly message: string, readonly data?: unknown }): RpcError {
    const name = CAUSED_BY_CALLER.find(name => CODES[name] === code) ?? 'internalError'
    return new RpcError(name, message, data, name === 'missingCapability' ? 400 : undefined)
  }
}

/** An error for a request that is invalid in its transport or its form. */
export function refusal (message: string, status = 400, code: CodeName = 'invalidRequest'): RpcError {
  return new RpcError(code, message, undefined, status)
}

/** An error for a bound that is reached for the moment: status 503. */
export function overload (message: string): RpcError {
  return refusal(message, 503, 'internalError')
}

export interface Request { readonly jsonrpc: '2.0', readonly id: RequestId, readonly method: string, readonly params?: Params | undefined }
export interface Notification { readonly jsonrpc: '2.0', readonly method: string, readonly params?: Params | undefined }
export interface Response { readonly jsonrpc: '2.0', readonly id: RequestId, readonly result?: Params, readonly error?: ErrorObject }
export interface ErrorObject { readonly code: number, readonly message: string, readonly data?: unknown }
export type Params = Readonly<Record<string, unknown>>

/** A response around a result in JSON: most results are serialized once and sent many times. */
export function resultText (id: RequestId, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`
}

export function errorText (id: RequestId | null, { code, message, data }: ErrorObject): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } })
}

/** Whether a number is an id. JSON.parse rounds larger ones, and the response would carry the id of another request. */
export function isNumberId (value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER
}

/** The kind of message that a JSON value is. @throws RpcError -32600 for any other value */
export function messageKind (value: unknown): 'request' | 'notification' | 'response' {
  if (!isRecord(value) || value.jsonrpc !== '2.0') throw refusal('the body is not a JSON-RPC 2.0 message: `jsonrpc` must be "2.0"')
  const { id, method, params } = value
  if (id !== undefined && typeof id !== 'string' && !isNumberId(id)) {
    throw refusal('`id` must be a string, or a number of at most 2^53 - 1')
  }
  if (method === undefined) {
    if (id !== undefined && isRecord(value.error) !== isRecord(value.result)) return 'response'
    throw refusal('a message has a `method`, or an `id` with either `result` or `error`')
  }
  if (typeof method !== 'string') throw refusal('`method` must be a string')
  if (params !== undefined && !isRecord(params)) throw refusal('`params` must be an object')
  return id === undefined ? 'notification' : 'request'
}
