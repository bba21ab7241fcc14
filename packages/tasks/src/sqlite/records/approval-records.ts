import type { SqliteDatabase } from '@polyvac/sqlite'
import { ownerKey, ownerOfKey } from '../../basics/owner-key.js'
import { maxApprovals, type ApprovalRecords, type ApprovalRow } from '../../contract/approval-records.js'
import type { GroupCommit } from '../group-commit.js'

interface Opened { readonly database: SqliteDatabase, readonly commit: GroupCommit }

/** Approvals in the table `approval`. `opened` throws while the store is not open. */
export function approvalRecords (opened: () => Opened): ApprovalRecords {
  return {
    async get (owner, id) {
      return opened().database.prepare('SELECT value, status FROM approval WHERE owner = ? AND id = ? AND expires_at > ?').get<ApprovalRow>(ownerKey(owner), id, Date.now())
    },
    async locate (id) {
      const [owner] = opened().database.prepare('SELECT owner FROM approval WHERE id = ? AND expires_at > ?').column<string>(id, Date.now())
      return owner === undefined ? undefined : { owner: ownerOfKey(owner) }
    },
    async create (owner, id, value, expiresAt) {
      const { database, commit } = opened()
      const key = ownerKey(owner)
      await commit.write(() => {
        database.prepare('DELETE FROM approval WHERE expires_at <= ?').run(Date.now())
        database.prepare("INSERT INTO approval (owner, id, value, status, expires_at) VALUES (?, ?, ?, '', ?)").run(key, id, value, expiresAt)
        database.prepare('DELETE FROM approval WHERE key IN (SELECT key FROM approval WHERE owner = ? ORDER BY key DESC LIMIT -1 OFFSET ?)').run(key, maxApprovals(key))
      })
    },
    async replace (owner, id, before, after) {
      const { database, commit } = opened()
      return await commit.write(() =>
        database.prepare('UPDATE approval SET status = ? WHERE owner = ? AND id = ? AND status = ? RETURNING key').column<number>(after, ownerKey(owner), id, before).length > 0)
    }
  }
}
