import { InvalidStoreOptionError } from '../basics/errors.js'
import { silentLogger } from '../basics/logger.js'
import { readNumbers, type NumberRule } from '../basics/number-options.js'
import { readOwnerShare } from '../basics/owner-share.js'
import { BOUNDS, LIMIT_NUMBERS, type Bounds, type StoreLimits } from '../store/store-options.js'

/** Default, smallest and largest value of each option that is a number. */
export const STORE_NUMBERS = {
  ...LIMIT_NUMBERS,
  leaseMs: [10_000, 50],
  maxBytes: [undefined, 1]
} as const satisfies Readonly<Record<string, NumberRule>>

/** What tests change as well: `maxPages` makes a file fail every write as a full disk does. */
export interface SqliteBounds extends Bounds {
  /** Interval in ms of checks for writes of other processes, which take a microsecond. */
  readonly pollMs: number
  /** Most pages of 4 KiB of the file. */
  readonly maxPages?: number
}

export const SQLITE_BOUNDS: SqliteBounds = { ...BOUNDS, pollMs: 50 }

/** Size limits of a store in a file and in memory. */
const FILE_BYTES = 4 * 1024 * 1024 * 1024
const MEMORY_BYTES = 512 * 1024 * 1024

/** Leases are renewed after a third of `leaseMs`, at the latest after this time in ms. */
const MAX_HEARTBEAT_MS = 1_000

/** All durations in milliseconds. */
export interface SqliteTaskStoreOptions extends StoreLimits {
  /** A file, whose folder is created, or `:memory:`. Not on a network drive: SQLite's locks do not work there. */
  readonly path: string
  /** Time after which a task of a process that does not renew its lease is taken over. Default 10 s. */
  readonly leaseMs?: number | undefined
}

export type SqliteSettings = ReturnType<typeof sqliteSettings>

/** @throws TASK_STORE_OPTION */
export function sqliteSettings (options: SqliteTaskStoreOptions, bounds: SqliteBounds) {
  const { path, log = silentLogger } = options
  if (typeof path !== 'string' || path === '') {
    throw new InvalidStoreOptionError('path', String(path), "the path of a file, or ':memory:'")
  }
  const numbers = readNumbers(STORE_NUMBERS, options)
  const heartbeatMs = Math.min(MAX_HEARTBEAT_MS, Math.ceil(numbers.leaseMs / 3))
  const { maxBytes = path === ':memory:' ? MEMORY_BYTES : FILE_BYTES } = numbers
  return { path, log, ...numbers, ...bounds, heartbeatMs, maxBytes, ownerShare: readOwnerShare(options.ownerShare) }
}
