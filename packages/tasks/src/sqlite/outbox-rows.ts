import { randomUUID } from 'node:crypto'
import type { SqliteDatabase } from '@polyvac/sqlite'
import { DUE_ROW, MAX_OWNERS, MAX_RETRY_MS, type DueRow, type Leased, type OutboxLimits, type OutboxStore, type Selection, type Settlement } from '../push/outbox.js'
import type { TaskEvent } from '../contract/task.js'
import type { StoreContext } from './store-context.js'

/** The rows of push configs, as one outbox leases them. */
export class OutboxRows implements OutboxStore {
  readonly #context: StoreContext
  readonly #timeoutMs: number
  readonly #id = randomUUID()
  readonly #sql: ReturnType<typeof prepareStatements>

  constructor (context: StoreContext, timeoutMs: number) {
    this.#context = context
    this.#timeoutMs = timeoutMs
    this.#sql = prepareStatements(context.database)
  }

  now (): number { return Date.now() }

  hasDue (selection: Selection): boolean { return this.#due(selection, Date.now()).length > 0 }

  #due (selection: Selection, now: number): DueRow[] {
    for (const owner of this.#owners(selection.after)) {
      const free = selection.freeOf(owner)
      if (free <= 0) continue
      const fullHosts = selection.fullHosts.filter(full => full.owner === null || full.owner === owner).map(({ host }) => host)
      selection.offer(owner, this.#sql.due.all<DueRow>(owner, now, JSON.stringify(fullHosts), free))
      if (selection.isFull) break
    }
    return selection.rows
  }

  /** Owners with configs that wait, from the one that follows `after` on. */
  * #owners (after: string): Generator<string, void> {
    for (let [last, seen, wrapped] = [after, 0, false]; seen < MAX_OWNERS; seen++) {
      const next = this.#sql.nextOwner.column<string>(last)[0]
      if (wrapped && (next === undefined || next > after)) return
      if (next === undefined) {
        last = ''
        wrapped = true
      } else yield last = next
    }
  }

  async lease (selection: Selection, { wants }: OutboxLimits): Promise<{ deliveries: Leased[], more: boolean }> {
    const { chosen, leased } = await this.#context.commit.write(() => this.#lease(selection, wants))
    const deliveries: Leased[] = []
    for (const { row, event = await this.#readWanted(row, wants) } of leased) if (event !== undefined) deliveries.push({ row, event })
    return { deliveries, more: deliveries.length < chosen }
  }

  /** Leases the chosen rows, and reads their events; those of large logs are read later. */
  #lease (selection: Selection, wants: OutboxLimits['wants']): { chosen: number, leased: { row: DueRow, event: TaskEvent | undefined }[] } {
    const { tasks, settings } = this.#context
    const now = Date.now()
    // the lease is longer than the delivery by the time for writing its outcome
    const leaseEnd = now + this.#timeoutMs + settings.leaseMs
    const leased: { row: DueRow, event: TaskEvent | undefined }[] = []
    const rows = this.#due(selection, now)
    for (const row of rows) {
      const page = tasks.isLarge(row.task) ? undefined : tasks.smallPage(row.task, row.cursor).events
      const event = page?.find(event => wants(event))
      if (page !== undefined && event === undefined) {
        const cursor = page.at(-1)?.seq ?? row.cursor
        this.#sql.passOver.run(cursor, cursor >= row.seq ? null : 0, row.task, row.id)
      } else {
        this.#sql.lease.run(this.#id, leaseEnd, row.task, row.id)
        leased.push({ row, event })
      }
    }
    return { chosen: rows.length, leased }
  }

  /** The next wanted event of a leased row; without one in the next page, the row passes over that page. */
  async #readWanted (row: DueRow, wants: OutboxLimits['wants']): Promise<TaskEvent | undefined> {
    const { events } = await this.#context.tasks.page(row.task, row.cursor)
    const event = events.find(event => wants(event))
    if (event === undefined) await this.settle(row, { delivered: events.at(-1)?.seq ?? row.cursor })
    return event
  }

  async settle (row: DueRow, settlement: Settlement): Promise<void> {
    const mine = [row.task, row.id, this.#id] as const
    await this.#context.commit.write(() => {
      if ('delivered' in settlement) this.#sql.delivered.run(settlement.delivered, settlement.delivered, ...mine)
      else if ('disable' in settlement) this.#sql.disable.run(settlement.disable, ...mine)
      else this.#sql.retry.run(settlement.tries, settlement.failingSince, settlement.due, ...mine)
    })
  }

  /** Ends leases and waits that are longer than they can be, since the clock was set back. */
  async expireLate (slackMs: number): Promise<void> {
    const { commit, settings } = this.#context
    const now = Date.now()
    const latest = now + Math.max(MAX_RETRY_MS, this.#timeoutMs + settings.leaseMs) + slackMs
    if (this.#sql.late.get(latest) !== undefined) await commit.write(() => { this.#sql.expireLate.run(now, latest) })
  }
}

function prepareStatements (database: SqliteDatabase) {
  const MINE = 'WHERE task = ? AND id = ? AND worker = ?'
  return {
    due: database.prepare(`SELECT ${DUE_ROW} FROM push p JOIN task t ON t.key = p.task
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
