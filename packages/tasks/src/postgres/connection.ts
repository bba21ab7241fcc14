import { createHash } from 'node:crypto'
import type pg from 'pg'
import { InvalidStoreOptionError, StoreClosedError, StoreDatabaseError } from '../basics/errors.js'
import type { TaskLogger } from '../basics/logger.js'
import { isBroken, isMissingPackage, openError, unavailable, type Target } from './errors.js'
import { Listener } from './listener.js'
import type { PostgresPool } from './options.js'

/** A wait for a free connection of the pool, or for a new one. */
const CONNECT_MS = 5_000
/** A statement without an answer: the connection is stalled. */
const QUERY_MS = 20_000
/**
 * A statement in the server, one that waits for a lock, and a transaction whose client is silent. A statement with a
 * name keeps its plan: one made for empty tables must use their indexes, too.
 */
const SESSION = `SET default_transaction_isolation = 'read committed'; SET statement_timeout = 15000; SET lock_timeout = 5000;
  SET idle_in_transaction_session_timeout = 10000; SET enable_seqscan = off`
const INT8 = 20

export interface ConnectionOptions {
  readonly url?: string | undefined
  readonly pool?: PostgresPool | undefined
  readonly schema: string
  readonly maxConnections: number
  readonly log: TaskLogger
}

/** What runs statements: the pool, or the connection of one transaction. */
export interface Session {
  /** @param name the server parses and plans a statement with a name once for each connection */
  run<Row extends object> (sql: string, values?: readonly unknown[], name?: string): Promise<Row[]>
}

/** A transaction. */
export interface Transaction extends Session {
  /** The message is sent with the commit. */
  notify (channel: string, payload: string): void
  /** Ends the transaction with a rollback where `work` returns. */
  abandon (): void
}

interface Held { readonly client: pg.PoolClient, broken?: Error }

/**
 * The database of a store: pool, listener, clock of the server. The parts of the package that keep their own tables
 * in the schema use it.
 */
export class Connection implements Session {
  readonly schema: string
  // @keyed none: connections to the database of the configuration; maxConnections
  readonly pool: pg.Pool
  readonly listener: Listener
  readonly #log: TaskLogger
  readonly #ownsPool: boolean
  readonly #target: Target
  readonly #types: pg.CustomTypesConfig
  // @keyed none: the keys are connections of the pool
  readonly #prepared = new WeakSet<object>()
  /** The server's time when `performance.now()` was 0: a jump of the clock of this host changes nothing. */
  #origin = Date.now() - performance.now()
  #isClosed = false

