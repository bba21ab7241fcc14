import type { FastifyError, FastifyRequest } from 'fastify'
import { isExposed } from './create-error.js'
import { InvalidRequestError } from './validation.js'
import type { ErrorBody } from './schemas.js'

/** A failure as a caller may see it: no stack, no foreign words, the id that leads to the log. */
export interface Failure {
  readonly status: number
  readonly body: ErrorBody
}

/** What Fastify finds wrong with a request, under the codes of this project and with the remedy. */
const FASTIFY_CODES: Readonly<Record<string, { code: string, message: string }>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: { code: 'BODY_TOO_LARGE', message: 'the body is larger than this service takes; send a smaller one' },
  FST_ERR_CTP_INVALID_JSON_BODY: { code: 'INVALID_JSON', message: 'the body is not valid JSON, or has a forbidden key (__proto__, constructor.prototype); check it' },
  FST_ERR_CTP_EMPTY_JSON_BODY: { code: 'INVALID_JSON', message: 'the body is empty; send a JSON object' },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: { code: 'INVALID_BODY', message: 'the body is not as long as its Content-Length says' },
  FST_ERR_BAD_URL: { code: 'BAD_URL', message: 'the address is not properly percent-encoded' },
  FST_ERR_MAX_PARAM_LENGTH: { code: 'NOT_FOUND', message: 'a part of the address is longer than any name here' },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: { code: 'UNSUPPORTED_MEDIA_TYPE', message: 'the body must be JSON; send it with Content-Type: application/json' }
}

/**
 * What to tell a caller about an error. Coded errors of this project speak for themselves; other errors below 500 keep
 * their text, since whoever set a status wrote it for callers; the rest is only named. 5xx belong in the log as well.
 */
export function failureOf (err: unknown, request: Pick<FastifyRequest, 'id' | 'headers'>): Failure {
  const requestId = request.id
  const { code, statusCode, message } = (err ?? {}) as Partial<FastifyError>
  if (err instanceof InvalidRequestError) {
    return { status: 400, body: { error: { code: err.code, message: err.message, requestId, details: [...err.details] } } }
  }
  const packing = request.headers['content-encoding']
  if (code === 'FST_ERR_CTP_INVALID_JSON_BODY' && packing !== undefined) {
    return { status: 415, body: { error: { code: 'UNSUPPORTED_MEDIA_TYPE', message: `the body is packed (Content-Encoding: ${packing}); send it as it is`, requestId } } }
  }
  const known = code === undefined ? undefined : FASTIFY_CODES[code]
  if (known !== undefined) return { status: statusCode ?? 400, body: { error: { ...known, requestId } } }
  if (statusCode !== undefined && code !== undefined && message !== undefined && (statusCode < 500 || isExposed(err))) {
    return { status: statusCode, body: { error: { code, message, requestId } } }
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return { status: statusCode, body: { error: { code: 'REQUEST_REFUSED', message: message ?? 'the request was refused', requestId } } }
  }
  return { status: 500, body: { error: { code: 'INTERNAL_ERROR', message: 'the request failed; the log has the cause under the request id', requestId } } }
}

/** Seconds to wait, for the `Retry-After` header, where trying again is worth it. */
export function retryAfter (status: number): number | undefined {
  return status === 503 || status === 429 ? 1 : undefined
}
