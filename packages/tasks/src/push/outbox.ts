import { setTimeout as delay } from 'node:timers/promises'
import { WorkerStoppedError } from '../basics/errors.js'
import type { TaskLogger } from '../basics/logger.js'
import { OWNER_SHARE, shareOf } from '../basics/owner-share.js'
import { pushBackoff } from './push-backoff.js'
import { toConfig, type PushRow } from './push-configs.js'
import type { TaskEvent } from '../contract/task.js'
import type { Delivery, DeliveryHandler, DeliveryOutcome, TaskWorker } from '../contract/task-store.js'

/** Shortest time between two checks for due deliveries. */
const LOOK_MS = 20
const BATCH = 64
/** Part of the deliveries to one host that one owner may have: others use the same receiver. */
const OWNER_SHARE_OF_HOST = 0.5
/** Longest wait for the next try of a delivery. */
export const MAX_RETRY_MS = 3_600_000

export interface DueRow extends PushRow {
  readonly task_id: string
  readonly owner: string
  readonly host: string
  readonly seq: number
  readonly secrets: string
  readonly tries: number
  readonly failing_since: number | null
}
/** Columns of a DueRow: `p` is the config, `t` its task. */
export const DUE_ROW = `p.task, p.id, p.url, p.settings, p.secrets, p.created_at, p.cursor, p.disabled, p.tries, p.failing_since,
  p.owner, p.host, t.id AS task_id, t.seq`
/** Owners that one check of a store looks at. */
export const MAX_OWNERS = 256

export interface Leased { readonly row: DueRow, readonly event: TaskEvent }

/** The events that are delivered where `deliver` names none. */
export function isForWebhooks ({ state, message, artifact }: TaskEvent): boolean {
  return state !== undefined || message !== undefined || artifact !== undefined
}

/** What a delivery leaves: the next place in the log, another try, or the end of the config. */
export type Settlement =
  | { readonly delivered: number }
  | { readonly tries: number, readonly failingSince: number | null, readonly due: number }
  | { readonly disable: string }

export interface OutboxLimits {
  readonly concurrency: number
  readonly timeoutMs: number
  readonly deadAfterMs: number
  readonly ownerShare: number
  readonly wants: (event: TaskEvent) => boolean
}

/** What an outbox needs of its store. */
export interface OutboxStore {
  now (): number
  /** Whether a delivery may be due: a check without a transaction. */
  hasDue (selection: Selection): boolean
  /** Leases up to `limit` of the configs that it offers to `selection`; passes over events that are not wanted. */
  lease (selection: Selection, limits: OutboxLimits): Promise<{ readonly deliveries: readonly Leased[], readonly more: boolean }>
  settle (row: DueRow, settlement: Settlement): Promise<void>
}

/** A host that gets no more deliveries now: of anyone where `owner` is null. */
export interface FullHost { readonly host: string, readonly owner: string | null }

/** Deliveries to each host, by owner. */
class HostCounts {
  // @keyed host of a push config, then owner | holds: the number of deliveries in progress | whose: the owner |
  //   bound: deliveries in progress; an entry ends at 0 | share: the owner: half of those to a host; a host: a
  //   quarter of all | test: packages/tasks/test/conformance.ts: push: one owner has half of the deliveries to a host
  readonly #hosts = new Map<string, Map<string, number>>()

  copy (): HostCounts {
    const copy = new HostCounts()
    for (const [host, owners] of this.#hosts) copy.#hosts.set(host, new Map(owners))
    return copy
  }

  add ({ host, owner }: DueRow, more: number): void {
    const owners = this.#hosts.get(host) ?? new Map<string, number>()
    addTo(owners, owner, more)
    if (owners.size === 0) this.#hosts.delete(host)
    else this.#hosts.set(host, owners)
  }

  full (most: number): FullHost[] {
    return [...this.#hosts].flatMap(([host, owners]): FullHost[] => sumOf(owners) >= most
      ? [{ host, owner: null }]
      : [...owners.keys()].filter(owner => this.isFull({ host, owner }, most)).map(owner => ({ host, owner })))
  }

  isFull ({ host, owner }: Pick<DueRow, 'host' | 'owner'>, most: number): boolean {
    const owners = this.#hosts.get(host)
    return owners !== undefined && (sumOf(owners) >= most || (owners.get(owner) ?? 0) >= shareOf(owner, most, OWNER_SHARE_OF_HOST))
  }
}

/** Chooses among due configs: of owners in turn, within the shares of owners and of hosts. */
export class Selection {
  /** The owner that was served last. */
  readonly after: string
  readonly limit: number
  readonly #limits: Pick<OutboxLimits, 'concurrency' | 'ownerShare'>
  readonly #ofOwner: ReadonlyMap<string, number>
  readonly #toHost: HostCounts
  // @keyed none: a list of one selection
  readonly #chosen: DueRow[][] = []

