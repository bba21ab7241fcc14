import { StoreFullError } from '../basics/errors.js'
import { Health } from '../store/health.js'
import type { Connection } from './connection.js'
import type { Capacity } from './capacity.js'

/** Checks that the database takes a row of this replica, and that messages arrive. */
export function databaseHealth (connection: Connection, capacity: Capacity, replica: number): Health {
  const probe = `INSERT INTO ${connection.table('probe')} (id, at) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET at = excluded.at`
  return new Health(async () => {
    await connection.run(probe, [replica, connection.now()])
    return capacity.isFull ? new StoreFullError('the task store').message : connection.listener.problem
  })
}
