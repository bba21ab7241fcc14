import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { isTaskError, TaskCanceledError, TaskFencedError, WorkerStoppedError } from '../errors.js'
import type { TaskFold } from '../fold-task.js'
import { TaskRun, type RunEnd } from '../run-task.js'
import { isTerminal, type TaskRecord, type TaskUpdate } from '../task.js'
import type { TaskHandler, TaskWorker } from '../task-store.js'
import { prepareUpdates } from '../task-updates.js'
import type { StoreContext } from './store-context.js'
import type { Claim, Fence } from './task-log.js'
import type { TaskRow } from './task-statements.js'

/** Tasks that are claimed, and leases that are renewed, in one entry of a group commit. */
const BATCH = 64
/** A snapshot is made once the events since the last one weigh as much as it does, so that all snapshots together cost no more than twice the log. */
const MIN_SNAPSHOT_CHARS = 64 * 1024
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

/** A place of a worker, for a task that is being created. */
export interface Place { readonly worker: Worker, readonly claim: Claim, readonly fence: Fence }

export interface WorkerLimits {
  readonly concurrency: number
  readonly timeoutMs: number
  readonly inputMs: number | undefined
}

/** Takes tasks of one queue under leases and runs them. */
export class Worker implements TaskWorker {
  readonly #parts: StoreContext
  readonly #handler: TaskHandler
  readonly queue: string
  readonly #limits: WorkerLimits
  readonly #id = randomUUID()
  /** By the id of the task: one that is being created has no key yet. */
  readonly #running = new Map<string, Running>()
  #filling: Promise<void> | undefined
  #stopped: Promise<void> | undefined
  /** Places kept for tasks that are being created. */
  #reserved = 0
  /** Whether tasks may wait in the queue: then a new one takes its turn behind them. */
  #queued = true

  constructor (parts: StoreContext, handler: TaskHandler, queue: string, limits: WorkerLimits) {
    this.queue = queue
    this.#parts = parts
    this.#handler = handler
    this.#limits = limits
  }

