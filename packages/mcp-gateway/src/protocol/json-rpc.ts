export type Id = string | number

/** A message as it was read: nothing but `jsonrpc` is certain. */
export interface RpcMessage {
  readonly jsonrpc: '2.0'
  readonly id?: Id
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: unknown
}

/** Codes of JSON-RPC 2.0. */
export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603

/** An error response of a server, or the reason why a response cannot be used. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown

  constructor (code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}
