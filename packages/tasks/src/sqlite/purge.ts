import type { SqliteDatabase } from '@polyvac/sqlite'

/** Tasks deleted in one transaction; their events go with them. */
export const PURGE_BATCH = 100

/** Deletes ended tasks. A task that runs or waits has no `ended_at`, so nothing here can reach it. */
export class Purge {
  readonly #sql

  constructor (database: SqliteDatabase) {
    const oldest = 'DELETE FROM task WHERE key IN (SELECT key FROM task WHERE ended_at IS NOT NULL'
    this.#sql = {
      count: database.prepare('SELECT count(*) FROM task'),
      older: database.prepare(`${oldest} AND ended_at < ? ORDER BY ended_at LIMIT ?)`),
      oldest: database.prepare(`${oldest} ORDER BY ended_at, key LIMIT ?)`)
    }
  }

  count (): number { return this.#sql.count.column<number>()[0] ?? 0 }
  /** Inside a group commit; so is the next. Resolves to how many, at most a batch. */
  endedBefore (time: number): number { return this.#sql.older.run(time, PURGE_BATCH).changes }
  oldest (limit: number): number { return this.#sql.oldest.run(Math.min(limit, PURGE_BATCH)).changes }
}
