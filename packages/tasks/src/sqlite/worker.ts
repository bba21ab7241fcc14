import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { isTaskError, TaskCanceledError, TaskFencedError, WorkerStoppedError } from '../errors.js'
import type { TaskFold } from '../fold-task.js'
import { TaskRun, type RunEnd } from '../run-task.js'
import { isTerminal, type TaskUpdate } from '../task.js'
import type { TaskHandler, TaskWorker } from '../task-store.js'
import { prepareUpdates } from '../task-updates.js'
import type { StoreParts } from './parts.js'
import type { Fence } from './task-log.js'
import type { TaskRow } from './task-statements.js'

/** Tasks that are claimed, and leases that are renewed, in one entry of a group commit. */
const BATCH = 64
/** A snapshot is made once the events since the last one weigh as much as it does, so that all snapshots together cost no more than twice the log. */
const LEAST_SNAPSHOT = 64 * 1024
/** What an event costs to read besides its characters. */
const EVENT_WEIGHT = 100

interface Running {
  readonly fence: Fence
  readonly run: TaskRun
  readonly fold: TaskFold
  done: Promise<void>
  end: RunEnd | undefined
  /** Characters of JSON in the log. */
  size: number
  unsaved: number
  saveAt: number
}

/** Takes tasks under leases and runs them. */
export class Worker implements TaskWorker {
  readonly #parts: StoreParts
  readonly #handler: TaskHandler
  readonly #limits: { readonly concurrency: number, readonly timeoutMs: number }
  readonly #id = randomUUID()
  readonly #running = new Map<number, Running>()
  #filling: Promise<void> | undefined
  #stopped: Promise<void> | undefined

  constructor (parts: StoreParts, handler: TaskHandler, limits: { concurrency: number, timeoutMs: number }) {
    this.#parts = parts
    this.#handler = handler
    this.#limits = limits
  }

  /** Takes as many tasks as there are free places. */
  fill (): void {
    if (this.#filling !== undefined || this.#stopped !== undefined) return
    const free = Math.min(BATCH, this.#limits.concurrency - this.#running.size)
    if (free <= 0 || !this.#parts.tasks.hasClaimable(Date.now())) return
    this.#filling = this.#claim(free).finally(() => {
      this.#filling = undefined
      this.fill()
    })
  }

  async #claim (limit: number): Promise<void> {
    const { commit, tasks, readers, settings, nudge } = this.#parts
    try {
      const { leaseMs, retries } = settings
      for (const { row, event } of await commit.write(() => tasks.take({ worker: this.#id, now: Date.now(), limit, leaseMs, retries }))) {
        readers.written(row.key, [event], 0)
        if (row.state === 'working') this.#start(row)
        else nudge()
      }
    } catch (error) {
      // the next tick tries again
      settings.log.warn({ err: error }, 'no task could be claimed')
      await delay(settings.claimMs, undefined, { ref: false })
    }
  }

  #start (row: TaskRow): void {
    const { key, attempt, turn, id } = row
    const { tasks, settings } = this.#parts
    const fold = tasks.fold(row)
    const task = fold.record()
    // canceled between the commit and now
    if (isTerminal(task.state)) return
    const fence: Fence = { key, attempt, turn, worker: this.#id }
    const run = new TaskRun(task, {
      timeoutMs: this.#limits.timeoutMs,
      graceMs: settings.graceMs,
      settleMs: settings.leaseMs,
      log: settings.log,
      append: async updates => await this.#append(running, updates)
    })
    const running: Running = {
      fence, run, fold, done: Promise.resolve(), end: undefined, size: row.seq > 2 ? tasks.size(key) : 0, unsaved: 0, saveAt: LEAST_SNAPSHOT
    }
    this.#running.set(key, running)
    running.done = run.execute(this.#handler).then(end => {
      running.end = end
      if (end === 'release') return
      this.#running.delete(key)
      if (end === 'lost') settings.log.warn({ taskId: id, attempt, reason: String((run.signal.reason as Error | undefined)?.message ?? '') }, 'an attempt at a task ended early')
      this.fill()
    })
  }

  async #append (running: Running, updates: readonly TaskUpdate[]): Promise<number> {
    const { commit, tasks, readers, settings, nudge } = this.#parts
    const { fence, fold, run: { task: { id } } } = running
    const prepared = prepareUpdates(updates, Date.now())
    const chars = prepared.texts.reduce((sum, text) => sum + text.length, 0)
    // an end has to fit, always
    if (prepared.state === undefined) tasks.checkSize(id, running.size + chars, settings.maxTaskChars)
    running.size += chars
    const events = await commit.write(() => tasks.append(fence, id, prepared))
    for (const event of events) fold.apply(event)
    readers.written(fence.key, events, chars)
    running.unsaved += chars + EVENT_WEIGHT * events.length
    if (running.unsaved > running.saveAt) this.#save(running)
    nudge()
    return fold.seq
  }

  #save (running: Running): void {
    const { commit, tasks, settings } = this.#parts
    const { fold, fence } = running
    running.unsaved = 0
    commit.write(() => { running.saveAt = Math.max(LEAST_SNAPSHOT, tasks.saveSnapshot(fence.key, fold)) })
      // only reading gets slower without it
      .catch((error: unknown) => { settings.log.debug({ err: error }, 'a snapshot could not be written') })
  }

