import type { SqliteDatabase } from '@polyvac/sqlite'
import { StoreFullError } from '../errors.js'
import type { TaskStoreHealth } from '../task-store.js'
import type { GroupCommit } from './group-commit.js'
import type { Purge } from './purge.js'

const HEALTH_MS = 2_000
/** What the check writes: as much as a task with a short answer. A disk that is nearly full takes a small row. */
const PROBE_BYTES = 64 * 1024

/** Checks that the store can write a task. Those that ask during a check share it. */
export class Health {
  readonly #commit: GroupCommit
  readonly #purge: Purge
  readonly #probe
  readonly #deleteOthers
  #checking: Promise<TaskStoreHealth> | undefined

  constructor (database: SqliteDatabase, commit: GroupCommit, purge: Purge) {
    this.#commit = commit
    this.#purge = purge
    this.#probe = database.prepare(`INSERT INTO probe (at, filler) VALUES (?, randomblob(${PROBE_BYTES}))`)
    this.#deleteOthers = database.prepare('DELETE FROM probe WHERE id <> ?')
  }

  check (): Promise<TaskStoreHealth> {
    this.#checking ??= this.#check().finally(() => { this.#checking = undefined })
    return this.#checking
  }

  async #check (): Promise<TaskStoreHealth> {
    let timer: NodeJS.Timeout | undefined
    try {
      const late = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => { reject(new Error(`no answer within ${HEALTH_MS} ms`)) }, HEALTH_MS)
      })
      const written = this.#commit.write(() => { this.#deleteOthers.run(this.#probe.run(Date.now()).lastInsertRowid) })
      await Promise.race([written, late])
      if (this.#purge.isFull) throw new StoreFullError('the task store')
      return { ok: true }
    } catch (error) {
      return { ok: false, detail: (error as Error).message }
    } finally {
      clearTimeout(timer)
    }
  }
}
