import type { Count } from './count.js'

/** Most names of a kind that are counted; the one that was idle longest is forgotten. */
export const MAX_COUNTED_CALLERS = 10_000
const MINUTE_MS = 60_000

/** What callers of a kind, such as addresses, do in a minute. */
export class MinuteCounts {
  readonly #kind: string
  readonly #change: (count: Count, by: number) => void
  /** In the order of their last use. */
  // @keyed address block, or owner | holds: its number of requests in a minute | whose: the address or the owner |
  //   bound: MAX_COUNTED_CALLERS of each kind; the one that was idle longest leaves | share: of no owner |
  //   test: apps/host/test/caller-counts.test.ts: many addresses do not push out the rate of an owner, nor the other
  //   way round
  readonly #counts = new Map<string, Count>()

  constructor (kind: string, change: (count: Count, by: number) => void) {
    this.#kind = kind
    this.#change = change
  }

  /** Adds 1 to the count of a caller. Above `max` it grows no more. Returns the seconds to wait where it is above. */
  add (caller: string, max: number): number | undefined {
    const now = performance.now()
    const count = this.#renew(caller, now)
    if (count.value <= max) this.#change(count, 1)
    return count.value > max ? Math.ceil((count.endsAt - now) / 1000) : undefined
  }

  /** The count of a caller, as the one that was used last. */
  #renew (caller: string, now: number): Count {
    const old = this.#counts.get(caller)
    const isOver = old === undefined || old.endsAt <= now
    const count = isOver ? { name: `${this.#kind} ${caller}`, windowMs: MINUTE_MS, value: 0, unsent: 0, endsAt: now + MINUTE_MS } : old
    if (old !== undefined) {
      this.#counts.delete(caller)
      if (isOver) old.isForgotten = true
    } else if (this.#counts.size >= MAX_COUNTED_CALLERS) {
      const [[idle, forgotten]] = this.#counts as unknown as [[string, Count]]
      this.#counts.delete(idle)
      forgotten.isForgotten = true
    }
    this.#counts.set(caller, count)
    return count
  }
}
