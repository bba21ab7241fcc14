import { InvalidStoreOptionError } from '../errors.js'
import { silentLogger, type TaskLogger } from '../logger.js'

const DEFAULTS = {
  leaseMs: 10_000,
  pollMs: 50,
  claimMs: 250,
  retries: 3,
  ttlMs: 7 * 86_400_000,
  maxTasks: 100_000,
  purgeMs: 60_000,
  maxTaskChars: 64 * 1024 * 1024,
  deadAfterMs: 3 * 86_400_000,
  graceMs: 300
} as const
const MAX_HEARTBEAT_MS = 1_000

/** All durations in milliseconds. */
export interface SqliteTaskStoreOptions {
  /** A file, its folder made if need be, or `:memory:`, which nothing outlives. Not on a network drive: SQLite's locks do not hold there. */
  readonly path: string
  /** How long a task stays with a process that is not heard of. Default 10 s. */
  readonly leaseMs?: number | undefined
  /** How often a lease is renewed. Default a third of `leaseMs`, at most 1 s. */
  readonly heartbeatMs?: number | undefined
  /** How often the writes of other processes are looked for, which costs a microsecond. Default 50. */
  readonly pollMs?: number | undefined
  /** How often leases that ran out, and deliveries that are due, are looked for. Default 250. */
  readonly claimMs?: number | undefined
  /** How many executors a task may cost, by crash or freeze, beyond the first, before it fails. Default 3. */
  readonly retries?: number | undefined
  /** How long ended tasks are kept. Default 7 days. */
  readonly ttlMs?: number | undefined
  /** Tasks in all. The oldest ended ones make room; where none has ended, `create` fails with TASK_TOO_MANY. Default 100,000. */
  readonly maxTasks?: number | undefined
  /** How often ended tasks past `ttlMs` are deleted. Default one minute. */
  readonly purgeMs?: number | undefined
  /** Characters of JSON that the events of one task may have. An endless answer would fill the disk. Default 64 Mi. */
  readonly maxTaskChars?: number | undefined
  /** For how long a failing push config is tried again. Default 3 days. */
  readonly deadAfterMs?: number | undefined
  /** How long `close` and `stop` let aborted handlers finish. Default 300. */
  readonly graceMs?: number | undefined
  /** Pages of 4 KiB that the file may have; past it every write is refused as on a full disk. Default: no limit of its own. */
  readonly maxPages?: number | undefined
  readonly log?: TaskLogger | undefined
}

export type SqliteSettings = Readonly<Required<{ [K in keyof Omit<SqliteTaskStoreOptions, 'maxPages'>]: NonNullable<SqliteTaskStoreOptions[K]> }>> &
  { readonly maxPages: number | undefined }

export function sqliteSettings (options: SqliteTaskStoreOptions): SqliteSettings {
  const { path, log = silentLogger, maxPages } = options
  if (typeof path !== 'string' || path === '') throw new InvalidStoreOptionError('path', String(path), "the path of a file, or ':memory:'")
  const check = (name: keyof SqliteTaskStoreOptions, value: unknown, least: number): number => {
    if (typeof value !== 'number' || !(value >= least)) throw new InvalidStoreOptionError(name, String(value), `a number of at least ${least}`)
    return value
  }
  const number = (name: keyof typeof DEFAULTS, least = 1): number => check(name, options[name] ?? DEFAULTS[name], least)
  const leaseMs = number('leaseMs', 50)
  return {
    path,
    log,
    leaseMs,
    heartbeatMs: check('heartbeatMs', options.heartbeatMs ?? Math.min(MAX_HEARTBEAT_MS, Math.ceil(leaseMs / 3)), 1),
    pollMs: number('pollMs'),
    claimMs: number('claimMs'),
    retries: number('retries', 0),
    ttlMs: number('ttlMs', 0),
    maxTasks: number('maxTasks'),
    purgeMs: number('purgeMs', 10),
    maxTaskChars: number('maxTaskChars'),
    deadAfterMs: number('deadAfterMs', 0),
    graceMs: number('graceMs', 0),
    maxPages: maxPages === undefined ? undefined : check('maxPages', maxPages, 1)
  }
}
