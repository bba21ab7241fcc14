import { ownerKey, ownerOfKey } from '../basics/owner-key.js'
import { maxApprovals, type ApprovalRecords, type ApprovalRow } from '../contract/approval-records.js'
import type { Connection } from './connection.js'

/** Approvals in the table `approval`. `connection` throws while the store is not open. */
export function approvalRecords (connection: () => Connection): ApprovalRecords {
  const table = (): string => connection().table('approval')
  return {
    async get (owner, id) {
      const database = connection()
      return (await database.run<ApprovalRow>(`SELECT value, status FROM ${table()} WHERE owner = $1 AND id = $2 AND expires_at > $3`, [ownerKey(owner), id, database.now()]))[0]
    },
    async locate (id) {
      const database = connection()
      const [row] = await database.run<{ owner: string }>(`SELECT owner FROM ${table()} WHERE id = $1 AND expires_at > $2`, [id, database.now()])
      return row === undefined ? undefined : { owner: ownerOfKey(row.owner) }
    },
    async create (owner, id, value, expiresAt) {
      const database = connection()
      const key = ownerKey(owner)
      await database.run(`DELETE FROM ${table()} WHERE expires_at <= $1`, [database.now()])
      await database.run(`INSERT INTO ${table()} (owner, id, value, status, expires_at) VALUES ($1, $2, $3, '', $4)`, [key, id, value, expiresAt])
      await database.run(`DELETE FROM ${table()} WHERE key IN (SELECT key FROM ${table()} WHERE owner = $1 ORDER BY key DESC OFFSET $2)`, [key, maxApprovals(key)])
    },
    async replace (owner, id, before, after) {
      const changed = await connection().run(`UPDATE ${table()} SET status = $4 WHERE owner = $1 AND id = $2 AND status = $3 RETURNING key`, [ownerKey(owner), id, before, after])
      return changed.length > 0
    }
  }
}
