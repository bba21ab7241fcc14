import { setTimeout as delay } from 'node:timers/promises'
import { isTaskError, TaskFencedError, TaskTimeoutError } from '../basics/errors.js'
import type { TaskLogger } from '../basics/logger.js'
import { RunAbort } from './run-abort.js'
import type { TurnAnswer } from '../contract/conversation-records.js'
import type { TaskContext, TaskHandler } from '../contract/task-store.js'
import type { TaskRecord, TaskUpdate } from '../contract/task.js'

/** The end of an attempt: the task has ended, must be released, or belongs to another worker. */
export type RunEnd = 'ended' | 'release' | 'lost'

export interface RunOptions {
  readonly timeoutMs: number
  /** Time for a handler to write an end after its worker stops. */
  readonly graceMs: number
  /** Time for which writing the end is retried while the store cannot write. Then the lease expires. */
  readonly settleMs: number
  readonly log: TaskLogger
  /** The store's fenced append. Where the fence refuses it, the run is aborted before it rejects. */
  readonly append: (updates: readonly TaskUpdate[], turn?: TurnAnswer) => Promise<number>
}

/** A class, since an object literal with a getter costs every run a hidden class. */
class RunContext implements TaskContext {
  constructor (readonly stop: RunAbort, readonly attempt: number, readonly turn: number, readonly emit: TaskContext['emit']) {}

  get signal (): AbortSignal { return this.stop.signal }
}

/** One attempt at one task: it calls the handler, limits its time, and writes an end where the handler did not. */
export class TaskRun {
  readonly task: TaskRecord
  readonly stopped = new RunAbort()
  readonly #options: RunOptions
  #stopping = false
  #wroteEnd = false
  /** Why the store could not write an update: the log lacks it, so the run must not write an end. */
  unwritten: Error | undefined

  constructor (task: TaskRecord, options: RunOptions) {
    this.task = task
    this.#options = options
  }

  /** The task has ended or belongs to another worker: further updates of the handler are refused. */
  abort (reason: Error): void { this.stopped.abort(reason) }

  /** The worker stops: the handler has a moment to write an end. */
  stop (reason: Error): void {
    if (this.stopped.aborted) return
    this.#stopping = true
    this.stopped.abort(reason)
  }

  async execute (handler: TaskHandler): Promise<RunEnd> {
    const { task, stopped } = this
    const { timeoutMs } = this.#options
    let failure: { error: unknown } | undefined
    const timer = setTimeout(() => { this.abort(new TaskTimeoutError(task.id, timeoutMs)) }, timeoutMs)
    const handled = this.#call(handler).catch((error: unknown) => { failure = { error } })
    // a handler that ignores its signal may run on, but does not keep its place
    await new Promise<void>(resolve => {
      const leave = (): void => { if (this.#stopping) setTimeout(resolve, this.#options.graceMs); else resolve() }
      if (stopped.aborted) leave()
      else stopped.addEventListener('abort', leave)
      void handled.then(() => {
        stopped.removeEventListener('abort', leave)
        resolve()
      })
    })
    clearTimeout(timer)
    return await this.#settle(failure)
  }

  async #call (handler: TaskHandler): Promise<void> {
    const { task, stopped: stop } = this
    const emit: TaskContext['emit'] = (updates, turn) => {
      const written = this.#emit(updates, turn)
      // a handler that does not await it must not end the process by an unhandled rejection
      written.catch(() => {})
      return written
    }
    await handler(task, new RunContext(stop, task.attempt, task.turn, emit))
  }

  async #emit (updates: TaskUpdate | readonly TaskUpdate[], turn: TurnAnswer | undefined): Promise<number> {
    const list = Array.isArray(updates) ? updates as readonly TaskUpdate[] : [updates as TaskUpdate]
    if (this.#wroteEnd || (this.stopped.aborted && !this.#stopping)) throw new TaskFencedError(this.task.id)
    const ends = list.some(({ state }) => state !== undefined)
    if (ends) this.#wroteEnd = true
    try {
      return await this.#options.append(list, turn)
    } catch (error) {
      if (ends) this.#wroteEnd = false
      if (isTaskError(error, 'TASK_STORE_UNAVAILABLE')) this.unwritten = error as Error
      throw error
    }
  }

  async #settle (failure: { error: unknown } | undefined): Promise<RunEnd> {
    const { id, owner } = this.task
    const { log } = this.#options
    if (this.#wroteEnd) return 'ended'
    if (this.#stopping) return 'release'
    if (this.stopped.aborted) {
      const { reason } = this.stopped
      if (!isTaskError(reason, 'TASK_TIMEOUT')) return 'lost'
      return await this.#end({ state: 'failed', error: { code: 'TASK_TIMEOUT', message: (reason as Error).message } })
    }
    if (this.unwritten !== undefined) return 'lost'
    if (failure === undefined) return await this.#end({ state: 'completed' })
    log.error({ err: failure.error, taskId: id, owner }, 'a task failed')
    // callers may read the texts of this package's errors
    if (isTaskError(failure.error)) {
      const { code, message } = failure.error as Error & { code: string }
      return await this.#end({ state: 'failed', error: { code, message } })
    }
    return await this.#end({ state: 'failed', error: { code: 'TASK_FAILED', message: `the task failed; the log has the cause under the task id ${id}` } })
  }

  async #end (update: TaskUpdate): Promise<RunEnd> {
    const until = Date.now() + this.#options.settleMs
    for (;;) {
      try {
        await this.#options.append([update])
        return 'ended'
      } catch (error) {
        if (!isTaskError(error, 'TASK_STORE_UNAVAILABLE') || Date.now() > until) {
          if (!isTaskError(error, 'TASK_FENCED')) {
            this.unwritten = error as Error
            this.#options.log.error({ err: error, taskId: this.task.id }, 'the end of a task could not be written')
          }
          return 'lost'
        }
        await delay(100, undefined, { ref: false })
      }
    }
  }
}
