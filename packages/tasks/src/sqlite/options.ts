import { InvalidStoreOptionError } from '../errors.js'
import { silentLogger, type TaskLogger } from '../logger.js'
import { readNumbers, type NumberRule } from '../number-options.js'

/** Ages, for which no timer waits, may be longer than a timer can wait: 100 years. */
const MAX_AGE_MS = 100 * 365 * 86_400_000

/** Default, smallest and largest value of each option that is a number. */
export const STORE_NUMBERS = {
  leaseMs: [10_000, 50],
  heartbeatMs: [undefined, 1],
  pollMs: [50, 1],
  claimMs: [250, 1],
  retries: [3, 0],
  ttlMs: [7 * 86_400_000, 0, MAX_AGE_MS],
  inputTtlMs: [86_400_000, 0, MAX_AGE_MS],
  maxTasks: [100_000, 1],
  maxBytes: [undefined, 1],
  purgeMs: [60_000, 10],
  maxTaskChars: [64 * 1024 * 1024, 1],
  deadAfterMs: [3 * 86_400_000, 0, MAX_AGE_MS],
  graceMs: [300, 0],
  maxPages: [undefined, 1]
} as const satisfies Readonly<Record<string, NumberRule>>

/** Size limits of a store in a file and in memory. */
const FILE_BYTES = 4 * 1024 * 1024 * 1024
const MEMORY_BYTES = 512 * 1024 * 1024
const TASKS_AT_ONCE = 16
const ATTEMPT_MS = 3_600_000
const DELIVERIES_AT_ONCE = 16
const DELIVERY_MS = 30_000

/** The same for `WorkOptions` and `DeliverOptions`. */
export const WORK_NUMBERS = { concurrency: [TASKS_AT_ONCE, 1], timeoutMs: [ATTEMPT_MS, 1], inputMs: [undefined, 0, MAX_AGE_MS], ownerConcurrency: [undefined, 1] } as const
export const DELIVER_NUMBERS = { concurrency: [DELIVERIES_AT_ONCE, 1], timeoutMs: [DELIVERY_MS, 1] } as const

const MAX_HEARTBEAT_MS = 1_000

/** All durations in milliseconds. */
export interface SqliteTaskStoreOptions {
  /** A file, whose folder is created, or `:memory:`. Not on a network drive: SQLite's locks do not work there. */
  readonly path: string
  /** Time after which a task of a process that does not renew its lease is taken over. Default 10 s. */
  readonly leaseMs?: number | undefined
  /** Interval at which leases are renewed. Default a third of `leaseMs`, at most 1 s. */
  readonly heartbeatMs?: number | undefined
  /** Interval of checks for writes of other processes, which take a microsecond. Default 50. */
  readonly pollMs?: number | undefined
  /** Interval of checks for expired leases and due deliveries. Default 250. */
  readonly claimMs?: number | undefined
  /** Executors that may crash or freeze over one task, beyond the first, before it fails. Default 3. */
  readonly retries?: number | undefined
  /** How long a task may wait for its caller or for a worker, then it fails. Default one day. */
  readonly inputTtlMs?: number | undefined
  /** How long ended tasks are kept. Default 7 days. */
  readonly ttlMs?: number | undefined
  /**
   * Most tasks in the store, of which one owner may have a quarter. The oldest ended ones are deleted for new ones: of
   * the same owner at its share, of the owner with most tasks in a full store. Where none has ended, `create` fails
   * with TASK_TOO_MANY. Default 100,000.
   */
  readonly maxTasks?: number | undefined
  /**
   * Most bytes of the tasks, without the write-ahead log; one owner may have about a quarter. From 90 % on, ended tasks
   * of the owner with most are deleted; where none has ended, writes fail with TASK_STORE_FULL. Default 4 GiB, in
   * memory 512 MiB.
   */
  readonly maxBytes?: number | undefined
  /** Interval at which ended tasks past `ttlMs` are deleted. Default one minute. */
  readonly purgeMs?: number | undefined
  /** Most characters of JSON in the events of one task: an endless answer would fill the disk. Default 64 Mi. */
  readonly maxTaskChars?: number | undefined
  /** Time for which deliveries to a failing push config are retried. Default 3 days. */
  readonly deadAfterMs?: number | undefined
  /** Time that `close` and `stop` give aborted handlers to finish. Default 300. */
  readonly graceMs?: number | undefined
  /** Most pages of 4 KiB of the file; past it every write fails as on a full disk. Default: no limit. */
  readonly maxPages?: number | undefined
  readonly log?: TaskLogger | undefined
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
  return { path, log, ...numbers, heartbeatMs, maxBytes }
}
