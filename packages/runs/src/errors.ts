import { createError } from '@polyvac/core/plugin'

export const NoSuchRunError = createError<[]>('RUN_NOT_FOUND',
  'this caller has no run with this id, or the store has deleted it; GET /vac/<name>/runs lists the runs of this caller', 404)
export const NoSuchConversationError = createError<[]>('CONVERSATION_NOT_FOUND',
  'this caller has no conversation with this id, or the store has deleted it; leave the id out to begin one', 404)
export const ConversationsNotKeptError = createError<[string]>('CONVERSATIONS_NOT_KEPT',
  'conversations are not kept here: %s; leave the id out, and send the earlier turns as the history', 501, { expose: true })
export const RunInProgressError = createError<[string]>('RUN_IN_PROGRESS',
  'the conversation %s has an answer in progress; wait for it, or cancel its run', 409)
export const RunNotWaitingError = createError<[string]>('RUN_NOT_WAITING',
  'the run is %s, and does not wait for its caller; ask a new question', 409)
export const RunCancelledError = createError<[string]>('RUN_CANCELLED',
  'the run was cancelled%s; ask again', 409)
export const IdempotencyKeyReusedError = createError<[string]>('IDEMPOTENCY_KEY_REUSED',
  'this %s was sent with another request; send a new one', 422)
export const RunsOptionsError = createError<[string]>('RUNS_OPTIONS', '%s', 500)

/** How a run failed: what its first caller read, for those that read it later. Stored as JSON. */
export interface StoredFailure {
  readonly status: number
  readonly code: string
  readonly message: string
  /** The request whose id the log has with the cause. Older files have none. */
  readonly requestId?: string
}

/** The error of a run that failed before. Its text was written for callers. */
export function failureError ({ status, code, message, requestId: failedRequestId }: StoredFailure): Error & { readonly code: string } {
  return Object.assign(new Error(message), { code, statusCode: status, expose: true, failedRequestId })
}
