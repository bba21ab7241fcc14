import { InvalidStoreOptionError } from '../basics/errors.js'
import { silentLogger } from '../basics/logger.js'
import { readNumbers, type NumberRule } from '../basics/number-options.js'
import { readOwnerShare } from '../basics/owner-share.js'
import { LIMIT_NUMBERS, type StoreLimits } from '../store/store-options.js'

/** Default, smallest and largest value of each option that is a number. */
export const STORE_NUMBERS = {
  ...LIMIT_NUMBERS,
  leaseMs: [10_000, 50],
  heartbeatMs: [undefined, 1],
  pollMs: [50, 1],
  maxBytes: [undefined, 1],
  maxPages: [undefined, 1]
} as const satisfies Readonly<Record<string, NumberRule>>

/** Size limits of a store in a file and in memory. */
const FILE_BYTES = 4 * 1024 * 1024 * 1024
const MEMORY_BYTES = 512 * 1024 * 1024

const MAX_HEARTBEAT_MS = 1_000

/** All durations in milliseconds. */
export interface SqliteTaskStoreOptions extends StoreLimits {
  /** A file, whose folder is created, or `:memory:`. Not on a network drive: SQLite's locks do not work there. */
  readonly path: string
  /** Time after which a task of a process that does not renew its lease is taken over. Default 10 s. */
  readonly leaseMs?: number | undefined
  /** Interval at which leases are renewed. Default a third of `leaseMs`, at most 1 s. */
  readonly heartbeatMs?: number | undefined
  /** Interval of checks for writes of other processes, which take a microsecond. Default 50. */
  readonly pollMs?: number | undefined
  /** Most pages of 4 KiB of the file; past it every write fails as on a full disk. Default: no limit. */
  readonly maxPages?: number | undefined
}

export type SqliteSettings = ReturnType<typeof sqliteSettings>

/** @throws TASK_STORE_OPTION */
export function sqliteSettings (options: SqliteTaskStoreOptions) {
  const { path, log = silentLogger } = options
  if (typeof path !== 'string' || path === '') {
    throw new InvalidStoreOptionError('path', String(path), "the path of a file, or ':memory:'")
  }
  const numbers = readNumbers(STORE_NUMBERS, options)
  const { leaseMs, heartbeatMs = Math.min(MAX_HEARTBEAT_MS, Math.ceil(leaseMs / 3)) } = numbers
  const { maxBytes = path === ':memory:' ? MEMORY_BYTES : FILE_BYTES } = numbers
  return { path, log, ...numbers, heartbeatMs, maxBytes, ownerShare: readOwnerShare(options.ownerShare) }
}
