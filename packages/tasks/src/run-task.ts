import { setTimeout as delay } from 'node:timers/promises'
import { isTaskError, TaskFencedError, TaskTimeoutError } from './errors.js'
import type { TaskLogger } from './logger.js'
import { RunAbort } from './run-abort.js'
import type { TaskContext, TaskHandler } from './task-store.js'
import type { TaskRecord, TaskUpdate } from './task.js'

/** How one attempt went: its end is written, it has to be released, or it is no longer ours. */
export type RunEnd = 'ended' | 'release' | 'lost'

export interface RunOptions {
  readonly timeoutMs: number
  /** How long a handler may go on after its worker stops, to write an end of its own. */
  readonly graceMs: number
  /** For how long the end is tried to be written while the store cannot write. Past it, the lease runs out. */
  readonly settleMs: number
  readonly log: TaskLogger
  /** The store's fenced append. */
  readonly append: (updates: readonly TaskUpdate[]) => Promise<number>
}

/** A class, since an object literal with a getter of its own would cost every run a hidden class. */
class RunContext implements TaskContext {
  constructor (readonly stop: RunAbort, readonly attempt: number, readonly turn: number, readonly emit: TaskContext['emit']) {}

  get signal (): AbortSignal { return this.stop.signal }
}

/** One attempt at one task: it calls the handler, bounds its time, and sees to it that the task gets an end. */
export class TaskRun {
  readonly task: TaskRecord
  readonly stopped = new RunAbort()
  readonly #options: RunOptions
  #stopping = false
  #wroteEnd = false
  /** The store refused an update for want of room: what the handler meant is not in the log, so no end may be made up. */
  #unwritten = false

  constructor (task: TaskRecord, options: RunOptions) {
    this.task = task
    this.#options = options
  }

  /** The task is over or somebody else's: nothing that the handler still does counts. */
  abort (reason: Error): void { this.stopped.abort(reason) }

  /** The worker stops: the handler gets a last moment to write an end of its own. */
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
    // a handler that ignores its signal keeps its promise, not its slot
    await new Promise<void>(resolve => {
      const leave = (): void => { if (this.#stopping) setTimeout(resolve, this.#options.graceMs); else resolve() }
      if (stopped.aborted) leave()
      else stopped.addEventListener('abort', leave)
      handled.then(() => {
        stopped.removeEventListener('abort', leave)
        resolve()
      })
    })
    clearTimeout(timer)
    return await this.#settle(failure)
  }

  async #call (handler: TaskHandler): Promise<void> {
    const { task, stopped: stop } = this
    const emit = (updates: TaskUpdate | readonly TaskUpdate[]): Promise<number> => {
      const written = this.#emit(updates)
      // a handler that did not await it must not end the process when its task is canceled
      written.catch(() => {})
      return written
    }
    await handler(task, new RunContext(stop, task.attempt, task.turn, emit))
  }

  async #emit (updates: TaskUpdate | readonly TaskUpdate[]): Promise<number> {
    const list = Array.isArray(updates) ? updates as readonly TaskUpdate[] : [updates as TaskUpdate]
    if (this.#wroteEnd || (this.stopped.aborted && !this.#stopping)) throw new TaskFencedError(this.task.id)
    const ends = list.some(({ state }) => state !== undefined)
    if (ends) this.#wroteEnd = true
    try {
      return await this.#options.append(list)
    } catch (error) {
      if (ends) this.#wroteEnd = false
      if (isTaskError(error, 'TASK_FENCED')) this.abort(error as Error)
      if (isTaskError(error, 'TASK_STORE_UNAVAILABLE')) this.#unwritten = true
      throw error
    }
  }

  async #settle (failure: { error: unknown } | undefined): Promise<RunEnd> {
    const { id } = this.task
    const { log } = this.#options
    if (this.#wroteEnd) return 'ended'
    if (this.#stopping) return 'release'
    if (this.stopped.aborted) {
      const { reason } = this.stopped
      if (!isTaskError(reason, 'TASK_TIMEOUT')) return 'lost'
      return await this.#end({ state: 'failed', error: { code: 'TASK_TIMEOUT', message: (reason as Error).message } })
    }
    if (this.#unwritten) return 'lost'
    if (failure === undefined) return await this.#end({ state: 'completed' })
    log.error({ err: failure.error, taskId: id }, 'a task failed')
    // our own errors say nothing that a caller may not read
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
          if (!isTaskError(error, 'TASK_FENCED')) this.#options.log.error({ err: error, taskId: this.task.id }, 'the end of a task could not be written')
          return 'lost'
        }
        await delay(100, undefined, { ref: false })
      }
    }
  }
}
