import type { FastifyError, FastifyRequest } from 'fastify'
import { ownerOf } from '../access/authentication.js'
import { isExposed, statusOf } from '../basics/create-error.js'
import { LogGate } from '../basics/log-gate.js'
import { quoteName } from '../basics/names.js'
import { InvalidRequestError } from './validation.js'
import type { ErrorBody } from '../vac/schemas.js'

/** A failure as callers may read it: no stack, no text of other libraries, the id to look for in the log. */
export interface Failure {
  readonly status: number
  readonly body: ErrorBody
}

/** What is read of a request that failed. */
type FailedRequest = Pick<FastifyRequest, 'id' | 'headers'> & { readonly routeOptions?: Pick<FastifyRequest['routeOptions'], 'bodyLimit'> }

/** Errors of Fastify about a request, with the codes of this project and the remedy. */
const FASTIFY_CODES: Readonly<Record<string, { code: string, message: string }>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: { code: 'INVALID_JSON', message: 'the body is not valid JSON, or has a forbidden key (__proto__, constructor.prototype); check it' },
  FST_ERR_CTP_EMPTY_JSON_BODY: { code: 'INVALID_JSON', message: 'the body is empty; send a JSON object' },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: { code: 'INVALID_BODY', message: 'the body is not as long as its Content-Length states' },
  FST_ERR_BAD_URL: { code: 'BAD_URL', message: 'the path is not percent-encoded correctly' },
  FST_ERR_MAX_PARAM_LENGTH: { code: 'NOT_FOUND', message: 'a part of the path is longer than any name here' }
}

/**
 * The status and the body for a failed request. Callers read the text of an error with `expose: true` or with a status
 * below 500, since such texts are written for callers; of any other error they learn the status, such as the 503 of
 * @fastify/under-pressure. An error of work that an earlier request began names that one as `failedRequestId`.
 */
export function failureOf (err: unknown, request: FailedRequest): Failure {
  const { failedRequestId } = (err ?? {}) as { readonly failedRequestId?: unknown }
  const requestId = typeof failedRequestId === 'string' ? failedRequestId : request.id
  if (err instanceof InvalidRequestError) {
    const { code, message, details } = err
    return { status: 400, body: { error: { code, message, requestId, details: [...details] } } }
  }
  const status = statusOf(err) ?? 500
  const { code, message = REQUEST_REFUSED.message } = (err ?? {}) as Partial<FastifyError>
  const encoding = request.headers['content-encoding']
  if (code === 'FST_ERR_CTP_INVALID_JSON_BODY' && encoding !== undefined) {
    const text = `the body is compressed (Content-Encoding: ${encoding}); send it uncompressed`
    return failure(415, { code: 'UNSUPPORTED_MEDIA_TYPE', message: text }, requestId)
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    const text = unsupportedType(request)
    return failure(415, { code: 'UNSUPPORTED_MEDIA_TYPE', message: text }, requestId)
  }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const limit = request.routeOptions?.bodyLimit
    const most = limit === undefined ? 'this service takes' : `${limit} bytes, which is the limit here`
    const text = `the body is larger than ${most}; send a smaller one, or raise service.limits.body (the option bodyLimit of the plugin)`
    return failure(413, { code: 'BODY_TOO_LARGE', message: text }, requestId)
  }
  const own = code === undefined ? undefined : FASTIFY_CODES[code]
  if (own !== undefined) return failure(statusOf(err) ?? 400, own, requestId)
  if (status < 500 || isExposed(err)) {
    const unnamed = status < 500 ? REQUEST_REFUSED : INTERNAL_ERROR
    return failure(status, { code: typeof code === 'string' ? code : unnamed.code, message }, requestId)
  }
  return failure(status, status === 503 ? SERVICE_UNAVAILABLE : INTERNAL_ERROR, requestId)
}

/** The text about a body whose type is not `accepted`. It names the type that was sent, without parameters. */
export function unsupportedType ({ headers }: Pick<FastifyRequest, 'headers'>, accepted = 'application/json'): string {
  const type = headers['content-type']?.split(';', 1)[0]!.trim() ?? ''
  return `the body has ${type === '' ? 'no Content-Type' : `the Content-Type ${quoteName(type)}`}; send it as ${accepted}`
}

const INTERNAL_ERROR = {
  code: 'INTERNAL_ERROR', message: 'the request failed; the log has the cause under the request id'
}

const REQUEST_REFUSED = { code: 'REQUEST_REFUSED', message: 'the request was refused' }
const SERVICE_UNAVAILABLE = {
  code: 'SERVICE_UNAVAILABLE', message: 'the service refuses requests for the moment; try again later'
}

function failure (status: number, error: { readonly code: string, readonly message: string }, requestId: string): Failure {
  // the texts of errors that applications throw
  return { status, body: { error: { ...error, message: String(error.message).toWellFormed(), requestId } } }
}

const gate = new LogGate()

/**
 * Logs a failure with status 500 or above. A refusal with 503, such as that of the memory budget, is logged at most
 * every 10 s for each code and owner: callers could fill the disk with its lines.
 */
export function logFailure (err: unknown, request: FastifyRequest, { status, body: { error: { code, message } } }: Failure): void {
  if (status < 500) return
  const owner = ownerOf(request)
  if (status === 503 && isExposed(err)) {
    const suppressed = gate.pass(code, owner)
    if (suppressed !== undefined) request.log.warn({ code, owner, suppressed }, message)
    return
  }
  try {
    request.log.error({ err, code, owner }, message)
  } catch {
    // properties of the error throw
    request.log.error({ code, owner }, message)
  }
}

/** Seconds for the `Retry-After` header of a status after which clients may retry; undefined for other statuses. */
export function retryAfter (status: number): number | undefined {
  return status === 503 || status === 429 ? 1 : undefined
}
