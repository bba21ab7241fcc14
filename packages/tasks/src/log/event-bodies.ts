import { TaskInputTimeoutError, TaskNotStartedError } from '../basics/errors.js'
import type { EventBody, TaskEvent, TaskState } from '../contract/task.js'
import type { UserMessage } from '../contract/task-store.js'
import { MAX_EVENT_CHARS, messageAt, toJson } from './task-updates.js'

/** The events that a store appends itself; `at` is their time. */
type StateBody<State extends TaskState> = EventBody & { readonly state: State }

export function attemptBody (attempt: number, at: number): StateBody<'working'> {
  return attempt === 0 ? { at, state: 'working' } : { at, state: 'working', retry: attempt }
}

/** @param losses executors that the task has cost before this one */
export function lostBody (losses: number, at: number): StateBody<'failed'> {
  return failedBody({ code: 'TASK_EXECUTOR_LOST', message: `the task was given up after ${losses + 1} executors were lost` }, at)
}

export function waitedBody ({ id, state, status_at: since }: { readonly id: string, readonly state: TaskState, readonly status_at: number }, at: number): StateBody<'failed'> {
  const WaitedError = state === 'submitted' || state === 'working' ? TaskNotStartedError : TaskInputTimeoutError
  return failedBody(new WaitedError(id, Math.round((at - since) / 1000)), at)
}

export function canceledBody (reason: string | undefined, at: number): StateBody<'canceled'> {
  return reason === undefined ? { at, state: 'canceled' } : { at, state: 'canceled', error: { code: 'TASK_CANCELED', message: reason, timestamp: at } }
}

/** The input of a caller, and its characters of JSON. @throws TASK_INVALID, TASK_TOO_LARGE */
export function inputBody (message: UserMessage, metadata: TaskEvent['metadata'], at: number):
{ readonly body: StateBody<'submitted'>, readonly chars: number } {
  const body = {
    at,
    state: 'submitted',
    message: messageAt(Object.assign({ role: 'user' as const }, message), at),
    ...metadata !== undefined && { metadata }
  } as const
  return { body, chars: toJson('message', body, MAX_EVENT_CHARS).length }
}

function failedBody ({ code, message }: { readonly code: string, readonly message: string }, at: number): StateBody<'failed'> {
  return { at, state: 'failed', error: { code, message, timestamp: at } }
}
