import { createHash } from 'node:crypto'
import type { Count } from './count.js'

/** Most owners of a day that are counted one by one. */
export const MAX_COUNTED_OWNERS = 50_000
/** Part of them that makes room at once, so that the search for the lowest counts is rare. */
const ROOM = 0.1
export const DAY_MS = 24 * 3_600_000

/**
 * What owners do in a day of UTC. A count never goes down in favour of others: where as many owners are counted as
 * there is room for, those with the lowest counts make room, and an owner that is not counted one by one begins at
 * the highest count that has made room. So strangers can raise the count of an owner, but not lower it.
 */
export class DayCounts {
  readonly #kind: string
  readonly #change: (count: Count, by: number) => void
  readonly #most: number
  /** By the hash of the owner: names have any length. */
  // @keyed hash of the owner | holds: the number of its tasks of a day | whose: the owner | bound:
  //   MAX_COUNTED_OWNERS; the lowest leave, and a stranger begins at the highest that left | share: of no owner |
  //   test: apps/host/test/caller-counts.test.ts: a count of a day never goes down in favour of others, however many
  //   there are
  readonly #counts = new Map<string, Count>()
  #day = 0
  /** Where the count of an owner begins that is not counted one by one. */
  #floor = 0

  constructor (kind: string, change: (count: Count, by: number) => void, most = MAX_COUNTED_OWNERS) {
    this.#kind = kind
    this.#change = change
    this.#most = most
  }

  /** Adds 1 to the count of an owner. Above `max` it grows no more. Returns the seconds to wait where it is above. */
  add (owner: string, max: number): number | undefined {
    const now = Date.now()
    const count = this.#countOf(owner, Math.floor(now / DAY_MS))
    if (count.value <= max) this.#change(count, 1)
    return count.value > max ? Math.ceil(((this.#day + 1) * DAY_MS - now) / 1000) : undefined
  }

  /** Takes one addition back. */
  takeBack (owner: string): void {
    const count = this.#counts.get(hash(owner))
    if (count !== undefined && count.value > 0) this.#change(count, -1)
  }

  #countOf (owner: string, day: number): Count {
    if (day !== this.#day) {
      this.#day = day
      this.#counts.clear()
      this.#floor = 0
    }
    const key = hash(owner)
    let count = this.#counts.get(key)
    if (count === undefined) {
      if (this.#counts.size >= this.#most) this.#makeRoom()
      count = { name: `${this.#kind} ${day} ${key}`, windowMs: DAY_MS, value: this.#floor, unsent: 0, endsAt: performance.now() + DAY_MS }
      this.#counts.set(key, count)
    }
    return count
  }

  /** Forgets the lowest counts, and of equal ones the oldest. What is unsent of them is still sent. */
  #makeRoom (): void {
    const byValue = [...this.#counts].sort(([, a], [, b]) => a.value - b.value)
    for (const [key, { value }] of byValue.slice(0, Math.ceil(this.#most * ROOM))) {
      this.#counts.delete(key)
      this.#floor = Math.max(this.#floor, value)
    }
  }
}

function hash (owner: string): string {
  return createHash('sha256').update(owner).digest('base64url')
}
