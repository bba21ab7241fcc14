import { cursorAfter, LIST_CHARS, type PreparedQuery } from '../store/task-query.js'
import { isName } from '../basics/names.js'
import type { TaskPage } from '../contract/task-store.js'
import type { Connection } from './connection.js'
import type { TaskLog } from './task-log.js'

/** Two lookups, each with its own index. */
const IN_CONTEXT = 'AND (context = $8 OR (context IS NULL AND id = $8))'

/** A text that no task can have, and that the server does not take. */
const isOfNone = ({ contextId }: PreparedQuery): boolean => contextId !== undefined && !isName(contextId)

interface PageRow { readonly key: number, readonly status_at: number, readonly bytes: number }

/** Pages by keyset: no unchanged task is repeated or skipped. A task with a new status moves to the front. */
export class TaskPages {
  readonly #connection: Connection
  readonly #tasks: TaskLog

  constructor (connection: Connection, tasks: TaskLog) {
    this.#connection = connection
    this.#tasks = tasks
  }

  async page (owner: string, query: PreparedQuery): Promise<TaskPage> {
    const { limit } = query
    if (isOfNone(query)) return { tasks: [] }
    const rows = await this.#connection.run<PageRow>(`SELECT key, status_at, bytes ${this.#matching(query)}
      AND (status_at, key) < ($5, $6) ORDER BY status_at DESC, key DESC LIMIT $7`, this.#values(owner, query))
    let held = 0
    // a page of large tasks ends early
    const end = rows.slice(0, limit).findIndex(({ bytes }) => (held += bytes) >= LIST_CHARS)
    const some = rows.slice(0, end === -1 ? limit : end + 1)
    const last = some.at(-1)
    const records = new Map((await this.#tasks.records(some.map(({ key }) => key))).map(record => [record.key, record]))
    const tasks = []
    for (const { key } of some) {
      const record = records.get(key)
      // purged meanwhile
      if (record !== undefined) tasks.push((await this.#tasks.fold(record)).record())
    }
    return { tasks, ...(last === undefined || some.length === rows.length ? {} : { nextCursor: cursorAfter(last) }) }
  }

  /** The number of tasks on all pages. */
  async count (owner: string, query: PreparedQuery): Promise<number> {
    if (isOfNone(query)) return 0
    // the values of a cursor and a limit, which a total ignores
    const [row] = await this.#connection.run<{ total: number }>(`SELECT count(*) AS total ${this.#matching(query)}
      AND ($5::bigint, $6::bigint, $7::int) IS NOT NULL`, this.#values(owner, query))
    return row?.total ?? 0
  }

  #matching ({ contextId }: PreparedQuery): string {
    return `FROM ${this.#connection.table('task')} WHERE owner = $1 AND state = ANY($2) AND status_at >= $3 AND ($4::text[] IS NULL OR skill = ANY($4))
      ${contextId === undefined ? '' : IN_CONTEXT}`
  }

  #values (owner: string, { contextId, states, skills, statusSince, before, limit }: PreparedQuery): unknown[] {
    return [owner, states, statusSince, skills, ...before, limit + 1, ...(contextId === undefined ? [] : [contextId])]
  }
}
