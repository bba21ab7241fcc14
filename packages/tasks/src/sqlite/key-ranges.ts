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
    this.#next = database.prepare('SELECT min(key) FROM task WHERE key >= ?')
  }

  async * [Symbol.asyncIterator] (): AsyncGenerator<readonly [from: number, to: number], void> {
    const end = this.#end.column<number>()[0] ?? 0
    for (let from: number | null | undefined = 0; (from = this.#next.column<number | null>(from)[0] ?? undefined) !== undefined && from <= end;) {
      const to: number = Math.min(end, from + STEP - 1)
      yield [from, to]
      from = to + 1
      await setImmediate()
    }
  }
}
