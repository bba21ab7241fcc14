import type { SqliteDatabase } from '@polyvac/sqlite'
import { InvalidCursorError, InvalidTaskError } from '../errors.js'
import { taskStates } from '../task.js'
import type { TaskQuery } from '../task-store.js'
import type { TaskRow } from './task-statements.js'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 100

/** Pages by keyset: nothing that stays as it is is shown twice or passed over. What gets a new status in between moves to the front. */
export class TaskPages {
  readonly #all
  readonly #ofContext

  constructor (database: SqliteDatabase) {
    // both drivers know plain question marks alone alike
    const select = (context: string): string => `SELECT key, id, owner, context, skill, hash, state, turn, attempt, losses, seq, status_at, worker, due
      FROM task WHERE owner = ? ${context} AND (status_at, key) < (?, ?) AND state IN (SELECT value FROM json_each(?))
      ORDER BY status_at DESC, key DESC LIMIT ?`
    this.#all = database.prepare(select(''))
    this.#ofContext = database.prepare(select('AND context = ?'))
  }

  page (owner: string, { states, contextId, cursor, limit = DEFAULT_LIMIT }: TaskQuery): { rows: TaskRow[], nextCursor?: string } {
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) throw new InvalidTaskError('limit', `give 1 to ${MAX_LIMIT}`)
    const unknown = states?.find(state => !taskStates.includes(state))
    if (unknown !== undefined) throw new InvalidTaskError('states', `there is no state '${String(unknown)}'`)
    const [before, key] = cursor === undefined ? [Number.MAX_SAFE_INTEGER, 0] as const : decode(cursor)
    const values = [before, key, JSON.stringify(states ?? taskStates), limit + 1] as const
    const rows = contextId === undefined ? this.#all.all<TaskRow>(owner, ...values) : this.#ofContext.all<TaskRow>(owner, contextId, ...values)
    if (rows.length <= limit) return { rows }
    return { rows: rows.slice(0, limit), nextCursor: cursorAfter(rows[limit - 1] as TaskRow) }
  }
}

/** The cursor of the page that begins after this row. */
export function cursorAfter ({ status_at: at, key }: TaskRow): string {
  return Buffer.from(`${at}.${key}`).toString('base64url')
}

function decode (cursor: string): readonly [number, number] {
  const match = /^(\d{1,15})\.(\d{1,15})$/.exec(Buffer.from(String(cursor), 'base64url').toString('latin1'))
  if (match === null) throw new InvalidCursorError()
  return [Number(match[1]), Number(match[2])]
}
