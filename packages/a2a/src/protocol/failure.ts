import { failureOf, retryAfter } from '@polyvac/core/plugin'
import { isTaskError, type InvalidTaskError } from '@polyvac/tasks'
import type { FastifyError, FastifyRequest } from 'fastify'
import { InvalidFieldsError, type FieldViolation } from '../errors.js'

/** A failure under its own code, before a dialect formats it. */
export interface CodedFailure {
  /** HTTP status: that of the error, or 500. */
  readonly status: number
  readonly code: string
  /** A text for callers. */
  readonly message: string
  /** The invalid fields of the request. */
  readonly violations?: readonly FieldViolation[] | undefined
  readonly requestId: string
}

/** A failure as a JSON-RPC error, and the HTTP status of its response. */
export interface DialectError {
  readonly code: number
  readonly status: number
  readonly message: string
  readonly data: unknown
}

/**
 * HTTP statuses that every binding sends unchanged, because proxies, retrying clients and log watchers act on them, by
 * the name of their gRPC status.
 */
export const PLAIN_STATUSES: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  405: 'UNIMPLEMENTED',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE'
}

export function codedFailure (err: unknown, request: FastifyRequest): CodedFailure {
  const { status, body: { error: { code, message } } } = failureOf(err, request)
  // the application around refuses requests for the moment, such as under pressure: clients may try again
  const isUnavailable = status === 500 && (err as Partial<FastifyError> | null)?.statusCode === 503
  const violations = violationsOf(err, request)
  return { status: isUnavailable ? 503 : status, code, message, violations, requestId: request.id }
}

/** The fields of a message by the arguments of the engine. */
const FIELDS: Readonly<Record<string, string>> = { contextId: 'message.contextId', idempotencyKey: 'message.messageId' }

function violationsOf (err: unknown, { headers }: FastifyRequest): readonly FieldViolation[] | undefined {
  if (err instanceof InvalidFieldsError) return err.violations
  const isConflict = isTaskError(err, 'TASK_CONFLICT')
  const argument =
    isConflict ? 'idempotencyKey' : isTaskError(err, 'TASK_INVALID') ? (err as InvalidTaskError).argument : ''
  const field = FIELDS[argument]
  // a key of the header Idempotency-Key does not come from a field
  const isHeader = argument === 'idempotencyKey' && headers['idempotency-key'] !== undefined
  if (field === undefined || isHeader) return undefined
  return [{ field, description: (err as Error).message }]
}

/** The headers of a status, unless the application's own rate limiter or authenticator has set them. */
export function headersOf (status: number, has: (name: string) => boolean): Record<string, string | number> {
  if (status === 401 && !has('www-authenticate')) return { 'www-authenticate': 'Bearer' }
  const seconds = has('retry-after') ? undefined : retryAfter(status)
  return seconds === undefined ? {} : { 'retry-after': seconds }
}