  constructor (after: string, limit: number, limits: Pick<OutboxLimits, 'concurrency' | 'ownerShare'>, ofOwner: ReadonlyMap<string, number>, toHost: HostCounts) {
    this.after = after
    this.limit = limit
    this.#limits = limits
    this.#ofOwner = ofOwner
    this.#toHost = toHost.copy()
  }

  /** A receiver is not an owner: its part is fixed. */
  get #hostShare (): number { return Math.ceil(this.#limits.concurrency * OWNER_SHARE) }
  get isFull (): boolean { return this.#chosen.length >= this.limit }
  get fullHosts (): FullHost[] { return this.#toHost.full(this.#hostShare) }

  /** How many deliveries of an owner may begin. */
  freeOf (owner: string): number { return Math.min(this.limit, shareOf(owner, this.#limits.concurrency, this.#limits.ownerShare) - (this.#ofOwner.get(owner) ?? 0)) }

  /** Due configs of one owner. */
  offer (owner: string, rows: readonly DueRow[]): void {
    const some: DueRow[] = []
    for (const row of rows) {
      if (some.length >= this.freeOf(owner)) break
      if (this.#toHost.isFull(row, this.#hostShare)) continue
      this.#toHost.add(row, 1)
      some.push(row)
    }
    if (some.length > 0) this.#chosen.push(some)
  }

  get rows (): DueRow[] {
    const rows: DueRow[] = []
    for (let i = 0; i < this.limit && rows.length < this.limit; i++) {
      for (const some of this.#chosen) rows.push(...some.slice(i, i + 1))
    }
    return rows.slice(0, this.limit)
  }
}

/** Delivers events to push configs. A config is a reader of the log whose place in it is durable. */
export class Outbox implements TaskWorker {
  readonly #store: OutboxStore
  readonly #handler: DeliveryHandler
  readonly #limits: OutboxLimits
  readonly #log: TaskLogger
  // @keyed none: a promise for each delivery in progress; `concurrency`
  readonly #running = new Set<Promise<void>>()
  /** Deliveries in progress of each owner and to each host. */
  // @keyed owner | holds: the number of deliveries in progress | whose: the owner | bound: deliveries in progress;
  //   an entry ends at 0 | share: the owner: a quarter of them | test: packages/tasks/test/conformance.ts: push:
  //   owners are served in turn, and one owner has a quarter of the deliveries at once
  readonly #ofOwner = new Map<string, number>()
  readonly #toHost = new HostCounts()
  #served = ''
  /** One for each delivery on its way. AbortSignal.any() leaves 70 bytes at a signal that lives on (Node.js 20). */
  // @keyed none: an object for each delivery in progress; `concurrency`
  readonly #deliveries = new Set<AbortController>()
  #stopped: Error | undefined
  #filling: Promise<void> | undefined
  #again = false

  constructor (store: OutboxStore, handler: DeliveryHandler, limits: OutboxLimits, log: TaskLogger) {
    this.#store = store
    this.#handler = handler
    this.#limits = limits
    this.#log = log
  }

  fill (): void {
    if (this.#stopped !== undefined) return
    if (this.#filling !== undefined) { this.#again = true; return }
    this.#filling = this.#look().catch((error: unknown) => { this.#log.warn({ err: error }, 'no delivery could be leased') }).finally(() => {
      this.#filling = undefined
      if (!this.#again) return
      this.#again = false
      this.fill()
    })
  }

  async #look (): Promise<void> {
    await delay(LOOK_MS, undefined, { ref: false })
    const { concurrency } = this.#limits
    const free = Math.min(BATCH, concurrency - this.#running.size)
    const select = (limit: number): Selection => new Selection(this.#served, limit, this.#limits, this.#ofOwner, this.#toHost)
    if (free <= 0 || this.#stopped !== undefined || !this.#store.hasDue(select(1))) return
    const leased = await this.#store.lease(select(free), this.#limits)
    for (const one of leased.deliveries) {
      const { owner } = one.row
      this.#served = owner
      addTo(this.#ofOwner, owner, 1)
      this.#toHost.add(one.row, 1)
      const done = this.#deliver(one).finally(() => {
        addTo(this.#ofOwner, owner, -1)
        this.#toHost.add(one.row, -1)
        this.#running.delete(done)
        this.fill()
      })
      this.#running.add(done)
    }
    if (leased.more) this.#again = true
  }

  async #deliver ({ row, event }: Leased): Promise<void> {
    const { task_id: taskId, owner, tries } = row
    const delivery: Delivery = {
      id: `${taskId}.${row.id}.${event.seq}`,
      owner,
      taskId,
      config: toConfig(row, taskId),
      secrets: JSON.parse(row.secrets),
      event,
      tries
    }
    const stop = new AbortController()
    this.#deliveries.add(stop)
    const timer = setTimeout(() => { stop.abort(new DOMException('the delivery took too long', 'TimeoutError')) }, this.#limits.timeoutMs).unref()
    if (this.#stopped !== undefined) stop.abort(this.#stopped)
    let outcome: DeliveryOutcome
    try {
      outcome = await Promise.race([this.#handler(delivery, stop.signal), aborted(stop.signal)])
    } catch (error) {
      this.#log.debug({ err: error, deliveryId: delivery.id }, 'a delivery failed')
      outcome = { retryAt: this.#store.now() + pushBackoff(tries) }
    } finally {
      clearTimeout(timer)
      this.#deliveries.delete(stop)
    }
    try {
      await this.#store.settle(row, this.#settlement(row, event, outcome))
    } catch (error) {
      // its lease expires, and it is delivered again with the same id
      this.#log.warn({ err: error, deliveryId: delivery.id }, 'the outcome of a delivery could not be written')
    }
  }

  #settlement ({ tries, failing_since: failingSince }: DueRow, event: TaskEvent, outcome: DeliveryOutcome): Settlement {
    const now = this.#store.now()
    const { deadAfterMs } = this.#limits
    if (outcome === 'delivered') return { delivered: event.seq }
    if (outcome === 'disable') return { disable: 'the receiver asked for no more' }
    if ('disable' in outcome) return outcome
    if (this.#stopped !== undefined) return { tries, failingSince, due: 0 }
    if (failingSince !== null && now - failingSince >= deadAfterMs) {
      return { disable: `it failed for ${Math.round(deadAfterMs / 3_600_000)} hours, ${tries + 1} times` }
    }
    const due = Math.min(now + MAX_RETRY_MS, Math.max(now, Math.trunc(outcome.retryAt) || 0))
    return { tries: tries + 1, failingSince: failingSince ?? now, due }
  }

  async stop ({ drainMs = 0 }: { readonly drainMs?: number | undefined } = {}): Promise<void> {
    if (drainMs > 0 && this.#running.size > 0) await Promise.race([Promise.all(this.#running), delay(drainMs, undefined, { ref: false })])
    this.#stopped = new WorkerStoppedError()
    for (const delivery of this.#deliveries) delivery.abort(this.#stopped)
    await this.#filling
    await Promise.all(this.#running)
  }
}

function addTo (counts: Map<string, number>, name: string, more: number): void {
  const count = (counts.get(name) ?? 0) + more
  if (count === 0) counts.delete(name)
  else counts.set(name, count)
}

function sumOf (counts: ReadonlyMap<string, number>): number {
  let sum = 0
  for (const count of counts.values()) sum += count
  return sum
}

async function aborted (signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }, { once: true }) })
  throw signal.reason
}
