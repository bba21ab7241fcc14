import { isBusy, isFull, type SqliteDatabase } from '@polyvac/sqlite'
import { isTaskError, StoreClosedError, StoreUnavailableError } from '../basics/errors.js'
import { isTurnOver } from '../basics/turn-time.js'

interface Entry {
  readonly work: () => unknown
  /** Undoes side effects outside the database of a transaction that failed. */
  readonly undo: (() => void) | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  readonly since: number
}
type Outcome = { value: unknown } | { error: unknown }

/** Entries of one transaction: a group larger than about 64 is not faster, and 64 block the event loop for 2 ms. */
const MAX_GROUP = 64
/** Large entries take longer: a group ends with the entry that reaches this time, in ms. */
const MAX_GROUP_MS = 5
/** Waiting entries. Past it the disk is slower than the callers, and writes are refused. */
const MAX_WAITING = 20_000
/** How long another process may hold the lock before a write is refused. */
const BUSY_MS = 5_000
const BUSY_RETRY_MS = 5

/**
 * All writes go through it: entries of one turn of the event loop are committed together, and their promises resolve
 * after the commit. A TASK_… error fails only its own entry, and must be thrown before that entry's first write. Any
 * other error rolls the group back, and its entries are retried one by one.
 */
export class GroupCommit {
  readonly #database: SqliteDatabase
  // @keyed none: a list in order, of the writes of one turn of the event loop, or that wait for another process;
  //   MAX_WAITING
  #waiting: Entry[] = []
  #scheduled = false
  #closed = false
  #refusal: string | undefined

  constructor (database: SqliteDatabase) {
    this.#database = database
    // waits for another process's lock are done here: inside SQLite they would block the event loop
    database.exec('PRAGMA busy_timeout = 20')
  }

  /** @param undo called after every failed transaction with this entry; the entry may be retried once */
  write<T> (work: () => T, undo?: () => void): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreClosedError())
    if (this.#refusal !== undefined) return Promise.reject(new StoreUnavailableError(this.#refusal))
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(new StoreUnavailableError(`${MAX_WAITING} writes wait already`))
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, undo, resolve: resolve as (value: unknown) => void, reject, since: Date.now() })
      this.#schedule(0)
    })
  }

  /** Refuses the waiting and all further writes, which would be lost. */
  refuse (reason: string): void {
    this.#refusal = reason
    for (const { reject } of this.#waiting.splice(0)) reject(new StoreUnavailableError(reason))
  }

  /** Commits the waiting entries, as far as it can now, and refuses the others and all later ones. */
  close (): void {
    this.#closed = true
    while (this.#waiting.length > 0 && this.#flush());
    for (const { reject } of this.#waiting) reject(new StoreClosedError())
    this.#waiting = []
  }

  #schedule (delayMs: number): void {
    if (this.#scheduled) return
    this.#scheduled = true
    const flush = (): void => {
      this.#scheduled = false
      if (this.#waiting.length === 0) return
      const free = this.#flush()
      if (this.#waiting.length > 0) this.#schedule(free ? 0 : BUSY_RETRY_MS)
    }
    if (delayMs === 0) setImmediate(flush)
    else setTimeout(flush, delayMs)
  }

  /** False where another process holds the lock. */
  #flush (): boolean {
    const group = this.#waiting.slice(0, MAX_GROUP)
    let outcomes: Outcome[]
    try {
      outcomes = this.#commit(group)
    } catch (error) {
      if (isBusy(error)) return this.#refuseOld()
      outcomes = []
      for (const entry of group) {
        try {
          if (group.length === 1) throw error
          outcomes.push(...this.#commit([entry]))
        } catch (error) {
          if (isBusy(error)) break
          outcomes.push({ error: unavailable(error) })
        }
      }
    }
    this.#waiting = this.#waiting.slice(outcomes.length)
    for (const [i, outcome] of outcomes.entries()) {
      const { resolve, reject } = group[i] as Entry
      if ('error' in outcome) reject(outcome.error)
      else resolve(outcome.value)
    }
    return true
  }

  #commit (group: readonly Entry[]): Outcome[] {
    const end = performance.now() + MAX_GROUP_MS
    // readers of what is written here read it in another turn where this one takes long
    isTurnOver()
    try {
      return this.#database.transaction(() => {
        const outcomes: Outcome[] = []
        for (const { work } of group) {
          try {
            outcomes.push({ value: work() })
          } catch (error) {
            if (!isTaskError(error)) throw error
            outcomes.push({ error })
          }
          if (performance.now() > end) break
        }
        return outcomes
      })
    } catch (error) {
      for (const { undo } of group) undo?.()
      throw error
    }
  }

  #refuseOld (): false {
    const oldest = Date.now() - BUSY_MS
    while (this.#waiting[0] !== undefined && this.#waiting[0].since < oldest) {
      this.#waiting.shift()?.reject(new StoreUnavailableError('another process holds its lock'))
    }
    return false
  }
}

/** Errors of the machine: full (13), I/O (10), read-only (8), cannot open (14), out of memory (7), busy (5). */
function unavailable (error: unknown): unknown {
  const { code, errcode, message } = error as { code?: unknown, errcode?: unknown, message: string }
  const ofMachine = typeof errcode === 'number'
    ? [5, 7, 8, 10, 13, 14].includes(errcode & 0xff)
    : typeof code === 'string' && /^SQLITE_(?:FULL|IOERR|READONLY|CANTOPEN|BUSY|NOMEM)/.test(code)
  if (!ofMachine) return error
  const refused = new StoreUnavailableError(isFull(error) ? 'the disk is full' : message)
  refused.cause = error
  return refused
}
