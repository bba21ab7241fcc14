import { TooManyPushConfigsError } from '../basics/errors.js'
import { hostOf, MAX_CONFIGS, PUSH_ROW, toConfig, type PreparedPush, type PushRow } from '../push/push-configs.js'
import { isName } from '../basics/names.js'
import type { PushConfig } from '../contract/task-store.js'
import type { Connection, Session } from './connection.js'

interface OfTask { readonly key: number, readonly id: string, readonly owner: string, readonly seq: number }

/** The push configs of tasks. The outbox delivers to them. */
export class PushConfigs {
  readonly #sql: ReturnType<typeof statements>

  constructor (connection: Connection) { this.#sql = statements(connection) }

  /** The config of a new task, whose row counts it already. */
  async add (session: Session, key: number, owner: string, { id, url, settings, secrets, after = 1 }: PreparedPush, now: number): Promise<void> {
    const cursor = Math.min(1, after)
    await session.run(this.#sql.set, [key, id, owner, hostOf(url), url, settings, secrets, now, cursor, cursor === 1 ? null : 0])
  }

  /** Call it in a transaction that has locked the task. The secrets are returned only to deliveries. */
  async set (session: Session, task: OfTask, config: PreparedPush, now: number): Promise<PushConfig> {
    const { id, url, settings, secrets } = config
    const all = await session.run<PushRow>(this.#sql.list, [task.key])
    const before = all.find(config => config.id === id)
    if (before === undefined && all.length >= MAX_CONFIGS) throw new TooManyPushConfigsError(MAX_CONFIGS)
    const cursor = Math.min(task.seq, config.after ?? before?.cursor ?? task.seq)
    const [row] = await session.run<PushRow>(this.#sql.set,
      [task.key, id, task.owner, hostOf(url), url, settings, secrets, now, cursor, cursor === task.seq ? null : 0])
    if (before === undefined) await session.run(this.#sql.addCount, [1, task.key])
    return toConfig(row as PushRow, task.id)
  }

  async list (session: Session, task: OfTask): Promise<PushConfig[]> {
    return (await session.run<PushRow>(this.#sql.list, [task.key])).map(row => toConfig(row, task.id))
  }

  async delete (session: Session, task: OfTask, configId: string): Promise<boolean> {
    if (!isName(configId)) return false
    const deleted = await session.run(this.#sql.delete, [task.key, configId])
    if (deleted.length > 0) await session.run(this.#sql.addCount, [-1, task.key])
    return deleted.length > 0
  }
}

function statements (connection: Connection) {
  const [push, task] = [connection.table('push'), connection.table('task')]
  return {
    list: `SELECT ${PUSH_ROW} FROM ${push} WHERE task = $1 ORDER BY created_at, id COLLATE "C"`,
    // deliveries to a replaced config begin again, without a lease: the outcome of one in progress is ignored
    set: `INSERT INTO ${push} (task, id, owner, host, url, settings, secrets, created_at, cursor, tries, due)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10)
      ON CONFLICT (task, id) DO UPDATE SET host = excluded.host, url = excluded.url, settings = excluded.settings, secrets = excluded.secrets,
        cursor = excluded.cursor, tries = 0, failing_since = NULL, disabled = NULL, worker = NULL, due = excluded.due RETURNING ${PUSH_ROW}`,
    addCount: `UPDATE ${task} SET pushes = pushes + $1 WHERE key = $2`,
    delete: `DELETE FROM ${push} WHERE task = $1 AND id = $2 RETURNING id`
  }
}
