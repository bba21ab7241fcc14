/** An HTTP response that is not a success. */
export class HttpError extends Error {
  constructor (readonly status: number, readonly body: string) {
    super(`HTTP status ${status}${body === '' ? '' : `: ${body}`}`)
  }
}
