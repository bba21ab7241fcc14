import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { SqliteDatabase } from '@polyvac/sqlite'
import { WorkerStoppedError } from '../errors.js'
import { pushBackoff } from '../push-backoff.js'
import { OWNER_SHARE, shareOf } from '../owner-share.js'
import type { TaskEvent } from '../task.js'
import type { Delivery, DeliveryHandler, DeliveryOutcome, TaskWorker } from '../task-store.js'
import type { StoreContext } from './store-context.js'
import { toConfig, type PushRow } from '../push-configs.js'

/** Shortest time between two checks for due deliveries. */
const LOOK_MS = 20
/** Owners that one check looks at. */
const MAX_OWNERS = 256
const BATCH = 64
/** Longest wait for the next try of a delivery. */
const MAX_RETRY_MS = 3_600_000

interface DueRow extends PushRow {
  readonly task_id: string
  readonly owner: string
  readonly host: string
  readonly seq: number
  readonly secrets: string
  readonly tries: number
  readonly failing_since: number | null
}
interface Leased { readonly row: DueRow, readonly event: TaskEvent }

/** Delivers events to push configs. A config is a reader of the log whose place in it is durable. */
export class Outbox implements TaskWorker {
  readonly #context: StoreContext
  readonly #handler: DeliveryHandler
  readonly #limits: { readonly concurrency: number, readonly timeoutMs: number, readonly wants: (event: TaskEvent) => boolean }
  readonly #id = randomUUID()
  readonly #sql: ReturnType<typeof prepareStatements>
  readonly #running = new Set<Promise<void>>()
  /** Deliveries in progress of each owner and to each host. */
  readonly #ofOwner = new Map<string, number>()
  readonly #ofHost = new Map<string, number>()
  /** The owner that was served last. */
  #served = ''
  readonly #stopping = new AbortController()
  #filling: Promise<void> | undefined
  #again = false

  constructor (context: StoreContext, handler: DeliveryHandler, limits: { concurrency: number, timeoutMs: number, wants: (event: TaskEvent) => boolean }) {
    this.#context = context
    this.#handler = handler
    this.#limits = limits
    this.#sql = prepareStatements(context.database)
  }

