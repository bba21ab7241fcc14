import { randomUUID } from 'node:crypto'
import { DUE_ROW, MAX_OWNERS, type DueRow, type Leased, type OutboxLimits, type OutboxStore, type Selection, type Settlement } from '../push/outbox.js'
import type { Connection, Session } from './connection.js'
import type { StoreContext } from './store-context.js'

/** The lease is longer than the delivery by the time for writing its outcome. */
const SETTLE_MS = 5_000

/** Digits at the end of a holder's id. */
const REPLICA_DIGITS = 12
const digitsOf = (replica: number): string => replica.toString(16).padStart(REPLICA_DIGITS, '0')

/** Ends the leases of replicas that have died; otherwise their deliveries wait for the end of the leases. */
export async function releaseLeases (session: Session, connection: Connection, replicas: readonly number[]): Promise<void> {
  await session.run(`UPDATE ${connection.table('push')} SET worker = NULL, due = 0
    WHERE due IS NOT NULL AND right(worker::text, ${REPLICA_DIGITS}) = ANY($1)`, [replicas.map(digitsOf)])
}

/** The rows of push configs, as one outbox leases them. */
export class OutboxRows implements OutboxStore {
  readonly #context: StoreContext
  readonly #timeoutMs: number
  readonly #id: string
  readonly #sql: ReturnType<typeof statements>

  constructor (context: StoreContext, timeoutMs: number) {
    this.#context = context
    this.#timeoutMs = timeoutMs
    // the end of a lease's holder names its replica
    this.#id = `${randomUUID().slice(0, -REPLICA_DIGITS)}${digitsOf(context.replica)}`
    this.#sql = statements(context)
  }

  now (): number { return this.#context.connection.now() }

  hasDue (): boolean { return true }

  async lease (selection: Selection, { wants }: OutboxLimits): Promise<{ deliveries: Leased[], more: boolean }> {
    const { connection, tasks } = this.#context
    const now = this.now()
    // from the owner that follows the one served last, then from the first
    for (const after of new Set([selection.after, ''])) {
      const full = selection.fullHosts
      const rows = await connection.run<DueRow>(this.#sql.due,
        [after, now, full.map(({ host }) => host), selection.limit, selection.after, full.map(({ owner }) => owner)])
      const ofOwner = new Map<string, DueRow[]>()
      for (const row of rows) ofOwner.set(row.owner, [...ofOwner.get(row.owner) ?? [], row])
      for (const [owner, rows] of ofOwner) if (!selection.isFull) selection.offer(owner, rows)
      if (selection.isFull) break
    }
    const chosen = selection.rows
    if (chosen.length === 0) return { deliveries: [], more: false }
    const leased = new Map((await connection.run<{ task: number, id: string, cursor: number }>(this.#sql.lease,
      [this.#id, now + this.#timeoutMs + SETTLE_MS, chosen.map(({ task }) => task), chosen.map(({ id }) => id), now]))
      .map(row => [`${row.task} ${row.id}`, row.cursor]))
    const deliveries: Leased[] = []
    for (const before of chosen) {
      const cursor = leased.get(`${before.task} ${before.id}`)
      // another replica was faster
      if (cursor === undefined) continue
      const row = { ...before, cursor }
      const { events: page } = await tasks.page(row.task, cursor)
      const event = page.find(event => wants(event))
      if (event === undefined) await this.#move(row, page.at(-1)?.seq ?? cursor)
      else deliveries.push({ row, event })
    }
    return { deliveries, more: deliveries.length < chosen.length }
  }

  async settle (row: DueRow, settlement: Settlement): Promise<void> {
    const { connection } = this.#context
    const mine = [row.task, row.id, this.#id, row.cursor]
    if ('delivered' in settlement) await this.#move(row, settlement.delivered)
    else if ('disable' in settlement) await connection.run(this.#sql.disable, [...mine, settlement.disable])
    else await connection.run(this.#sql.retry, [...mine, settlement.tries, settlement.failingSince, settlement.due])
  }

  async #move (row: DueRow, cursor: number): Promise<void> {
    await this.#context.connection.run(this.#sql.move, [row.task, row.id, this.#id, row.cursor, cursor])
  }

  /** Wakes configs that have missed their wake-up: one was added while an event was committed. */
  async wakeLate (): Promise<void> { await this.#context.connection.run(this.#sql.wakeLate) }
}

function statements ({ connection }: StoreContext) {
  const [push, task] = [connection.table('push'), connection.table('task')]
  // the place, too: after a failover to a server that was behind, the row has an earlier one
  const mine = 'p.task = $1 AND p.id = $2 AND p.worker = $3 AND p.cursor = $4'
  return {
    // one lookup in the index for each owner, however many configs wait
    due: `WITH RECURSIVE owners AS ((SELECT owner, 1 AS n FROM ${push} WHERE due IS NOT NULL AND owner > $1 ORDER BY owner LIMIT 1)
        UNION ALL SELECT next.owner, o.n + 1 FROM owners o, LATERAL (SELECT owner FROM ${push} p WHERE p.due IS NOT NULL AND p.owner > o.owner ORDER BY p.owner LIMIT 1) next
        WHERE o.n < ${MAX_OWNERS} AND ($1 <> '' OR next.owner <= $5 OR $5 = ''))
      SELECT d.* FROM owners o, LATERAL (SELECT ${DUE_ROW} FROM ${push} p JOIN ${task} t ON t.key = p.task
        WHERE p.owner = o.owner AND p.due <= $2
          AND NOT EXISTS (SELECT 1 FROM unnest($3::text[], $6::text[]) f(host, owner) WHERE f.host = p.host AND (f.owner IS NULL OR f.owner = p.owner))
        ORDER BY p.due LIMIT $4) d ORDER BY o.n, d.created_at`,
    lease: `UPDATE ${push} p SET worker = $1, due = $2 FROM unnest($3::bigint[], $4::text[]) i(task, id)
      WHERE p.task = i.task AND p.id = i.id AND p.due <= $5 RETURNING p.task, p.id, p.cursor`,
    // the lock of the task waits for an event on its way, so that its wake-up is not lost
    move: `WITH t AS (SELECT seq FROM ${task} WHERE key = $1 FOR UPDATE)
      UPDATE ${push} p SET cursor = $5, due = CASE WHEN $5 < t.seq THEN 0 END, tries = 0, failing_since = NULL, worker = NULL FROM t WHERE ${mine}`,
    retry: `UPDATE ${push} p SET tries = $5, failing_since = $6, due = $7, worker = NULL WHERE ${mine}`,
    disable: `UPDATE ${push} p SET disabled = $5, due = NULL, worker = NULL WHERE ${mine}`,
    wakeLate: `UPDATE ${push} p SET due = 0 FROM ${task} t WHERE t.key = p.task AND p.due IS NULL AND p.disabled IS NULL AND p.cursor < t.seq`
  }
}
