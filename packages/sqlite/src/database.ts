import { open } from 'node:fs/promises'
import { SqliteDriverMissingError } from './errors.js'

/** Values that both drivers bind alike. For `undefined` and booleans one driver throws, and the other converts them. */
export type SqliteValue = string | number | bigint | Uint8Array | null
export type SqliteRow = Record<string, SqliteValue>

export interface SqliteStatement {
  run (...values: SqliteValue[]): { changes: number, lastInsertRowid: number }
  get<Row extends object = SqliteRow> (...values: SqliteValue[]): Row | undefined
  all<Row extends object = SqliteRow> (...values: SqliteValue[]): Row[]
  /** Rows that are read one by one. Until the loop ends, the database runs no other statement. */
  iterate<Row extends object = SqliteRow> (...values: SqliteValue[]): IterableIterator<Row>
  /** The first column of every row. It creates no object per row, which is faster for long lists. */
  column<Value extends SqliteValue = SqliteValue> (...values: SqliteValue[]): Value[]
}

/** One open database. Both drivers are synchronous: they block the event loop. */
export interface SqliteDatabase {
  readonly driver: 'node:sqlite' | 'better-sqlite3'
  exec (sql: string): void
  prepare (sql: string): SqliteStatement
  /** Runs `work` in BEGIN IMMEDIATE … COMMIT, so that a write after a read does not fail with SQLITE_BUSY. */
  transaction<T> (work: () => T): T
  /** May be called twice. */
  close (): void
}

export interface SqliteOptions {
  /** `full` survives power loss; `normal` may lose the last commits, but not the file. Default `full`. */
  readonly synchronous?: 'full' | 'normal' | undefined
  /** Page cache in KiB. Default: the driver's own, 2,000 or 16,000. */
  readonly cacheKib?: number | undefined
  /** Whether `PRAGMA incremental_vacuum` can shrink a file that is created now. Default false. */
  readonly incrementalVacuum?: boolean | undefined
}

/**
 * Opens a SQLite file, or `:memory:`, with `node:sqlite` on Node >= 22.13, otherwise with `better-sqlite3` 12. WAL,
 * foreign keys on, 5 s busy timeout.
 * @throws SQLITE_DRIVER_MISSING where neither driver can be loaded; the driver's error (`errcode` / `code`) where the
 * file is not a usable database
 * @example
 * const database = await openDatabase('notes.db')
 * database.transaction(() => { database.prepare('INSERT INTO note (text) VALUES (?)').run('first') })
 */
export async function openDatabase (path: string, options: SqliteOptions = {}): Promise<SqliteDatabase> {
  // other users must not read documents, questions and answers; SQLite gives its other files the same mode
  if (path !== ':memory:' && path !== '') await (await open(path, 'a', 0o600)).close()
  const database = hasNodeSqlite() ? openNodeSqlite(path) : await openBetterSqlite(path)
  try {
    // the timeout first: changing the journal mode needs a lock, which another process may hold
    database.exec('PRAGMA busy_timeout = 5000')
    // before the first page is written
    if (options.incrementalVacuum === true) database.exec('PRAGMA auto_vacuum = INCREMENTAL')
    database.exec('PRAGMA journal_mode = WAL')
    database.exec(`PRAGMA synchronous = ${options.synchronous === 'normal' ? 'NORMAL' : 'FULL'}`)
    database.exec('PRAGMA foreign_keys = ON')
    if (options.cacheKib !== undefined) database.exec(`PRAGMA cache_size = -${Math.trunc(options.cacheKib)}`)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

function hasNodeSqlite (): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 13)
}

interface DriverStatement {
  run (...values: SqliteValue[]): { changes: number | bigint, lastInsertRowid: number | bigint }
  get (...values: SqliteValue[]): unknown
  all (...values: SqliteValue[]): unknown[]
  iterate (...values: SqliteValue[]): IterableIterator<unknown>
}
interface DriverDatabase<Statement extends DriverStatement = DriverStatement> {
  exec (sql: string): unknown
  prepare (sql: string): Statement
  close (): void
}
interface BetterStatement extends DriverStatement { pluck (on: boolean): BetterStatement }
interface NodeStatement extends DriverStatement { setReturnArrays? (on: boolean): void }

