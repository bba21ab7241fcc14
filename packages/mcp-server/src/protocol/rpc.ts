import { isRecord } from '@polyvac/core/plugin'
import { CODES, type CodeName } from '@polyvac/mcp-protocol'

/** Errors of another server that are about what the caller said. */
const HANDED_ON: readonly CodeName[] = ['invalidParams', 'missingCapability']

/** JSON-RPC ids are texts or numbers; null stands for a request whose id cannot be read. */
export type RequestId = string | number

/** An answer of the protocol that is an error. Its text is for the caller. */
export class RpcError extends Error {
  readonly code: number

  constructor (code: CodeName, message: string, readonly data?: unknown, readonly status?: number) {
    super(message)
    this.code = CODES[code]
  }

  /** Another server's error as our own. What is about the messages that we sent it is our fault, not the caller's. */
  static handedOn ({ code, message, data }: { readonly code: number, readonly message: string, readonly data?: unknown }): RpcError {
    const name = HANDED_ON.find(name => CODES[name] === code)
    return name === undefined ? new RpcError('internalError', message, data) : new RpcError(name, message, data, name === 'missingCapability' ? 400 : undefined)
  }
}

export interface Request { readonly jsonrpc: '2.0', readonly id: RequestId, readonly method: string, readonly params?: Params | undefined }
export interface Notification { readonly jsonrpc: '2.0', readonly method: string, readonly params?: Params | undefined }
export interface Response { readonly jsonrpc: '2.0', readonly id: RequestId, readonly result?: Params, readonly error?: { readonly code: number, readonly message: string, readonly data?: unknown } }
export type Params = Readonly<Record<string, unknown>>

/** Results are passed on as JSON text, since most of them are made once. */
export function resultText (id: RequestId, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`
}

export function errorText (id: RequestId | null, { code, message, data }: { readonly code: number, readonly message: string, readonly data?: unknown }): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } })
}

/** Whether a number is an id: a larger one was changed when it was read, and its response would be that of another request. */
export function isNumberId (value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER
}

/** What kind of message a JSON value is. @throws RpcError -32600 where it is none */
export function messageKind (value: unknown): 'request' | 'notification' | 'response' {
  if (!isRecord(value) || value.jsonrpc !== '2.0') throw new RpcError('invalidRequest', 'the body is no JSON-RPC 2.0 message: `jsonrpc` must be "2.0"', undefined, 400)
  const { id, method, params } = value
  if (id !== undefined && typeof id !== 'string' && !isNumberId(id)) throw new RpcError('invalidRequest', '`id` must be a string, or a number of at most 2^53 - 1', undefined, 400)
  if (method === undefined) {
    if (id === undefined || isRecord(value.error) === isRecord(value.result)) throw new RpcError('invalidRequest', 'a message has a `method`, or an `id` with either `result` or `error`', undefined, 400)
    return 'response'
  }
  if (typeof method !== 'string') throw new RpcError('invalidRequest', '`method` must be a string', undefined, 400)
  if (params !== undefined && !isRecord(params)) throw new RpcError('invalidRequest', '`params` must be an object', undefined, 400)
  return id === undefined ? 'notification' : 'request'
}
