import type { CountNow, SharedCounts } from '../contract/shared-counts.js'
import type { Connection } from './connection.js'

/** Shortest time in ms between two deletions of ended counts, and most counts of one. */
const DELETE_MS = 60_000
const MAX_DELETED = 10_000

/** Counts in the table `count`. `connection` throws while the store is not open. */
export function sharedCounts (connection: () => Connection): SharedCounts {
  let deletedAt = 0
  return {
    async add (counts) {
      const database = connection()
      const table = database.table('count')
      const now = database.now()
      if (now - deletedAt > DELETE_MS) {
        deletedAt = now
        await database.run(`DELETE FROM ${table} WHERE name IN (
          SELECT name FROM ${table} WHERE ends_at < $1 ORDER BY ends_at LIMIT ${MAX_DELETED} FOR UPDATE SKIP LOCKED)`, [now])
      }
      // in the order of the names, so that two replicas do not wait for each other
      return await database.run<CountNow>(`INSERT INTO ${table} AS old (name, count, ends_at)
        SELECT name, count, $1::bigint + ms FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS added (name, count, ms) ORDER BY name
        ON CONFLICT (name) DO UPDATE SET count = excluded.count + coalesce(CASE WHEN old.ends_at > $1 THEN old.count END, 0),
          ends_at = coalesce(CASE WHEN old.ends_at > $1 THEN old.ends_at END, excluded.ends_at)
        RETURNING name, count, ends_at - $1::bigint AS "endsInMs"`,
      [now, counts.map(({ name }) => name), counts.map(({ count }) => count), counts.map(({ windowMs }) => windowMs)])
    }
  }
}
