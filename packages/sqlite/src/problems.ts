/** SQLite's "malformed" (11) and "not a database" (26), of both drivers. */
export function isCorrupt (error: unknown): boolean {
  return has(error, [11, 26], /^SQLITE_(?:CORRUPT|NOTADB)/)
}

/** SQLite's "full" (13): the disk, or `max_page_count`. The transaction is rolled back and can be repeated later. */
export function isFull (error: unknown): boolean {
  return has(error, [13], /^SQLITE_FULL/)
}

/** SQLite's "busy" (5): another process held the lock for longer than the busy timeout. */
export function isBusy (error: unknown): boolean {
  return has(error, [5], /^SQLITE_BUSY/)
}

/** `node:sqlite` sets a number with details in its upper bits, `better-sqlite3` a name with details at its end. */
function has (error: unknown, numbers: readonly number[], names: RegExp): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { code, errcode } = error as { code?: unknown, errcode?: unknown }
  return (typeof code === 'string' && names.test(code)) || (typeof errcode === 'number' && numbers.includes(errcode & 0xff))
}
