import type { SqliteDatabase } from '@polyvac/sqlite'
import { TooManyPushConfigsError } from '../basics/errors.js'
import { hostOf, MAX_CONFIGS, PUSH_ROW, toConfig, type PreparedPush, type PushRow } from '../push/push-configs.js'
import type { PushConfig } from '../contract/task-store.js'
import type { TaskRow } from './task-statements.js'

/** The push configs of tasks. The outbox delivers to them. */
export class PushConfigs {
  readonly #sql: ReturnType<typeof prepareStatements>

  constructor (database: SqliteDatabase) { this.#sql = prepareStatements(database) }

  /** Call it in a group commit. The secrets are returned only to deliveries. */
  set (task: Pick<TaskRow, 'key' | 'id' | 'owner' | 'seq'>, config: PreparedPush, now: number): PushConfig {
    const { id, url, settings, secrets } = config
    const before = this.#sql.get.get<PushRow>(task.key, id)
    if (before === undefined && (this.#sql.count.column<number>(task.key)[0] ?? 0) >= MAX_CONFIGS) {
      throw new TooManyPushConfigsError(MAX_CONFIGS)
    }
    const cursor = Math.min(task.seq, config.after ?? before?.cursor ?? task.seq)
    this.#sql.set.run(task.key, id, task.owner, hostOf(url), url, settings, secrets, now, cursor, cursor === task.seq ? null : 0)
    if (before === undefined) this.#sql.addCount.run(1, task.key)
    return toConfig(this.#sql.get.get<PushRow>(task.key, id) as PushRow, task.id)
  }

  get (task: TaskRow, configId: string): PushConfig | null {
    const row = this.#sql.get.get<PushRow>(task.key, configId)
    return row === undefined ? null : toConfig(row, task.id)
  }

  list (task: TaskRow): PushConfig[] { return this.#sql.list.all<PushRow>(task.key).map(row => toConfig(row, task.id)) }

  delete (task: TaskRow, configId: string): boolean {
    const isDeleted = this.#sql.delete.run(task.key, configId).changes === 1
    if (isDeleted) this.#sql.addCount.run(-1, task.key)
    return isDeleted
  }
}

function prepareStatements (database: SqliteDatabase) {
  return {
    get: database.prepare(`SELECT ${PUSH_ROW} FROM push WHERE task = ? AND id = ?`),
    list: database.prepare(`SELECT ${PUSH_ROW} FROM push WHERE task = ? ORDER BY created_at, id`),
    count: database.prepare('SELECT count(*) FROM push WHERE task = ?'),
    // deliveries to a replaced config begin again, without a lease: the outcome of one in progress is ignored
    set: database.prepare(`INSERT INTO push (task, id, owner, host, url, settings, secrets, created_at, cursor, tries, due)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)
      ON CONFLICT (task, id) DO UPDATE SET host = excluded.host, url = excluded.url, settings = excluded.settings, secrets = excluded.secrets, cursor = excluded.cursor,
        tries = 0, failing_since = NULL, disabled = NULL, worker = NULL, due = excluded.due`),
    addCount: database.prepare('UPDATE task SET pushes = pushes + ? WHERE key = ?'),
    delete: database.prepare('DELETE FROM push WHERE task = ? AND id = ?')
  }
}
