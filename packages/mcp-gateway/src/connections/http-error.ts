/** An HTTP response that is not a success, or a success that does not answer its request. */
export class HttpError extends Error {
  constructor (readonly status: number, readonly body: string) {
    super(`HTTP status ${status}${body === '' ? '' : `: ${body}`}`)
  }
}
