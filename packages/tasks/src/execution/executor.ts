import { setTimeout as delay } from 'node:timers/promises'
import { isTaskError, TaskCanceledError, TaskFencedError, TaskTooLargeError, WorkerStoppedError } from '../basics/errors.js'
import type { TaskFold } from '../log/fold-task.js'
import { isLargeLog } from '../log/log-page.js'
import type { TaskLogger } from '../basics/logger.js'
import { TaskRun, type RunEnd } from './run-task.js'
import type { TaskEvent, TaskState, TaskUpdate } from '../contract/task.js'
import type { TurnAnswer } from '../contract/conversation-records.js'
import type { TaskHandler } from '../contract/task-store.js'
import { areLargeUpdates, prepareLargeUpdatesUpdates, prepareUpdates, type PreparedUpdates } from '../log/task-updates.js'
import { yieldToEventLoop } from '../basics/turn-time.js'

/** A snapshot is written when the later events are four times as large as the last one: a quarter of the log more. */
const MIN_SNAPSHOT_CHARS = 64 * 1024
const SNAPSHOT_RATIO = 4
/** The cost of reading an event besides its characters, in characters. */
const EVENT_WEIGHT = 100
/** Time besides `graceMs` for the end of a handler to be written at `stop`. */
const STOP_MS = 200

/** The right to write to a task: for this attempt of this turn, while it runs. */
export interface AttemptFence { readonly attempt: number, readonly turn: number }

export interface ExecutorSettings {
  readonly graceMs: number
  /** Time for which writing the end is retried while the store cannot write. */
  readonly settleMs: number
  readonly maxTaskChars: number
  readonly log: TaskLogger
}

/** What an executor needs of its store. */
export interface ExecutorStore<Fence> {
  now (): number
  /** The answer of a turn is durable before the events, or with them. */
  append (fence: Fence, id: string, updates: PreparedUpdates): Promise<readonly TaskEvent[]>
  /** The state of the task of an attempt that may not write any more. */
  stateOf (fence: Fence): TaskState | undefined | Promise<TaskState | undefined>
  /** After `append` has resolved, and the events are in the fold. */
  written (fence: Fence, owner: string, events: readonly TaskEvent[], chars: number): void
  /** @throws TASK_STORE_FULL */
  checkSpace (owner: string): void
  saveSnapshot (fence: Fence, seq: number, snapshot: string): Promise<unknown>
  /** Gives tasks back to the queue. Does not reject. */
  release (fences: readonly Fence[]): Promise<void>
}

export interface Running<Fence> {
  readonly fence: Fence
  readonly run: TaskRun
  readonly fold: TaskFold
  done: Promise<void>
  end: RunEnd | undefined
  /** Characters of JSON in the log. */
  size: number
  unsaved: number
  saveAt: number
  /** The large updates that are being written, which later ones wait for. Does not reject. */
  writing: Promise<unknown> | undefined
}

/** The tasks that one worker runs. */
export class Executor<Fence extends AttemptFence> {
  /** By the id of the task. */
  // @keyed none: the keys are ids of this process, of the tasks that it runs; `concurrency`, an owner a quarter of
  //   them
  readonly #running = new Map<string, Running<Fence>>()
  readonly #store: ExecutorStore<Fence>
  readonly #settings: ExecutorSettings
  readonly #handler: TaskHandler
  readonly #timeoutMs: number

  constructor (store: ExecutorStore<Fence>, settings: ExecutorSettings, handler: TaskHandler, timeoutMs: number) {
    this.#store = store
    this.#settings = settings
    this.#handler = handler
    this.#timeoutMs = timeoutMs
  }