function openNodeSqlite (path: string): SqliteDatabase {
  const { DatabaseSync } = withoutExperimentalWarning(() => process.getBuiltinModule('node:sqlite')) as unknown as
    { DatabaseSync: new (path: string) => DriverDatabase<NodeStatement> }
  return wrap('node:sqlite', new DatabaseSync(path), (database, sql) => {
    const statement = database.prepare(sql)
    return (...values) => statement.all(...values).map(row => firstValue(row as SqliteRow))
  })
}

/** A bundle calls `require()` where the source calls `import()`. */
function isMissingPackage (error: unknown): boolean {
  return ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(String((error as NodeJS.ErrnoException).code))
}

const INSTALL = 'run `npm i better-sqlite3@12`'
const REBUILD = 'allow its install script and run it: `npm rebuild better-sqlite3`, or `pnpm approve-builds` with pnpm'

async function openBetterSqlite (path: string): Promise<SqliteDatabase> {
  let Database: new (path: string) => DriverDatabase<BetterStatement>
  try {
    Database = (await import('better-sqlite3' as string)).default
  } catch (error) {
    const [reason, remedy] = isMissingPackage(error)
      ? ['better-sqlite3 is not installed', INSTALL]
      : [`better-sqlite3 does not load: ${(error as Error).message}`, REBUILD]
    throw Object.assign(new SqliteDriverMissingError(process.versions.node, reason, remedy), { cause: error })
  }
  return wrap('better-sqlite3', construct(Database, path), (database, sql) => {
    const statement = database.prepare(sql).pluck(true)
    return (...values) => statement.all(...values) as SqliteValue[]
  })
}

/** Opens the file. The first call loads the native part of the driver, which its install script builds or downloads. */
function construct<Database> (Driver: new (path: string) => Database, path: string): Database {
  try {
    return new Driver(path)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const reason = code === 'ERR_DLOPEN_FAILED'
      ? 'better-sqlite3 was built for another version of Node.js or another machine'
      : /bindings file/.test(message) ? 'the install script of better-sqlite3 did not run' : undefined
    if (reason === undefined) throw error
    throw Object.assign(new SqliteDriverMissingError(process.versions.node, reason, REBUILD), { cause: error })
  }
}

function wrap<Database extends DriverDatabase> (driver: SqliteDatabase['driver'], database: Database,
  prepareColumn: (database: Database, sql: string) => (...values: SqliteValue[]) => SqliteValue[]): SqliteDatabase {
  let open = true
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  return {
    driver,
    exec (sql) { database.exec(sql) },
    prepare (sql) {
      const statement = database.prepare(sql)
      let column: ((...values: SqliteValue[]) => SqliteValue[]) | undefined
      return {
        run (...values) {
          const { changes, lastInsertRowid } = statement.run(...values)
          return { changes: Number(changes), lastInsertRowid: Number(lastInsertRowid) }
        },
        get: <Row extends object>(...values: SqliteValue[]) => statement.get(...values) as Row | undefined,
        all: <Row extends object>(...values: SqliteValue[]) => statement.all(...values) as Row[],
        iterate: <Row extends object>(...values: SqliteValue[]) => statement.iterate(...values) as IterableIterator<Row>,
        column: <Value extends SqliteValue>(...values: SqliteValue[]) =>
          (column ??= prepareColumn(database, sql))(...values) as Value[]
      }
    },
    transaction (work) {
      begin.run()
      try {
        const result = work()
        commit.run()
        return result
      } catch (error) {
        // SQLite rolls back on some errors (disk full, I/O) itself; ROLLBACK then fails
        try { database.exec('ROLLBACK') } catch { /* the first error is the one to report */ }
        throw error
      }
    },
    close () {
      if (!open) return
      open = false
      database.close()
    }
  }
}

function firstValue (row: SqliteRow): SqliteValue {
  return Object.values(row)[0] ?? null
}

/** Node 22 prints an ExperimentalWarning for `node:sqlite`; this suppresses that one during the call. */
function withoutExperimentalWarning<T> (load: () => T): T {
  const emit = process.emitWarning
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (String(warning).includes('SQLite is an experimental feature')) return
    Reflect.apply(emit, process, [warning, ...rest])
  }) as typeof process.emitWarning
  try { return load() } finally { process.emitWarning = emit }
}
