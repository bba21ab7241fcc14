import createFastifyError, { type FastifyErrorConstructor } from '@fastify/error'

/** The base class of all errors below. `expose`, as in http-errors and Koa: callers may read the text, also of 5xx. */
class TaskError extends Error {
  get expose (): true { return true }
}

type TaskErrorConstructor<Args extends unknown[]> = FastifyErrorConstructor<{ code: string, statusCode: number, readonly expose: true }, Args>

function createError<Args extends unknown[] = []> (code: string, message: string, status: number): TaskErrorConstructor<Args> {
  return createFastifyError(code, message, status, TaskError as unknown as ErrorConstructor) as unknown as TaskErrorConstructor<Args>
}

/** No such task, or one of another owner. Argument: its id. */
export const TaskNotFoundError = createError<[string]>('TASK_NOT_FOUND', "there is no task '%s'", 404)

/** The id or idempotency key is taken by another task. Argument: what is taken. */
export const TaskConflictError = createError<[string]>('TASK_CONFLICT',
  '%s; send a new one, or the same request as before', 409)

/** Another turn of the conversation has not ended, and the new one waits for none. No argument. */
export const TurnInProgressError = createError('TASK_TURN_IN_PROGRESS',
  'another question of this conversation is being answered; wait for its answer, or cancel it', 409)

const UnusableError = createError<[string, string]>('TASK_INVALID', "'%s' is not usable: %s", 400)

/** An argument is out of its range. Arguments: name, what is wrong with it. */
export class InvalidTaskError extends UnusableError {
  constructor (readonly argument: string, problem: string) {
    super(argument, problem)
  }
}

/** `cursor` does not come from a page of this store. No argument. */
export const InvalidCursorError = createError('TASK_INVALID_CURSOR',
  '`cursor` does not come from a page of tasks; leave it out to begin at the first page', 400)

/** An event or a task is larger than the store takes. Arguments: what, limit in characters of JSON. */
export const TaskTooLargeError = createError<[string, number]>('TASK_TOO_LARGE', '%s takes more than %s characters', 413)

/** The task has ended, or another attempt owns it. Argument: its id. */
export const TaskFencedError = createError<[string]>('TASK_FENCED',
  "the task '%s' has ended or belongs to another attempt; it cannot be written any more", 409)

/** The abort reason of an attempt that took too long. Arguments: id, limit in ms. */
export const TaskTimeoutError = createError<[string, number]>('TASK_TIMEOUT',
  "the task '%s' did not finish within %s ms and was stopped", 504)

/** A task asked for input and got none in time. Arguments: id, seconds. */
export const TaskInputTimeoutError = createError<[string, number]>('TASK_INPUT_TIMEOUT',
  "the task '%s' asked for input, had no answer for %s s and was ended", 504)

/** No worker took a task in time. Arguments: id, seconds. */
export const TaskNotStartedError = createError<[string, number]>('TASK_NOT_STARTED',
  "the task '%s' waited for %s s, no worker took it, and it was ended", 504)

/** The abort reason of a task that was canceled. Argument: its id. */
export const TaskCanceledError = createError<[string]>('TASK_CANCELED', "the task '%s' was canceled", 499)

/** The abort reason of a task whose worker stops. No argument. */
export const WorkerStoppedError = createError('TASK_WORKER_STOPPED', 'this worker stops; another one takes over the task', 503)

/** A task has as many push configs as it may. Argument: the limit. */
export const TooManyPushConfigsError = createError<[number]>('TASK_TOO_MANY_PUSH_CONFIGS',
  'a task takes at most %s push configs; delete one first', 400)

/** All slots for tasks are taken by tasks that have not ended. Argument: whose slots, and how many. */
export const TooManyTasksError = createError<[string]>('TASK_TOO_MANY', '%s; try again when some have ended', 503)

/** The size limit is reached, and no task that has ended is left to delete. Argument: what is full. */
export const StoreFullError = createError<[string]>('TASK_STORE_FULL',
  '%s is full of tasks that have not ended; try again when some have ended', 503)

/** The store could not write; nothing was acknowledged. Argument: reason. */
export const StoreUnavailableError = createError<[string]>('TASK_STORE_UNAVAILABLE',
  'the task store cannot write: %s; try again later', 503)

/** A call came before `open()` or after `close()`. No argument. */
export const StoreClosedError = createError('TASK_STORE_CLOSED', 'the task store is not open', 503)

/** The file belongs to another program or a newer version. Arguments: path, reason. */
export const StoreFileError = createError<[string, string]>('TASK_STORE_FILE', "cannot keep tasks in '%s': %s", 500)

/** The database cannot be used. Arguments: which one, reason and remedy. */
export const StoreDatabaseError = createError<[string, string]>('TASK_STORE_DATABASE', 'cannot keep tasks in %s: %s', 500)

/** An option is out of its range. Arguments: name, value, range. */
export const InvalidStoreOptionError = createError<[string, string, string]>('TASK_STORE_OPTION',
  "option '%s' is %s; give %s", 500)

/** Whether `error` is one of the above, and with `code`, which one. */
export function isTaskError (error: unknown, code?: string): boolean {
  return error instanceof TaskError && (code === undefined || (error as { code?: unknown }).code === code)
}