  get size (): number { return this.#running.size }
  get all (): readonly Running<Fence>[] { return [...this.#running.values()] }

  /** Whether this attempt still is the one that runs. */
  runs ({ run }: Running<Fence>): boolean { return this.#running.get(run.task.id)?.run === run }

  /** @param size characters of JSON in the log; @param over called at the end, also of a released task */
  run (fence: Fence, fold: TaskFold, size: number, over: (running: Running<Fence>) => void): Promise<void> {
    const { log, graceMs, settleMs } = this.#settings
    const task = fold.record()
    const run = new TaskRun(task, {
      timeoutMs: this.#timeoutMs, graceMs, settleMs, log, append: async (updates, turn) => await this.#append(running, updates, turn)
    })
    const running: Running<Fence> = { fence, run, fold, done: Promise.resolve(), end: undefined, size, unsaved: 0, saveAt: MIN_SNAPSHOT_CHARS, writing: undefined }
    // a lease that ran out unnoticed, or an earlier history of the database: it may not write any more
    this.#running.get(task.id)?.run.abort(new TaskFencedError(task.id))
    this.#running.set(task.id, running)
    running.done = run.execute(this.#handler).then(end => {
      running.end = end
      if (end !== 'release' && this.runs(running)) this.#running.delete(task.id)
      if (end === 'lost') {
        const reason = run.stopped.reason as Error | undefined
        const level = isTaskError(reason, 'TASK_CANCELED') ? 'debug' : 'warn'
        log[level]({ taskId: task.id, owner: task.owner, attempt: fence.attempt, reason: String(reason?.message ?? '') }, 'an attempt at a task ended early')
      }
      over(running)
    })
    return running.done
  }

  async #append (running: Running<Fence>, updates: readonly TaskUpdate[], turn: TurnAnswer | undefined): Promise<number> {
    if (running.writing === undefined && !areLargeUpdates(updates)) return await this.#write(running, [prepareUpdates(updates, this.#store.now(), turn)])
    const written = this.#appendInTurns(running, updates, turn)
    const writing = running.writing = written.catch(() => {}).finally(() => {
      if (running.writing === writing) running.writing = undefined
    })
    return await written
  }

  async #appendInTurns (running: Running<Fence>, updates: readonly TaskUpdate[], turn: TurnAnswer | undefined): Promise<number> {
    await running.writing
    return await this.#write(running, await prepareLargeUpdatesUpdates(updates, this.#store.now(), turn))
  }

  async #write (running: Running<Fence>, parts: readonly PreparedUpdates[]): Promise<number> {
    const { run: { task: { id, owner } } } = running
    // an end must always fit
    if (parts.at(-1)?.state === undefined) {
      const chars = parts.reduce((sum, { chars }) => sum + chars, 0)
      checkSize(id, running.size + chars, this.#settings.maxTaskChars)
      this.#store.checkSpace(owner)
    }
    let seq = 0
    for (const part of parts) seq = await this.#writePart(running, part)
    return seq
  }

  async #writePart (running: Running<Fence>, prepared: PreparedUpdates): Promise<number> {
    const { fence, fold, run: { task: { id, owner } } } = running
    const { chars } = prepared
    running.size += chars
    const events = await this.#store.append(fence, id, prepared).catch(async (error: unknown) => {
      // another process may have cancelled the task: then its turn keeps what was said
      if (isTaskError(error, 'TASK_FENCED')) this.abortLost(running, await this.#store.stateOf(fence))
      throw error
    })
    for (const event of events) fold.apply(event)
    this.#store.written(fence, owner, events, chars)
    running.unsaved += chars + EVENT_WEIGHT * events.length
    // a snapshot after an end that is most of it would only copy that end
    const isCopy = prepared.state !== undefined && chars > running.unsaved / 2
    if (running.unsaved > running.saveAt && !isCopy) this.#save(running)
    // the handler's next large update is converted in another turn than this one was written
    if (isLargeLog({ bytes: chars })) await yieldToEventLoop()
    return fold.seq
  }

  #save (running: Running<Fence>): void {
    const { fold, fence } = running
    const snapshot = fold.snapshot()
    running.unsaved = 0
    running.saveAt = snapshot === undefined ? Infinity : Math.max(MIN_SNAPSHOT_CHARS, SNAPSHOT_RATIO * snapshot.length)
    if (snapshot === undefined) return
    this.#store.saveSnapshot(fence, fold.seq, snapshot)
      // without it, only reading gets slower
      .catch((error: unknown) => { this.#settings.log.debug({ err: error }, 'a snapshot could not be written') })
  }

  /** Aborts the attempt at a task, where it runs here. */
  abort (id: string, reason: Error): void { this.#running.get(id)?.run.abort(reason) }

  /** Aborts an attempt that may not write any more. @param state of the task in the store */
  abortLost ({ run }: Running<Fence>, state: TaskState | undefined): void {
    const { id } = run.task
    run.abort(state === 'canceled' ? new TaskCanceledError(id) : new TaskFencedError(id))
  }

  async stop (drainMs: number): Promise<void> {
    const all = this.all
    const done = Promise.all(all.map(async ({ done }) => { await done }))
    const within = async (ms: number): Promise<void> => {
      const timer = new AbortController()
      await Promise.race([done, delay(ms, undefined, { signal: timer.signal })]).finally(() => { timer.abort() })
    }
    if (drainMs > 0) await within(drainMs)
    const reason = new WorkerStoppedError()
    for (const { run } of all) run.stop(reason)
    // an end that cannot be written must not delay the stop: another worker takes the task over
    await within(this.#settings.graceMs + STOP_MS)
    const left = all.filter(({ end }) => end === 'release')
    this.#running.clear()
    if (left.length > 0) await this.#store.release(left.map(({ fence }) => fence))
  }
}

/** @throws TASK_TOO_LARGE */
export function checkSize (id: string, size: number, limit: number): void {
  if (size > limit) throw new TaskTooLargeError(`the task ${id}`, limit)
}
