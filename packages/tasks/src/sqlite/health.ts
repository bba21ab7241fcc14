import type { SqliteDatabase } from '@polyvac/sqlite'
import { StoreFullError } from '../basics/errors.js'
import { Health } from '../store/health.js'
import type { GroupCommit } from './group-commit.js'
import type { Purge } from './purge.js'

/** What the check writes: as much as a task with a short answer. A disk that is nearly full takes a small row. */
const PROBE_BYTES = 64 * 1024

/** Checks that the file takes a task. */
export function fileHealth (database: SqliteDatabase, commit: GroupCommit, purge: Purge): Health {
  const probe = database.prepare(`INSERT INTO probe (at, filler) VALUES (?, randomblob(${PROBE_BYTES}))`)
  const deleteOthers = database.prepare('DELETE FROM probe WHERE id <> ?')
  return new Health(async () => {
    await commit.write(() => { deleteOthers.run(probe.run(Date.now()).lastInsertRowid) })
    return purge.isFull ? new StoreFullError('the task store').message : undefined
  })
}
