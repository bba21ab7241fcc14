import type { SqliteDatabase } from '@polyvac/sqlite'
import { InvalidCursorError, InvalidTaskError } from '../errors.js'
import { taskStates } from '../task.js'
import type { TaskQuery } from '../task-store.js'
import { ROW, type TaskRow } from './task-statements.js'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 100
/** Two lookups, each with its own index. */
const IN_CONTEXT = 'AND (context = ? OR (context IS NULL AND id = ?))'

/** Pages by keyset: no unchanged task is repeated or skipped. A task with a new status moves to the front. */
export class TaskPages {
  readonly #all
  readonly #ofContext
  readonly #countAll
  readonly #countOfContext

  constructor (database: SqliteDatabase) {
    // plain question marks are the placeholders that both drivers support alike
    const matching = (context: string): string => `FROM task WHERE owner = ? ${context} AND state IN (SELECT value FROM json_each(?))
      AND status_at >= ? AND (? IS NULL OR skill IN (SELECT value FROM json_each(?)))`
    const select = (context: string): string => `SELECT ${ROW}
      ${matching(context)} AND (status_at, key) < (?, ?) ORDER BY status_at DESC, key DESC LIMIT ?`
    const count = (context: string): string => `SELECT count(*) ${matching(context)}`
    this.#all = database.prepare(select(''))
    this.#ofContext = database.prepare(select(IN_CONTEXT))
    this.#countAll = database.prepare(count(''))
    this.#countOfContext = database.prepare(count(IN_CONTEXT))
  }

  page (owner: string, query: TaskQuery): { rows: TaskRow[], nextCursor?: string } {
    const { contextId, cursor, limit = DEFAULT_LIMIT } = query
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) throw new InvalidTaskError('limit', `give 1 to ${MAX_LIMIT}`)
    const filters = filtersOf(query)
    const [before, key] = cursor === undefined ? [Number.MAX_SAFE_INTEGER, 0] as const : decode(cursor)
    const values = [...filters, before, key, limit + 1] as const
    const rows = contextId === undefined ? this.#all.all<TaskRow>(owner, ...values) : this.#ofContext.all<TaskRow>(owner, contextId, contextId, ...values)
    if (rows.length <= limit) return { rows }
    return { rows: rows.slice(0, limit), nextCursor: cursorAfter(rows[limit - 1] as TaskRow) }
  }

  /** The number of tasks on all pages. */
  count (owner: string, query: TaskQuery): number {
    const { contextId } = query
    const filters = filtersOf(query)
    return (contextId === undefined ? this.#countAll.column<number>(owner, ...filters) : this.#countOfContext.column<number>(owner, contextId, contextId, ...filters))[0] ?? 0
  }
}

function filtersOf ({ states, skills, statusSince = 0 }: TaskQuery): readonly [string, number, string | null, string | null] {
  const unknown = states?.find(state => !taskStates.includes(state))
  if (unknown !== undefined) throw new InvalidTaskError('states', `'${String(unknown)}' is not a state`)
  const names = skills === undefined ? null : JSON.stringify(skills)
  return [JSON.stringify(states ?? taskStates), statusSince, names, names]
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
