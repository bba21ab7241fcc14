import type { SqliteDatabase } from '@polyvac/sqlite'
import { TooManyTasksError } from '../errors.js'
import type { PurgeLimits } from '../task-store.js'
import type { GroupCommit } from './group-commit.js'

/** Tasks deleted in one transaction; their events go with them. */
const BATCH = 100

/** Deletes ended tasks. A task that runs or waits has no `ended_at`, so nothing here can reach it. */
export class Purge {
  readonly #sql
  /** About how many tasks there are: counted now and then, since other processes create too. */
  #about: number

  constructor (database: SqliteDatabase) {
    const oldest = 'DELETE FROM task WHERE key IN (SELECT key FROM task WHERE ended_at IS NOT NULL'
    this.#sql = {
      count: database.prepare('SELECT count(*) FROM task'),
      older: database.prepare(`${oldest} AND ended_at < ? ORDER BY ended_at LIMIT ?)`),
      oldest: database.prepare(`${oldest} ORDER BY ended_at, key LIMIT ?)`)
    }
    this.#about = this.#count()
  }

  created (): void { this.#about++ }

  /** Inside a group commit, before a task is created. Throws TASK_TOO_MANY where no task has ended. */
  makeRoom (maxTasks: number): void {
    if (this.#about < maxTasks) return
    // one per cent at a time, so that a full store does not count its tasks at every create
    const count = this.#count()
    this.#about = count < maxTasks ? count : count - this.#oldest(Math.max(count - maxTasks + 1, Math.ceil(maxTasks / 100)))
    if (this.#about >= maxTasks) throw new TooManyTasksError(maxTasks)
  }

  /** In transactions of their own, so that others get their turn in between. */
  async run (commit: GroupCommit, { terminalOlderThanMs, maxTasks }: PurgeLimits): Promise<number> {
    let deleted = 0
    const rounds = async (some: () => number): Promise<void> => {
      for (let last = BATCH; last === BATCH;) deleted += last = await commit.write(some)
    }
    if (terminalOlderThanMs !== undefined) await rounds(() => this.#sql.older.run(Date.now() - terminalOlderThanMs, BATCH).changes)
    if (maxTasks !== undefined) await rounds(() => this.#oldest(Math.max(0, this.#count() - maxTasks)))
    this.#about = await commit.write(() => this.#count())
    return deleted
  }

  #count (): number { return this.#sql.count.column<number>()[0] ?? 0 }
  #oldest (limit: number): number { return this.#sql.oldest.run(Math.min(limit, BATCH)).changes }
}
