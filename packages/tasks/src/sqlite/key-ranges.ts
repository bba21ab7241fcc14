import type { SqliteDatabase } from '@polyvac/sqlite'
import { setImmediate } from 'node:timers/promises'

/** Tasks that one step reads. */
const STEP = 2_000

/**
 * Ranges of `task.key` that cover all present tasks, one for each turn of the event loop. Reading all tasks once a
 * minute costs less than an index that every write keeps.
 */
export class KeyRanges {
  readonly #end
  readonly #next

  constructor (database: SqliteDatabase) {
    this.#end = database.prepare('SELECT coalesce(max(key), 0) FROM task')
    this.#next = database.prepare(`SELECT min(key) AS first, max(key) AS last FROM (SELECT key FROM task WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ${STEP})`)
  }

  async * [Symbol.asyncIterator] (): AsyncGenerator<readonly [from: number, to: number], void> {
    const end = this.#end.column<number>()[0] ?? 0
    for (let from = 0; ;) {
      const { first, last } = this.#next.get<{ first: number | null, last: number }>(from, end) ?? { first: null, last: 0 }
      if (first === null) return
      yield [first, last]
      from = last + 1
      await setImmediate()
    }
  }
}
