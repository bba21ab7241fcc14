// The public API of @polyvac/sqlite: every export here is public and follows semantic versioning.
export { openDatabase } from './database.js'
export type { SqliteDatabase, SqliteOptions, SqliteRow, SqliteStatement, SqliteValue } from './database.js'
export { isBusy, isCorrupt, isFull } from './problems.js'
export { SqliteDriverMissingError } from './errors.js'