  /** Takes as many tasks as there are free places, unless it is known that none waits. */
  fill (): void {
    if (!this.#queued || this.#filling !== undefined || this.#stopped !== undefined) return
    const free = Math.min(BATCH, this.#free)
    this.#queued = free <= 0 || this.#parts.tasks.hasClaimable(this.queue, Date.now())
    if (free <= 0 || !this.#queued) return
    this.#filling = this.#claim(free).finally(() => {
      this.#filling = undefined
      this.fill()
    })
  }

  get #free (): number { return this.#limits.concurrency - this.#running.size - this.#reserved }

  /** A place for a task that is about to be created, if one is free and nobody waits for it. Give it back, or `begin`. */
  reserve (): Place | undefined {
    if (this.#stopped !== undefined || this.#queued || this.#free <= 0) return undefined
    this.#reserved++
    return { worker: this, claim: { worker: this.#id, due: Date.now() + this.#parts.settings.leaseMs }, fence: { key: 0, attempt: 0, turn: 0, worker: this.#id } }
  }

  /** A task may wait: no place is reserved until it has been looked for. */
  queued (): void { this.#queued = true }

  giveBack (): void { this.#reserved-- }

  /**
   * Runs a task that is created in the place reserved for it, perhaps before it is on disk: what it appends stands
   * behind its creation in the queue of commits. The task after this attempt; undefined where the attempt did not end it.
   */
  async begin ({ fence }: Place, fold: TaskFold): Promise<TaskRecord | undefined> {
    this.#reserved--
    if (this.#stopped !== undefined) {
      await this.#release([fence])
      return undefined
    }
    await this.#run(fence, fold, 0)
    return fold.state === 'working' ? undefined : fold.record()
  }

  /** A task that was begun could not be created. */
  abandon (id: string, reason: Error): void { this.#running.get(id)?.run.abort(reason) }

  async #claim (limit: number): Promise<void> {
    const { commit, tasks, readers, settings, nudge } = this.#parts
    try {
      const { leaseMs, retries } = settings
      for (const { row, event } of await commit.write(() => tasks.take({ queue: this.queue, worker: this.#id, now: Date.now(), limit, leaseMs, retries }))) {
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
    const { key, attempt, turn, seq } = row
    const { tasks } = this.#parts
    const fold = tasks.fold(row)
    // canceled between the commit and now
    if (isTerminal(fold.state)) return
    this.#run({ key, attempt, turn, worker: this.#id }, fold, seq > 2 ? tasks.size(key) : 0)
  }

  #run (fence: Fence, fold: TaskFold, size: number): Promise<void> {
    const { settings } = this.#parts
    const task = fold.record()
    const run = new TaskRun(task, {
      timeoutMs: this.#limits.timeoutMs,
      graceMs: settings.graceMs,
      settleMs: settings.leaseMs,
      log: settings.log,
      append: async updates => await this.#append(running, updates)
    })
    const running: Running = { fence, run, fold, done: Promise.resolve(), end: undefined, size, unsaved: 0, saveAt: MIN_SNAPSHOT_CHARS }
    this.#running.set(task.id, running)
    running.done = run.execute(this.#handler).then(end => {
      running.end = end
      if (end === 'release') return
      this.#running.delete(task.id)
      if (end === 'lost') {
        const reason = run.stopped.reason as Error | undefined
        const level = isTaskError(reason, 'TASK_CANCELED') ? 'debug' : 'warn'
        settings.log[level]({ taskId: task.id, attempt: fence.attempt, reason: String(reason?.message ?? '') }, 'an attempt at a task ended early')
      }
      this.fill()
    })
    return running.done
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
    commit.write(() => { running.saveAt = Math.max(MIN_SNAPSHOT_CHARS, tasks.saveSnapshot(fence.key, fold)) })
      // only reading gets slower without it
      .catch((error: unknown) => { settings.log.debug({ err: error }, 'a snapshot could not be written') })
  }

  /** Renews the leases; who has lost one hears of it. */
  beat (): void {
    const { commit, tasks, settings } = this.#parts
    const all = this.#held()
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
    this.#drop(this.#held().filter(({ fence }) => !this.#parts.tasks.holds(fence)))
  }

  /** What runs and is in the database. */
  #held (): Running[] { return [...this.#running.values()].filter(({ fence }) => fence.key !== 0) }

  #drop (lost: readonly Running[]): void {
    for (const { fence, run } of lost) {
      if (this.#running.get(run.task.id)?.run !== run) continue
      const canceled = this.#parts.tasks.findKey(fence.key)?.state === 'canceled'
      run.abort(canceled ? new TaskCanceledError(run.task.id) : new TaskFencedError(run.task.id))
    }
  }

  /** Ends tasks of the queue whose questions nobody answers. */
  async endWaiting (): Promise<void> {
    const { inputMs } = this.#limits
    if (inputMs === undefined) return
    const { commit, tasks, readers, nudge } = this.#parts
    for (let last = BATCH; last === BATCH;) {
      const now = Date.now()
      const ended = await commit.write(() => tasks.endWaiting(this.queue, now - inputMs, now, BATCH))
      for (const { row, event } of ended) readers.written(row.key, [event], 0)
      if ((last = ended.length) > 0) nudge()
    }
  }

  /** This process has canceled a task. */
  canceled (id: string): void {
    this.#running.get(id)?.run.abort(new TaskCanceledError(id))
  }

  stop ({ drainMs = 0 }: { readonly drainMs?: number | undefined } = {}): Promise<void> {
    this.#stopped ??= this.#stop(drainMs)
    return this.#stopped
  }

  async #stop (drainMs: number): Promise<void> {
    const { settings } = this.#parts
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
    if (left.length > 0) await this.#release(left.map(({ fence }) => fence))
  }

  async #release (fences: readonly Fence[]): Promise<void> {
    const { commit, tasks, settings, nudge } = this.#parts
    await commit.write(() => { for (const fence of fences) tasks.release(fence) })
      .then(() => { nudge(true) }, (error: unknown) => { settings.log.warn({ err: error, tasks: fences.length }, 'leases could not be released and will run out') })
  }
}
