import { LogGate } from '@polyvac/core/plugin'
import type { AddedCount, SharedCounts } from '@polyvac/tasks'
import type { FastifyBaseLogger } from 'fastify'
import { createHash } from 'node:crypto'
import type { Count } from './count.js'
import { DayCounts } from './day-counts.js'
import { MinuteCounts } from './minute-counts.js'

/** Time in ms for which a replica counts for itself before it adds its counts to those of the others. */
export const SETTLE_MS = 200
/** Most counts that are added in one statement. */
const MAX_SETTLED = 1_000

/**
 * Counts what callers do, in windows of time. Each kind has a separate table: names of one kind, of which a caller may
 * have any number, never push out those of another. Where replicas share a store, each adds its counts to those of
 * the others every SETTLE_MS; while the database is away, each counts for itself.
 */
export class CallerCounts {
  readonly ofAddresses: MinuteCounts
  readonly ofOwners: MinuteCounts
  readonly tasks: DayCounts
  #shared: () => SharedCounts | undefined
  readonly #log: FastifyBaseLogger
  readonly #gate = new LogGate()
  // @keyed none: the values are live counts of the tables, and those that left them in the last seconds
  readonly #unsent = new Set<Count>()
  #timer: NodeJS.Timeout | undefined

  constructor (shared: () => SharedCounts | undefined, log: FastifyBaseLogger) {
    this.#shared = shared
    this.#log = log
    const change = this.#change.bind(this)
    this.ofAddresses = new MinuteCounts('address', change)
    this.ofOwners = new MinuteCounts('owner', change)
    this.tasks = new DayCounts('tasks', change)
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
      void this.#settle(shared).finally(() => {
        this.#timer = undefined
        this.#settleSoon()
      })
    }, SETTLE_MS).unref()
  }

  async #settle (shared: SharedCounts): Promise<void> {
    const sent = new Map<string, { count: Count, by: number }>()
    const added: AddedCount[] = []
    for (const count of this.#unsent) {
      if (added.length === MAX_SETTLED) break
      // names are of any length, and may have characters that the database refuses
      const name = createHash('sha256').update(count.name).digest('base64url')
      // an older count of the name has not been sent either; one statement takes a name once
      if (sent.has(name)) continue
      this.#unsent.delete(count)
      const { unsent: by, windowMs, isForgotten } = count
      if (by === 0 || isForgotten === true) continue
      sent.set(name, { count, by })
      added.push({ name, count: by, windowMs })
      count.unsent = 0
    }
    if (added.length === 0) return
    try {
      for (const { name, count: value, endsInMs } of await shared.add(added)) {
        const { count } = sent.get(name)!
        count.value = value + count.unsent
        count.endsAt = performance.now() + endsInMs
      }
    } catch (err) {
      for (const { count, by } of sent.values()) {
        if (count.endsAt <= performance.now()) continue
        count.unsent += by
        this.#unsent.add(count)
      }
      const suppressed = this.#shared() === undefined ? undefined : this.#gate.pass('')
      if (suppressed !== undefined) this.#log.warn({ err, suppressed }, 'this process counts requests for itself until the database of the tasks answers')
    }
  }
}