  /** Renews the leases; who has lost one hears of it. */
  beat (): void {
    const { commit, tasks, settings } = this.#parts
    const all = [...this.#running.values()]
    for (let i = 0; i < all.length; i += BATCH) {
      const some = all.slice(i, i + BATCH)
      const due = Date.now() + settings.leaseMs
      commit.write(() => some.filter(({ fence }) => !tasks.renew(fence, due))).then(lost => { this.#drop(lost) }, (error: unknown) => {
        if (!isTaskError(error, 'TASK_STORE_CLOSED')) settings.log.warn({ err: error }, 'leases could not be renewed')
      })
    }
  }

  /** After a commit of another process: it may have canceled, or taken over. */
  look (): void {
    this.#drop([...this.#running.values()].filter(({ fence }) => !this.#parts.tasks.holds(fence)))
  }

  #drop (lost: readonly Running[]): void {
    for (const { fence, run } of lost) {
      if (this.#running.get(fence.key)?.run !== run) continue
      const canceled = this.#parts.tasks.findKey(fence.key)?.state === 'canceled'
      run.abort(canceled ? new TaskCanceledError(run.task.id) : new TaskFencedError(run.task.id))
    }
  }

  /** This process has canceled a task. */
  canceled (key: number): void {
    const run = this.#running.get(key)?.run
    run?.abort(new TaskCanceledError(run.task.id))
  }

  stop ({ drainMs = 0 }: { readonly drainMs?: number | undefined } = {}): Promise<void> {
    this.#stopped ??= this.#stop(drainMs)
    return this.#stopped
  }

  async #stop (drainMs: number): Promise<void> {
    const { commit, tasks, settings, nudge } = this.#parts
    await this.#filling
    const all = [...this.#running.values()]
    const done = Promise.all(all.map(async ({ done }) => { await done }))
    const within = async (ms: number): Promise<void> => {
      const timer = new AbortController()
      await Promise.race([done, delay(ms, undefined, { signal: timer.signal })]).finally(() => { timer.abort() })
    }
    if (drainMs > 0) await within(drainMs)
    const reason = new WorkerStoppedError()
    for (const { run } of all) run.stop(reason)
    // an end that cannot be written must not hold up the stop: its lease runs out by itself
    await within(settings.graceMs + 200)
    const left = all.filter(({ end }) => end === 'release')
    this.#running.clear()
    if (left.length === 0) return
    await commit.write(() => { for (const { fence } of left) tasks.release(fence) })
      .then(nudge, (error: unknown) => { settings.log.warn({ err: error, tasks: left.length }, 'leases could not be released and will run out') })
  }
}
