interface Facts {
  readonly code: string
  readonly status?: number | undefined
  readonly requestId?: string | undefined
  readonly retryAfter?: number | undefined
  readonly cause?: unknown
}

/** A failure with the code and the text of the service, or of this package where the service sent none. */
export class ServiceError extends Error {
  override name = 'ServiceError'
  readonly code: string
  /** Of the response; undefined for a failure amid a stream. */
  readonly status: number | undefined
  /** By which the operator finds the failure in the log. */
  readonly requestId: string | undefined
  /** Seconds after which the service takes the request again. */
  readonly retryAfter: number | undefined

  constructor (message: string, { code, status, requestId, retryAfter, cause }: Facts) {
    super(message, { cause })
    this.code = code
    this.status = status
    this.requestId = requestId
    this.retryAfter = retryAfter
  }
}

/** No service answers at the address; `cause` has the failure of `fetch`. */
export class UnreachableError extends ServiceError {
  override name = 'UnreachableError'

  constructor (url: string, cause: unknown) {
    super(`no service answers at ${url}; check the address, the network, and CORS for a page of another origin`, { code: 'SERVICE_UNREACHABLE', cause })
  }
}

export const cutError = (cause?: unknown): ServiceError =>
  new ServiceError('the connection ended before the answer; ask again', { code: 'STREAM_CUT', cause })

export const invalidError = (what: string, status?: number): ServiceError =>
  new ServiceError(`the service answered with ${what}; check that the address is that of the protocol`, { code: 'RESPONSE_INVALID', status })

type Json = Readonly<Record<string, unknown>>

/** The error in a body or an event: of Polyvac, OpenAI, JSON-RPC or the MCP gateway. Undefined where it has none. */
export function errorIn (body: unknown, response?: Response): ServiceError | undefined {
  const { error, code } = (typeof body === 'object' ? body ?? {} : {}) as Json
  if (error === undefined || error === null) return undefined
  const fields: Json = typeof error === 'object' ? error as Json : { message: error, code }
  const id = fields.requestId ?? response?.headers.get('x-request-id') ?? undefined
  const requestId = id === undefined ? undefined : String(id)
  const message = String(fields.message ?? fields.code)
  return new ServiceError(requestId !== undefined && message.endsWith('the request id') ? `${message} ${requestId}` : message, {
    code: String(fields.code ?? fields.type ?? 'REQUEST_REFUSED'),
    status: response === undefined || response.ok ? undefined : response.status,
    requestId,
    retryAfter: secondsOf(response?.headers.get('retry-after'))
  })
}

/** The error of a response that is not an answer. */
export function refusal (response: Response, body: unknown): ServiceError {
  const { status } = response
  return errorIn(body, response) ?? new ServiceError(`the service answered ${status}`,
    { code: 'REQUEST_REFUSED', status, retryAfter: secondsOf(response.headers.get('retry-after')) })
}

function secondsOf (value: string | null | undefined): number | undefined {
  if (value === null || value === undefined || value === '') return undefined
  const seconds = Number.isNaN(Number(value)) ? (Date.parse(value) - Date.now()) / 1000 : Number(value)
  return Number.isNaN(seconds) ? undefined : Math.max(0, Math.ceil(seconds))
}
