import type { SqliteDatabase } from '@polyvac/sqlite'
import { TooManyTasksError } from '../errors.js'
import type { PurgeLimits } from '../task-store.js'
import type { GroupCommit } from './group-commit.js'

/** Tasks deleted in one transaction, with their events. */
const BATCH = 100

/** Deletes ended tasks. A task that runs or waits has no `ended_at` and cannot be deleted here. */
export class Purge {
  readonly #sql
  /** The approximate number of tasks; it is counted at times, since other processes create tasks, too. */
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

  /** Call it in a group commit, before a task is created. @throws TASK_TOO_MANY where no task has ended */
  makeRoom (maxTasks: number): void {
    if (this.#about < maxTasks) return
    // one per cent at a time, so that a full store does not count its tasks at every `create`
    const count = this.#count()
    this.#about = count < maxTasks ? count : count - this.#oldest(Math.max(count - maxTasks + 1, Math.ceil(maxTasks / 100)))
    if (this.#about >= maxTasks) throw new TooManyTasksError(maxTasks)
  }

  /** Uses separate transactions, so that other writes can be committed in between. */
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
