import { randomUUID } from 'node:crypto'
import type { SqliteDatabase } from '@polyvac/sqlite'
import { InvalidTaskError, TooManyPushConfigsError } from '../errors.js'
import type { NewPushConfig, PushConfig } from '../task-store.js'
import { toJson } from '../task-updates.js'
import type { TaskRow } from './task-statements.js'

const MAX_CONFIGS = 10
const MAX_CHARS = 16 * 1024

export interface PushRow {
  readonly task: number
  readonly id: string
  readonly url: string
  readonly settings: string
  readonly created_at: number
  readonly cursor: number
  readonly disabled: string | null
}

const ROW = 'task, id, url, settings, created_at, cursor, disabled'

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

export interface PreparedPush {
  readonly id: string
  readonly url: string
  readonly settings: string
  readonly secrets: string
  readonly after: number | undefined
}

/** @throws TASK_INVALID, TASK_TOO_LARGE */
export function preparePush ({ id = randomUUID(), url, settings = {}, secrets = {}, after }: NewPushConfig): PreparedPush {
  if (typeof id !== 'string' || id === '' || id.length > 128) throw new InvalidTaskError('id', 'give 1 to 128 characters')
  if (typeof url !== 'string' || url === '' || url.length > 2048) throw new InvalidTaskError('url', 'give 1 to 2,048 characters')
  if (after !== undefined && !(Number.isSafeInteger(after) && after >= 0)) throw new InvalidTaskError('after', 'give a number from 0')
  return { id, url, settings: toJson('settings', settings, MAX_CHARS), secrets: toJson('secrets', secrets, MAX_CHARS), after }
}

/** The host, with which receivers share deliveries. */
function hostOf (url: string): string {
  return URL.canParse(url) ? new URL(url).host : url
}

export function toConfig ({ id, url, settings, created_at: createdAt, cursor, disabled }: PushRow, taskId: string): PushConfig {
  return { id, taskId, url, settings: JSON.parse(settings), createdAt, cursor, disabled }
}

function prepareStatements (database: SqliteDatabase) {
  return {
    get: database.prepare(`SELECT ${ROW} FROM push WHERE task = ? AND id = ?`),
    list: database.prepare(`SELECT ${ROW} FROM push WHERE task = ? ORDER BY created_at, id`),
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