  fill (): void {
    if (this.#stopping.signal.aborted) return
    if (this.#filling !== undefined) { this.#again = true; return }
    const { log } = this.#context.settings
    this.#filling = this.#look().catch((error: unknown) => { log.warn({ err: error }, 'no delivery could be leased') }).finally(() => {
      this.#filling = undefined
      if (!this.#again) return
      this.#again = false
      this.fill()
    })
  }

  async #look (): Promise<void> {
    await delay(LOOK_MS, undefined, { ref: false })
    const free = Math.min(BATCH, this.#limits.concurrency - this.#running.size)
    if (free <= 0 || this.#stopping.signal.aborted || this.#due(Date.now(), 1).length === 0) return
    const leased = await this.#context.commit.write(() => this.#lease(free))
    for (const one of leased.deliveries) {
      const { owner, host } = one.row
      this.#served = owner
      addTo(this.#ofOwner, owner, 1)
      addTo(this.#ofHost, host, 1)
      const done = this.#deliver(one).finally(() => {
        addTo(this.#ofOwner, owner, -1)
        addTo(this.#ofHost, host, -1)
        this.#running.delete(done)
        this.fill()
      })
      this.#running.add(done)
    }
    if (leased.more) this.#again = true
  }

  /** Configs with an event to deliver: of owners in turn, and within the shares of owners and of hosts. */
  #due (now: number, limit: number): DueRow[] {
    const { concurrency } = this.#limits
    const hostShare = Math.ceil(concurrency * OWNER_SHARE)
    const hosts = new Map(this.#ofHost)
    const ofOwner = new Map<string, DueRow[]>()
    for (const owner of this.#owners()) {
      const free = Math.min(limit, shareOf(owner, concurrency) - (this.#ofOwner.get(owner) ?? 0))
      if (free <= 0) continue
      const full = [...hosts].flatMap(([host, count]) => count >= hostShare ? [host] : [])
      const rows = this.#sql.due.all<DueRow>(owner, now, JSON.stringify(full), free).filter(({ host }) => {
        addTo(hosts, host, 1)
        return (hosts.get(host) ?? 0) <= hostShare
      })
      if (rows.length > 0) ofOwner.set(owner, rows)
      if (ofOwner.size === limit) break
    }
    const rows: DueRow[] = []
    for (let i = 0; i < limit && rows.length < limit; i++) {
      for (const one of ofOwner.values()) rows.push(...one.slice(i, i + 1))
    }
    return rows.slice(0, limit)
  }

  /** Owners with configs that wait, from the one that follows `served` on. */
  * #owners (): Generator<string, void> {
    for (let [last, seen, wrapped] = [this.#served, 0, false]; seen < MAX_OWNERS; seen++) {
      const next = this.#sql.nextOwner.column<string>(last)[0]
      if (wrapped && (next === undefined || next > this.#served)) return
      if (next === undefined) {
        last = ''
        wrapped = true
      } else yield last = next
    }
  }

  #lease (limit: number): { deliveries: Leased[], more: boolean } {
    const { tasks, settings } = this.#context
    const now = Date.now()
    // the lease is longer than the delivery by the time for writing its outcome
    const leaseEnd = now + this.#limits.timeoutMs + settings.leaseMs
    const deliveries: Leased[] = []
    const rows = this.#due(now, limit)
    for (const row of rows) {
      const { events: page } = tasks.page(row.task, row.cursor)
      const event = page.find(event => this.#limits.wants(event))
      if (event === undefined) {
        const cursor = page.at(-1)?.seq ?? row.cursor
        this.#sql.passOver.run(cursor, cursor >= row.seq ? null : 0, row.task, row.id)
      } else {
        this.#sql.lease.run(this.#id, leaseEnd, row.task, row.id)
        deliveries.push({ row, event })
      }
    }
    return { deliveries, more: deliveries.length < rows.length }
  }

  async #deliver ({ row, event }: Leased): Promise<void> {
    const { commit, settings } = this.#context
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
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(this.#limits.timeoutMs)])
    let outcome: DeliveryOutcome
    try {
      outcome = await Promise.race([this.#handler(delivery, signal), aborted(signal)])
    } catch (error) {
      settings.log.debug({ err: error, deliveryId: delivery.id }, 'a delivery failed')
      outcome = { retryAt: Date.now() + pushBackoff(tries) }
    }
    try {
      await commit.write(() => { this.#settle(row, event, outcome) })
    } catch (error) {
      // its lease expires, and it is delivered again with the same id
      settings.log.warn({ err: error, deliveryId: delivery.id }, 'the outcome of a delivery could not be written')
    }
  }

  #settle (row: DueRow, event: TaskEvent, outcome: DeliveryOutcome): void {
    const now = Date.now()
    const { deadAfterMs } = this.#context.settings
    const mine = [row.task, row.id, this.#id] as const
    if (outcome === 'delivered') {
      this.#sql.delivered.run(event.seq, event.seq, ...mine)
    } else if (outcome === 'disable' || 'disable' in outcome) {
      this.#sql.disable.run(outcome === 'disable' ? 'the receiver asked for no more' : outcome.disable, ...mine)
    } else if (this.#stopping.signal.aborted) {
      this.#sql.retry.run(row.tries, row.failing_since, 0, ...mine)
    } else if (now - (row.failing_since ?? now) >= deadAfterMs && row.failing_since !== null) {
      this.#sql.disable.run(`it failed for ${Math.round(deadAfterMs / 3_600_000)} hours, ${row.tries + 1} times`, ...mine)
    } else {
      this.#sql.retry.run(row.tries + 1, row.failing_since ?? now, Math.min(now + MAX_RETRY_MS, Math.max(now, Math.trunc(outcome.retryAt) || 0)), ...mine)
    }
  }

  /** Ends leases and waits that are longer than they can be, since the clock was set back. */
  expireLate (slackMs: number): void {
    const { commit, settings } = this.#context
    const now = Date.now()
    const latest = now + Math.max(MAX_RETRY_MS, this.#limits.timeoutMs + settings.leaseMs) + slackMs
    if (this.#sql.late.get(latest) === undefined) return
    commit.write(() => { this.#sql.expireLate.run(now, latest) }).then(() => { this.fill() }, () => {})
  }

  async stop ({ drainMs = 0 }: { readonly drainMs?: number | undefined } = {}): Promise<void> {
    if (drainMs > 0 && this.#running.size > 0) await Promise.race([Promise.all(this.#running), delay(drainMs, undefined, { ref: false })])
    this.#stopping.abort(new WorkerStoppedError())
    await this.#filling
    await Promise.all(this.#running)
  }
}

function addTo (counts: Map<string, number>, name: string, more: number): void {
  const count = (counts.get(name) ?? 0) + more
  if (count === 0) counts.delete(name)
  else counts.set(name, count)
}

async function aborted (signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }, { once: true }) })
  throw signal.reason
}

function prepareStatements (database: SqliteDatabase) {
  const MINE = 'WHERE task = ? AND id = ? AND worker = ?'
  return {
    due: database.prepare(`SELECT p.task, p.id, p.url, p.settings, p.secrets, p.created_at, p.cursor, p.disabled, p.tries, p.failing_since,
      p.owner, p.host, t.id AS task_id, t.seq FROM push p JOIN task t ON t.key = p.task
      WHERE p.owner = ? AND p.due <= ? AND p.host NOT IN (SELECT value FROM json_each(?)) ORDER BY p.due LIMIT ?`),
    nextOwner: database.prepare('SELECT owner FROM push WHERE due IS NOT NULL AND owner > ? ORDER BY owner LIMIT 1'),
    late: database.prepare('SELECT 1 FROM push WHERE due > ? LIMIT 1'),
    expireLate: database.prepare('UPDATE push SET due = ? WHERE due > ?'),
    passOver: database.prepare('UPDATE push SET cursor = ?, due = ?, worker = NULL WHERE task = ? AND id = ?'),
    lease: database.prepare('UPDATE push SET worker = ?, due = ? WHERE task = ? AND id = ?'),
    delivered: database.prepare(`UPDATE push SET cursor = ?, due = CASE WHEN ? < (SELECT seq FROM task WHERE key = push.task) THEN 0 END, tries = 0,
      failing_since = NULL, worker = NULL ${MINE}`),
    retry: database.prepare(`UPDATE push SET tries = ?, failing_since = ?, due = ?, worker = NULL ${MINE}`),
    disable: database.prepare(`UPDATE push SET disabled = ?, due = NULL, worker = NULL ${MINE}`)
  }
}
