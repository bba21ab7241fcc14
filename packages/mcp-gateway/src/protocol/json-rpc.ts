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

/** An error response of a server, or the reason why a response cannot be used. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown
  /** Of the HTTP response that carried it, where that is not a success. */
  readonly httpStatus: number | undefined

  constructor (code: number, message: string, data?: unknown, httpStatus?: number) {
    super(message)
    this.code = code
    this.data = data
    this.httpStatus = httpStatus
  }
}
