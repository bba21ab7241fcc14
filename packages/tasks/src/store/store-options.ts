import type { TaskLogger } from '../basics/logger.js'
import type { NumberRule } from '../basics/number-options.js'

/** Ages, for which no timer waits, may be longer than a timer can wait: 100 years. */
const MAX_AGE_MS = 100 * 365 * 86_400_000

/** Default, smallest and largest value of each option of all stores that is a number. */
export const LIMIT_NUMBERS = {
  retries: [3, 0],
  ttlMs: [7 * 86_400_000, 0, MAX_AGE_MS],
  inputTtlMs: [86_400_000, 0, MAX_AGE_MS],
  maxTasks: [100_000, 1],
  maxTaskChars: [64 * 1024 * 1024, 1],
  deadAfterMs: [3 * 86_400_000, 0, MAX_AGE_MS],
  conversationTtlMs: [30 * 86_400_000, 0, MAX_AGE_MS],
  maxConversations: [10_000, 1],
  maxConversationBytes: [256 * 1024 * 1024, 1],
  maxTurns: [1_000, 1]
} as const satisfies Readonly<Record<string, NumberRule>>

/** Intervals and times of all stores in ms. Tests reach them with `sqliteStoreWith` and `postgresStoreWith`. */
export const BOUNDS = {
  /** Interval of checks for waiting tasks and due deliveries. */
  claimMs: 250,
  /** Interval at which ended tasks past `ttlMs` are deleted. */
  purgeMs: 60_000,
  /** Time that `close` and `stop` give aborted handlers to finish. */
  graceMs: 300
}

export type Bounds = { readonly [Name in keyof typeof BOUNDS]: number }

const TASKS_AT_ONCE = 16
const ATTEMPT_MS = 3_600_000
const DELIVERIES_AT_ONCE = 16
const DELIVERY_MS = 30_000

/** The same for `WorkOptions` and `DeliverOptions`. */
export const WORK_NUMBERS = { concurrency: [TASKS_AT_ONCE, 1], timeoutMs: [ATTEMPT_MS, 1], inputMs: [undefined, 0, MAX_AGE_MS], ownerConcurrency: [undefined, 1] } as const
export const DELIVER_NUMBERS = { concurrency: [DELIVERIES_AT_ONCE, 1], timeoutMs: [DELIVERY_MS, 1] } as const

/** Options of all stores. All durations in milliseconds. */
export interface StoreLimits {
  /** Executors that may crash or freeze over one task, beyond the first, before it fails. Default 3. */
  readonly retries?: number | undefined
  /** How long a task may wait for its caller or for a worker, then it fails. Default one day. */
  readonly inputTtlMs?: number | undefined
  /** How long ended tasks are kept. Default 7 days. */
  readonly ttlMs?: number | undefined
  /**
   * Most tasks in the store, of which one owner may have its share. The oldest ended ones are deleted for new ones: of
   * the same owner at its share, of the owner with most tasks in a full store. Where none has ended, `create` fails
   * with TASK_TOO_MANY. Default 100,000.
   */
  readonly maxTasks?: number | undefined
  /**
   * Most bytes of the tasks, without the write-ahead log; one owner may have about its share. From 90 % on, ended tasks
   * of the owner with most are deleted; where none has ended, writes fail with TASK_STORE_FULL. Default 4 GiB in a
   * file, 512 MiB in memory, 16 GiB in PostgreSQL.
   */
  readonly maxBytes?: number | undefined
  /** Part of the tasks, the space, the executors and the deliveries that one owner may have, above 0. Default 0.25. */
  readonly ownerShare?: number | undefined
  /** Most characters of JSON in the events of one task: an endless answer would fill the disk. Default 64 Mi. */
  readonly maxTaskChars?: number | undefined
  /** Time for which deliveries to a failing push config are retried. Default 3 days. */
  readonly deadAfterMs?: number | undefined
  /** How long a conversation is kept after its last question or answer. Default 30 days. */
  readonly conversationTtlMs?: number | undefined
  /** Most conversations of one owner; for a new one, the one without a question for longest leaves. Default 10,000. */
  readonly maxConversations?: number | undefined
  /** Most bytes of the conversations of one owner, about; the same ones leave. Default 256 MiB. */
  readonly maxConversationBytes?: number | undefined
  /** Most turns of a conversation; for a new one, the first leaves. Default 1,000. */
  readonly maxTurns?: number | undefined
  readonly log?: TaskLogger | undefined
}
