import createError from '@fastify/error'

/** Neither SQLite driver can be loaded. Arguments: Node's version, reason. */
export const SqliteDriverMissingError = createError<[string, string]>('SQLITE_DRIVER_MISSING',
  'no SQLite driver on Node %s (%s); run `npm i better-sqlite3@12`, or use Node 22.13 or newer', 500)