  private constructor (driver: typeof pg, { url, pool, schema, maxConnections: max, log }: ConnectionOptions) {
    this.schema = schema
    this.#log = log
    this.#ownsPool = pool === undefined
    const limits = { connectionTimeoutMillis: CONNECT_MS, query_timeout: QUERY_MS, keepAlive: true, application_name: 'polyvac' }
    this.pool = pool as pg.Pool | undefined ?? new driver.Pool({ connectionString: url, max, ...limits })
    this.pool.on('error', this.#lost)
    // Pool and Client read the same options; those of a pool have the password as a hidden property
    const Client = (this.pool as unknown as { Client: typeof pg.Client }).Client ?? driver.Client
    const client = new Client(this.pool.options)
    const { host, port, database = '', user = '', password } = client
    this.#target = { host, port, database, user, password: String(password ?? '') }
    this.#types = { getTypeParser: ((oid: number, format?: 'text') => oid === INT8 ? Number : driver.types.getTypeParser(oid, format)) as pg.CustomTypesConfig['getTypeParser'] }
    this.listener = new Listener(() => new Client({ ...this.pool.options, password: this.#target.password, ...limits }), lockOf(schema), log)
  }

  /** Connects. @throws TASK_STORE_OPTION, TASK_STORE_DATABASE, TASK_STORE_UNAVAILABLE */
  static async open (options: ConnectionOptions): Promise<Connection> {
    const driver = await importDriver()
    let opened: Connection
    try {
      opened = new Connection(driver, options)
    } catch {
      // the driver's error contains the address, and with it the password
      throw new InvalidStoreOptionError('url', 'not an address', 'postgres://user:password@host:port/database')
    }
    try {
      await opened.synchronize()
      return opened
    } catch (error) {
      await opened.close()
      throw opened.explain(error)
    }
  }

  /** An error while the store is opened. */
  explain (error: unknown): unknown { return openError((error as Error).cause ?? error, this.#target) }

  /** The time of the server, in milliseconds since 1970. */
  now (): number { return Math.trunc(this.#origin + performance.now()) }

  /** Reads the server's clock. */
  async synchronize (): Promise<void> {
    const before = performance.now()
    const [row] = await this.run<{ now: number }>('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now')
    const after = performance.now()
    const origin = (row?.now ?? 0) - (before + after) / 2
    // a busy process measures badly; small differences do not matter
    if (Math.abs(origin - this.#origin) > 20 + (after - before)) this.#origin = origin
  }

  /** Name of a table, with the schema. */
  table (name: string): string { return `"${this.schema}".${name}` }

  /** Runs one statement, which is a transaction. @throws TASK_STORE_UNAVAILABLE */
  async run<Row extends object> (sql: string, values: readonly unknown[] = [], name?: string): Promise<Row[]> {
    const held = await this.#take()
    try {
      return await this.#query<Row>(held, sql, values, name)
    } catch (error) {
      // a script of pg-boss begins a transaction itself
      if (values.length === 0) held.broken ??= error as Error
      throw error
    } finally {
      held.client.release(held.broken)
    }
  }

  /** Runs statements in one transaction (READ COMMITTED). @throws TASK_STORE_UNAVAILABLE */
  async transaction<T> (work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const held = await this.#take()
    const { client } = held
    // @keyed none: a list of the causes of one error
    const messages: string[] = []
    let isAbandoned = false
    try {
      await this.#query(held, 'BEGIN ISOLATION LEVEL READ COMMITTED')
      const result = await work({
        run: async (sql, values = [], name) => await this.#query(held, sql, values, name),
        notify: (channel, payload) => {
          messages.push(`pg_notify(${client.escapeLiteral(this.listener.channelOf(channel))}, ${client.escapeLiteral(payload)})`)
        },
        abandon: () => { isAbandoned = true }
      })
      await this.#query(held, isAbandoned ? 'ROLLBACK' : messages.length === 0 ? 'COMMIT' : `SELECT ${messages.join()}; COMMIT`)
      return result
    } catch (error) {
      if (held.broken === undefined) await this.#query(held, 'ROLLBACK').catch((failed: Error) => { held.broken ??= failed })
      throw error
    } finally {
      client.release(held.broken)
    }
  }

  async #query<Row extends object> (held: Held, sql: string, values: readonly unknown[] = [], name?: string): Promise<Row[]> {
    const types = this.#types
    try {
      // a pooler in transaction mode, behind which no message arrives, gives each statement another connection
      const prepared = name === undefined || this.listener.isDeaf ? undefined : `${this.schema} ${name}`
      if (values.length > 0) return (await held.client.query<Row>({ text: sql, values: [...values], types, ...(prepared === undefined ? {} : { name: prepared }) })).rows
      // one result for each statement of a script
      const results = await held.client.query<Row>({ text: sql, types }) as pg.QueryResult<Row> | pg.QueryResult<Row>[]
      return Array.isArray(results) ? results.flatMap(({ rows }) => rows) : results.rows
    } catch (error) {
      if (isBroken(error)) held.broken = error as Error
      throw unavailable(error)
    }
  }

  async #take (): Promise<Held> {
    if (this.#isClosed) throw new StoreClosedError()
    const held: Held = { client: await this.pool.connect().catch((error: unknown) => { throw unavailable(error) }) }
    if (this.#prepared.has(held.client)) return held
    // a connection that ends while it is in use reports that to its query as well
    held.client.on('error', () => {})
    try {
      await this.#query(held, SESSION)
    } catch (error) {
      held.client.release(error as Error)
      throw error
    }
    this.#prepared.add(held.client)
    return held
  }

  readonly #lost = (error: Error): void => { this.#log.debug({ err: error }, 'a connection to the database ended') }

  async close (): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.listener.stop()
    this.pool.off('error', this.#lost)
    // connections that end later
    this.pool.on('error', () => {})
    if (this.#ownsPool) await this.pool.end()
  }
}

/** The class of the advisory locks of a schema. */
function lockOf (schema: string): number {
  return createHash('sha256').update(`polyvac ${schema}`).digest().readInt32BE()
}

async function importDriver (): Promise<typeof pg> {
  try {
    return (await import('pg')).default
  } catch (error) {
    if (!isMissingPackage(error)) throw error
    throw new StoreDatabaseError('PostgreSQL', 'the packages pg and pg-boss are missing; run npm install pg pg-boss@12.35.0')
  }
}
