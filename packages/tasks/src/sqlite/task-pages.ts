import type { SqliteDatabase } from '@polyvac/sqlite'
import { cursorAfter, type PreparedQuery } from '../store/task-query.js'
import { ROW, type TaskRow } from './task-statements.js'

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

  page (owner: string, query: PreparedQuery): { rows: TaskRow[], nextCursor?: string } {
    const { contextId, before, limit } = query
    const values = [...filtersOf(query), ...before, limit + 1] as const
    const rows = contextId === undefined ? this.#all.all<TaskRow>(owner, ...values) : this.#ofContext.all<TaskRow>(owner, contextId, contextId, ...values)
    if (rows.length <= limit) return { rows }
    return { rows: rows.slice(0, limit), nextCursor: cursorAfter(rows[limit - 1] as TaskRow) }
  }

  /** The number of tasks on all pages. */
  count (owner: string, query: PreparedQuery): number {
    const { contextId } = query
    const filters = filtersOf(query)
    return (contextId === undefined ? this.#countAll.column<number>(owner, ...filters) : this.#countOfContext.column<number>(owner, contextId, contextId, ...filters))[0] ?? 0
  }
}

function filtersOf ({ states, skills, statusSince }: PreparedQuery): readonly [string, number, string | null, string | null] {
  const names = skills === null ? null : JSON.stringify(skills)
  return [JSON.stringify(states), statusSince, names, names]
}
