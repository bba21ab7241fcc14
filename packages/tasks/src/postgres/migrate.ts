import { silentLogger, type TaskLogger } from '../basics/logger.js'
import { Connection } from './connection.js'
import { migrate } from './migrations.js'
import { postgresSettings, type PostgresTaskStoreOptions } from './options.js'
import { JobQueue } from './queue.js'

/**
 * Creates or migrates the tables ahead, as `open` of the store does: with a role that may create them, for stores whose
 * role may not. @throws TASK_STORE_OPTION, TASK_STORE_DATABASE, TASK_STORE_UNAVAILABLE
 * @example
 * await migratePostgres({ url: process.env.DATABASE_URL })
 */
export async function migratePostgres (options: Pick<PostgresTaskStoreOptions, 'url' | 'pool' | 'schema'> & { readonly log?: TaskLogger }): Promise<void> {
  const { log = silentLogger } = options
  const connection = await Connection.open(postgresSettings(options))
  try {
    await migrate(connection, async () => { await (await JobQueue.open(connection, log)).close() })
  } catch (error) {
    throw connection.explain(error)
  } finally {
    await connection.close()
  }
}
