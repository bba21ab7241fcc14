import { isBusy } from '@polyvac/sqlite'
import type { TaskLogger } from '../basics/logger.js'
import type { NewRow } from '../store/new-task.js'
import { readNumbers } from '../basics/number-options.js'
import { isForWebhooks, Outbox } from '../push/outbox.js'
import { DELIVER_NUMBERS, WORK_NUMBERS } from '../store/store-options.js'
import type { DeliverOptions, DeliveryHandler, TaskHandler, TaskWorker, WorkOptions } from '../contract/task-store.js'
import type { SqliteSettings } from './options.js'
import { OutboxRows } from './outbox-rows.js'
import type { StoreContext } from './store-context.js'
import { Worker, type Place } from './worker.js'

/** A lease may end this much later than the clock allows: clocks are adjusted by small steps. */
const CLOCK_SLACK_MS = 1_000

/** The workers and outboxes of one store in this process: it wakes them, and keeps their leases. */
export class Workers {
  readonly #settings: SqliteSettings
  readonly #isOpen: () => boolean
  // @keyed none: the values are workers of the plugins
  readonly #workers = new Set<Worker>()
  // @keyed none: the keys are outboxes of the plugins
  readonly #outboxes = new Map<Outbox, OutboxRows>()
  #nudged = false
  #beatAt = Date.now()
  /** Between the clock and the time of the process, and since when it has not jumped back. */
  #clockOffset = Date.now() - performance.now()
  #steadySince = performance.now()

  constructor (settings: SqliteSettings, isOpen: () => boolean) {
    this.#settings = settings
    this.#isOpen = isOpen
  }

  work (context: StoreContext, handler: TaskHandler, { queue = '', hold, serves, ...limits }: WorkOptions): TaskWorker {
    const worker = new Worker(context, handler, queue, { ...readNumbers(WORK_NUMBERS, limits), hold, serves, ownerShare: this.#settings.ownerShare })
    this.#workers.add(worker)
    this.nudge()
    return { stop: async options => { await worker.stop(options).finally(() => { this.#workers.delete(worker) }) } }
  }

  deliver (context: StoreContext, handler: DeliveryHandler, { wants = isForWebhooks, ...limits }: DeliverOptions): TaskWorker {
    const { log, deadAfterMs, ownerShare } = this.#settings
    const numbers = readNumbers(DELIVER_NUMBERS, limits)
    const rows = new OutboxRows(context, numbers.timeoutMs)
    const outbox = new Outbox(rows, handler, { ...numbers, deadAfterMs, ownerShare, wants }, log)
    this.#outboxes.set(outbox, rows)
    this.nudge()
    return { stop: async options => { await outbox.stop(options).finally(() => { this.#outboxes.delete(outbox) }) } }
  }

  /** Resolves when all have stopped. */
  async stop (): Promise<void> {
    await Promise.all([...this.#workers, ...this.#outboxes.keys()].map(async worker => { await worker.stop() }))
  }

  /** A free slot of a worker of this process and of the task's queue. */
  reserve ({ queue, owner, bytes, origin: { skill } }: NewRow): Place | undefined {
    for (const worker of this.#workers) {
      if (worker.queue !== queue) continue
      const place = worker.reserve(owner, bytes, skill)
      if (place !== undefined) return place
    }
    return undefined
  }

  canceled (id: string): void {
    for (const worker of this.#workers) worker.canceled(id)
  }

  /** A task waits: no later one may be taken before it. */
  queued (): void {
    for (const worker of this.#workers) worker.queued()
    this.nudge()
  }

  /** Looks for work in the next turn of the event loop. */
  nudge (): void {
    if (this.#nudged) return
    this.#nudged = true
    setImmediate(() => {
      this.#nudged = false
      guardRead(this.#settings.log, () => { if (this.#isOpen()) this.#fill() })
    })
  }

  /** Another process has written. */
  look (): void {
    for (const worker of this.#workers) worker.look()
    this.lookForWork()
  }

  /** Other processes create tasks, and leases expire. */
  lookForWork (): void {
    this.#repairTimes()
    for (const worker of this.#workers) worker.queued()
    this.#fill()
  }

  beat (): void {
    this.#beatAt = Date.now()
    for (const worker of this.#workers) worker.beat()
  }

  /** Fails tasks that have waited too long, and ends leases that are too long. */
  async endLate (): Promise<void> {
    for (const [outbox, rows] of this.#outboxes) rows.expireLate(CLOCK_SLACK_MS).then(() => { outbox.fill() }, () => {})
    for (const worker of this.#workers) await worker.endWaiting()
  }

  #fill (): void {
    // a process that blocked its event loop, or slept, first renews its own leases: no other process may have taken
    // them
    if (Date.now() - this.#beatAt > this.#settings.leaseMs / 2) this.beat()
    for (const worker of this.#workers) worker.fill()
    for (const outbox of this.#outboxes.keys()) outbox.fill()
  }

  /**
   * After the clock was set back, leases and retries would last as much longer. A process that lives renews its leases
   * within one lease; then those that end too late are expired.
   */
  #repairTimes (): void {
    const offset = Date.now() - performance.now()
    if (offset < this.#clockOffset - CLOCK_SLACK_MS) this.#steadySince = performance.now()
    this.#clockOffset = offset
    if (performance.now() - this.#steadySince < this.#settings.leaseMs) return
    for (const worker of this.#workers) worker.expireLate(CLOCK_SLACK_MS)
  }
}

/** A read that fails in a timer must not end the process; the next timer reads again. */
export function guardRead (log: TaskLogger, look: () => void): void {
  try {
    look()
  } catch (error) {
    if (!isBusy(error)) log.warn({ err: error }, 'the task store could not be read')
  }
}
