import { isTaskError, StoreClosedError, StoreUnavailableError } from '../basics/errors.js'

/** Waiting entries. Past it the database is slower than the callers, and writes are refused. */
const MAX_WAITING = 20_000

interface Waiting<Entry, Result> {
  readonly entry: Entry
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}
export type Outcome<Result> = { readonly value: Result } | { readonly error: unknown }

export interface BatchRules<Entry> {
  /** Entries with the same key are written in the order of their calls. */
  readonly keyOf: (entry: Entry) => unknown
  /** How much of a batch an entry takes, of `capacity`. */
  readonly weightOf: (entry: Entry) => number
  readonly capacity: number
  /** Batches on their way at once, each on one connection. */
  readonly inFlight: number
  /**
   * Longest time in ms that entries wait for the batch before: then they and the entries that follow it are one batch,
   * which costs less than two. A batch that waits for a lock delays the others only so long. Default 0.
   */
  readonly pauseMs?: number
  /** Whether `next` may stand behind `before`, of the same key, in one batch. */
  readonly joins: (before: Entry, next: Entry) => boolean
}

/**
 * Group commit: the entries that arrive while batches are on their way are written together, in one transaction that
 * `write` runs; each promise resolves after the commit. An entry that fails by itself is an `error` of its outcome.
 * Where the whole batch fails by its statement, its entries are tried one by one.
 */
export class WriteBatches<Entry, Result> {
  readonly #write: (entries: readonly Entry[]) => Promise<readonly Outcome<Result>[]>
  readonly #rules: BatchRules<Entry>
  /** The waiting entries of each key; those whose key is not on its way, in turn. */
  // @keyed task, or stream of the link | holds: the writes that wait for a connection, in order | whose: the owner
  //   of the task or stream | bound: MAX_WAITING writes of one kind; MAX_EVENT_CHARS for an event | share: of no
  //   owner: past it writes of all are refused with 503; an owner has as many as its requests and tasks in progress |
  //   test: packages/tasks/test/postgres-open.test.ts: while the server is away, calls are refused with 503;
  //   afterwards the same store goes on, and readers miss nothing
  readonly #waiting = new Map<unknown, Waiting<Entry, Result>[]>()
  // @keyed none: the values are keys of `#waiting`
  readonly #ready = new Set<unknown>()
  // @keyed none: the values are keys of `#waiting`
  readonly #busy = new Set<unknown>()
  #count = 0
  #flying = 0
  /** When the last batch was started. */
  #startedAt = 0
  #timer: NodeJS.Timeout | undefined
  #scheduled = false
  #isClosed = false
  #idle: (() => void) | undefined

  constructor (rules: BatchRules<Entry>, write: (entries: readonly Entry[]) => Promise<readonly Outcome<Result>[]>) {
    this.#rules = rules
    this.#write = write
  }

  add (entry: Entry): Promise<Result> {
    if (this.#isClosed) return Promise.reject(new StoreClosedError())
    if (this.#count >= MAX_WAITING) return Promise.reject(new StoreUnavailableError(`${MAX_WAITING} writes wait already`))
    return new Promise<Result>((resolve, reject) => {
      const key = this.#rules.keyOf(entry)
      const one = { entry, resolve, reject }
      const before = this.#waiting.get(key)
      if (before === undefined) this.#waiting.set(key, [one])
      else before.push(one)
      if (!this.#busy.has(key)) this.#ready.add(key)
      this.#count++
      this.#schedule()
    })
  }

  /** Writes what waits, and refuses later entries. */
  async close (): Promise<void> {
    this.#isClosed = true
    if (this.#count > 0 || this.#flying > 0) await new Promise<void>(resolve => { this.#idle = resolve })
  }

  #schedule (): void {
    const { inFlight, pauseMs = 0 } = this.#rules
    if (this.#scheduled || this.#flying >= inFlight || this.#ready.size === 0) return
    const pause = this.#flying === 0 || this.#isClosed ? 0 : this.#startedAt + pauseMs - performance.now()
    if (pause > 0) {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined
        this.#schedule()
      }, pause)
      return
    }
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (this.#flying < this.#rules.inFlight) this.#start()
      this.#schedule()
    })
  }

  #start (): void {
    const batch = this.#take()
    if (batch.length === 0) return
    const keys = new Set(batch.map(({ entry }) => this.#rules.keyOf(entry)))
    for (const key of keys) this.#busy.add(key)
    this.#flying++
    this.#startedAt = performance.now()
    this.#run(batch).finally(() => {
      this.#flying--
      for (const key of keys) {
        this.#busy.delete(key)
        if (this.#waiting.has(key)) this.#ready.add(key)
      }
      if (this.#count === 0 && this.#flying === 0) this.#idle?.()
      this.#schedule()
    }).catch(() => {})
  }

  #take (): Waiting<Entry, Result>[] {
    const { weightOf, capacity, joins } = this.#rules
    const batch: Waiting<Entry, Result>[] = []
    let left = capacity
    for (const key of this.#ready) {
      const list = this.#waiting.get(key) ?? []
      let taken = 0
      for (let last: Entry | undefined; taken < list.length; taken++) {
        const one = list[taken] as Waiting<Entry, Result>
        if (last !== undefined && !joins(last, one.entry)) break
        const weight = weightOf(one.entry)
        if (batch.length > 0 && weight > left) { left = 0; break }
        left -= weight
        last = one.entry
        batch.push(one)
      }
      this.#ready.delete(key)
      if (taken === list.length) this.#waiting.delete(key)
      else this.#waiting.set(key, list.slice(taken))
      if (taken === 0) this.#ready.add(key)
      if (left <= 0) break
    }
    this.#count -= batch.length
    return batch
  }

  async #run (batch: readonly Waiting<Entry, Result>[]): Promise<void> {
    const settle = (some: readonly Waiting<Entry, Result>[], outcomes: readonly Outcome<Result>[]): void => {
      for (const [i, { resolve, reject }] of some.entries()) {
        const outcome = outcomes[i] as Outcome<Result>
        if ('error' in outcome) reject(outcome.error)
        else resolve(outcome.value)
      }
    }
    try {
      settle(batch, await this.#write(batch.map(({ entry }) => entry)))
    } catch (error) {
      for (const one of batch) {
        try {
          // without a connection, trying each one would only take longer
          if (batch.length === 1 || isTaskError(error, 'TASK_STORE_CLOSED')) throw error
          settle([one], await this.#write([one.entry]))
        } catch (error) {
          one.reject(error)
        }
      }
    }
  }
}
