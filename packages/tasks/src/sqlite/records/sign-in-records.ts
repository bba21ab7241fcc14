import type { SqliteDatabase } from '@polyvac/sqlite'
import type { SignInRecords } from '../../contract/sign-in-records.js'
import type { GroupCommit } from '../group-commit.js'

interface Opened { readonly database: SqliteDatabase, readonly commit: GroupCommit }

/** Texts in the table `sign_in`. `opened` throws while the store is not open. */
export function signInRecords (opened: () => Opened): SignInRecords {
  const read = ({ database }: Opened, owner: string, server: string): string | undefined =>
    database.prepare('SELECT value FROM sign_in WHERE owner = ? AND server = ?').column<string>(owner, server)[0]
  return {
    async get (owner, server) { return read(opened(), owner, server) },
    async replace (owner, server, before, after) {
      const { database, commit } = opened()
      return await commit.write(() => {
        if (read({ database, commit }, owner, server) !== before) return false
        if (after === undefined) database.prepare('DELETE FROM sign_in WHERE owner = ? AND server = ?').run(owner, server)
        else database.prepare('INSERT OR REPLACE INTO sign_in VALUES (?, ?, ?)').run(owner, server, after)
        return true
      })
    }
  }
}
