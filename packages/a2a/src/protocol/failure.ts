import { failureOf } from '@polyvac/core/plugin'
import { isTaskError, type InvalidTaskError } from '@polyvac/tasks'
import type { FastifyError, FastifyRequest } from 'fastify'
import { InvalidFieldsError, type FieldViolation } from '../errors.js'

/** A failure under its own code, before a dialect puts it into its words. */
export interface CodedFailure {
  /** HTTP status: as the error has it, or 500. */
  readonly status: number
  readonly code: string
  /** Fit for callers. */
  readonly message: string
  /** The fields of a request that did not fit. */
  readonly violations?: readonly FieldViolation[] | undefined
  readonly requestId: string
}

/**
 * HTTP statuses that every binding sends unchanged, because proxies, retrying clients and log watchers act on them, by the
 * name of their gRPC status.
 */
export const PLAIN_STATUSES: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED', 403: 'PERMISSION_DENIED', 413: 'INVALID_ARGUMENT', 429: 'RESOURCE_EXHAUSTED', 503: 'UNAVAILABLE'
}

export function codedFailure (err: unknown, request: FastifyRequest): CodedFailure {
  const { status, body: { error: { code, message } } } = failureOf(err, request)
  // the application around refuses requests for the moment, such as under pressure: clients may try again
  const isUnavailable = status === 500 && (err as Partial<FastifyError> | null)?.statusCode === 503
  return { status: isUnavailable ? 503 : status, code, message, violations: violationsOf(err, request), requestId: request.id }
}

/** What of a message the arguments of the engine are. */
const FIELDS: Readonly<Record<string, string>> = { contextId: 'message.contextId', idempotencyKey: 'message.messageId' }

function violationsOf (err: unknown, { headers }: FastifyRequest): readonly FieldViolation[] | undefined {
  if (err instanceof InvalidFieldsError) return err.violations
  const argument = isTaskError(err, 'TASK_CONFLICT') ? 'idempotencyKey' : isTaskError(err, 'TASK_INVALID') ? (err as InvalidTaskError).argument : ''
  const field = FIELDS[argument]
  // a key that a header named is no field
  if (field === undefined || (argument === 'idempotencyKey' && headers['idempotency-key'] !== undefined)) return undefined
  return [{ field, description: (err as Error).message }]
}

/** Headers that go with a status, unless the application's own limiter or authenticator has set them. */
export function headersOf (status: number, has: (name: string) => boolean): Record<string, string | number> {
  if (status === 401 && !has('www-authenticate')) return { 'www-authenticate': 'Bearer' }
  return (status === 429 || status === 503) && !has('retry-after') ? { 'retry-after': 1 } : {}
}
