import createError from '@fastify/error'

/** Neither SQLite driver can be loaded. Arguments: Node's version, reason, remedy. */
export const SqliteDriverMissingError = createError<[string, string, string]>('SQLITE_DRIVER_MISSING',
  'no SQLite driver on Node %s (%s); %s, or use Node 22.13 or newer', 500)
