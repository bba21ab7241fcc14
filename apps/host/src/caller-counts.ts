import type { FastifyRateLimitStore } from '@fastify/rate-limit'
import { LogGate } from '@polyvac/core/plugin'
import type { AddedCount, SharedCounts } from '@polyvac/tasks'
import type { FastifyBaseLogger } from 'fastify'
import { createHash } from 'node:crypto'

/** Most names that are counted; the one that was idle longest is forgotten. */
export const MAX_COUNTED_CALLERS = 10_000
/** Time in ms for which a replica counts for itself before it adds its counts to those of the others. */
export const SETTLE_MS = 200
/** Most counts that are added in one statement. */
const MAX_SETTLED = 1_000

interface Count { name: string, windowMs: number, value: number, unsent: number, endsAt: number }

/**
 * Counts what callers do, in windows of time. Where replicas share a store, each adds its counts to those of the others
 * every SETTLE_MS; while the database is away, each counts for itself.
 */
export class CallerCounts {
  #shared: () => SharedCounts | undefined
  readonly #log: FastifyBaseLogger
  readonly #gate = new LogGate()
  /** In the order of their last use. */
  // @keyed `address`, `owner` or `tasks`, and an address block or an owner | holds: a number in a window of time |
  //   whose: the address or the owner | bound: MAX_COUNTED_CALLERS; the one that was idle longest leaves | share: of
  //   no owner: a name that was idle longest is counted from 0 again | test: apps/host/test/limits.test.ts: the rate
  //   of an owner is bounded in every protocol, and other owners are not affected
  readonly #counts = new Map<string, Count>()
  // @keyed none: the values are entries of `#counts`
  readonly #unsent = new Set<Count>()
  #timer: NodeJS.Timeout | undefined

  constructor (shared: () => SharedCounts | undefined, log: FastifyBaseLogger) {
    this.#shared = shared
    this.#log = log
  }

  /** Adds 1 to a count, and returns it. Above `max` it grows no more. */
  add (name: string, windowMs: number, max: number): { readonly value: number, readonly endsInMs: number } {
    const now = performance.now()
    const old = this.#counts.get(name)
    const count = old === undefined || old.endsAt <= now ? { name, windowMs, value: 0, unsent: 0, endsAt: now + windowMs } : old
    if (old !== undefined) {
      this.#counts.delete(name)
      if (old !== count) this.#unsent.delete(old)
    } else if (this.#counts.size >= MAX_COUNTED_CALLERS) this.#forgetOldest()
    this.#counts.set(name, count)
    if (count.value <= max) this.#change(count, 1)
    return { value: count.value, endsInMs: count.endsAt - now }
  }

  /** Takes one addition back. */
  takeBack (name: string): void {
    const count = this.#counts.get(name)
    if (count !== undefined && count.value > 0) this.#change(count, -1)
  }

  /** The store of @fastify/rate-limit. */
  get store (): new () => FastifyRateLimitStore {
    const counts = this
    return class Store implements FastifyRateLimitStore {
      incr (name: string, callback: Parameters<FastifyRateLimitStore['incr']>[1], windowMs: number, max: number): void {
        const { value, endsInMs } = counts.add(name, windowMs, max)
        callback(null, { current: value, ttl: endsInMs })
      }

      child (): this { return this }
    }
  }

  close (): void {
    clearTimeout(this.#timer)
    this.#shared = () => undefined
  }

  #change (count: Count, by: number): void {
    count.value += by
    if (this.#shared() === undefined) return
    count.unsent += by
    this.#unsent.add(count)
    this.#settleSoon()
  }

  #settleSoon (): void {
    const shared = this.#shared()
    if (shared === undefined || this.#timer !== undefined || this.#unsent.size === 0) return
    this.#timer = setTimeout(() => {
      this.#settle(shared).finally(() => {
        this.#timer = undefined
        this.#settleSoon()
      })
    }, SETTLE_MS).unref()
  }

  #forgetOldest (): void {
    const [[name, count]] = this.#counts as unknown as [[string, Count]]
    this.#counts.delete(name)
    this.#unsent.delete(count)
  }

  async #settle (shared: SharedCounts): Promise<void> {
    const sent = new Map<string, { count: Count, by: number }>()
    const added: AddedCount[] = []
    for (const count of this.#unsent) {
      if (added.length === MAX_SETTLED) break
      // names are of any length, and may have characters that the database refuses
      const name = createHash('sha256').update(count.name).digest('base64url')
      sent.set(name, { count, by: count.unsent })
      added.push({ name, count: count.unsent, windowMs: count.windowMs })
      count.unsent = 0
      this.#unsent.delete(count)
    }
    try {
      for (const { name, count: value, endsInMs } of await shared.add(added)) {
        const { count } = sent.get(name)!
        count.value = value + count.unsent
        count.endsAt = performance.now() + endsInMs
      }
    } catch (err) {
      for (const { count, by } of sent.values()) {
        if (this.#counts.get(count.name) !== count) continue
        count.unsent += by
        this.#unsent.add(count)
      }
      const suppressed = this.#shared() === undefined ? undefined : this.#gate.pass('')
      if (suppressed !== undefined) this.#log.warn({ err, suppressed }, 'this process counts requests for itself until the database of the tasks answers')
    }
  }
}
