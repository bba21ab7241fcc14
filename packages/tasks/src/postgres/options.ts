import { InvalidStoreOptionError } from '../basics/errors.js'
import { silentLogger, type TaskLogger } from '../basics/logger.js'
import { readNumbers } from '../basics/number-options.js'
import { readOwnerShare } from '../basics/owner-share.js'
import { BOUNDS, LIMIT_NUMBERS, type Bounds, type StoreLimits } from '../store/store-options.js'

const POSTGRES_NUMBERS = {
  ...LIMIT_NUMBERS,
  maxBytes: [16 * 1024 * 1024 * 1024, 1],
  maxConnections: [10, 2]
} as const

/** A `Pool` of the package pg, whose types only applications that use it have. */
export interface PostgresPool {
  readonly options: object
  connect (): Promise<unknown>
}

/** All durations in milliseconds. */
export interface PostgresTaskStoreOptions extends StoreLimits {
  /** `postgres://user:password@host:port/database`. Or give a `pool`. */
  readonly url?: string | undefined
  /** A pool of pg that the store shares and does not end; it sets isolation and timeouts of its connections. */
  readonly pool?: PostgresPool | undefined
  /** Schema of the tables, at most 40 characters; those of pg-boss are in `<schema>_jobs`. Default `polyvac`. */
  readonly schema?: string | undefined
  /** Most connections of the pool for `url`; one more listens for messages. Default 10, at least 2. */
  readonly maxConnections?: number | undefined
}

export type PostgresSettings = ReturnType<typeof postgresSettings>

const SCHEMA = /^[a-z_][a-z0-9_]{0,39}$/

/** @throws TASK_STORE_OPTION */
export function postgresSettings (options: PostgresTaskStoreOptions, bounds: Bounds = BOUNDS) {
  const { url, pool, schema = 'polyvac', log = silentLogger }: PostgresTaskStoreOptions & { log?: TaskLogger | undefined } = options
  if ((url === undefined) === (pool === undefined)) throw new InvalidStoreOptionError('url', 'not the only address', 'either `url` or `pool`')
  if (url !== undefined && (typeof url !== 'string' || !/^postgres(?:ql)?:\/\//.test(url))) {
    // the address may contain a password
    throw new InvalidStoreOptionError('url', 'not an address of PostgreSQL', 'postgres://user:password@host:port/database')
  }
  const max = (pool?.options as { max?: unknown } | undefined)?.max
  if (typeof max === 'number' && max < POSTGRES_NUMBERS.maxConnections[1]) throw new InvalidStoreOptionError('pool.max', String(max), 'at least 2')
  if (typeof schema !== 'string' || !SCHEMA.test(schema) || schema.startsWith('pg_')) {
    throw new InvalidStoreOptionError('schema', `'${String(schema)}'`, '1 to 40 lower-case letters, digits and _, not a digit first, not pg_ at the beginning')
  }
  return { url, pool, schema, log, ...bounds, ...readNumbers(POSTGRES_NUMBERS, options), ownerShare: readOwnerShare(options.ownerShare) }
}
