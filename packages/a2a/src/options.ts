import type { Authenticate, Vacs } from '@polyvac/core'
import type { TaskStore } from '@polyvac/tasks'
import type { SigningKeys } from './push/index.js'

export interface A2aOptions {
  /** The VACs that answer. */
  readonly vacs: Vacs
  /** Where tasks live. The application opens it before, and closes it after the plugin. */
  readonly tasks: TaskStore
  /** Names of the VACs to expose (`a2a_vac_names`). Null or absent: all; an empty list: none. */
  readonly vacNames?: readonly string[] | null | undefined
  /**
   * Names the caller, whose tasks nobody else can see; undefined refuses the request with 401. Default: no check, and all callers are one
   * owner. The agent card stays public.
   */
  readonly authenticate?: Authenticate | undefined
  /** Address under which callers reach the scope of the plugin, for the card. Default: as the request came, forwarded headers only under Fastify's `trustProxy`. */
  readonly publicUrl?: string | undefined
  /** What the card says of the agent. Default name: the VAC's where there is one, else `Polyvac agent`. */
  readonly agent?: { readonly name?: string | undefined, readonly description?: string | undefined, readonly version?: string | undefined } | undefined
  /** How long tasks/send waits for the end, in ms; then it answers with the task as it stands. Default 120,000. */
  readonly sendTimeoutMs?: number | undefined
  /** Total time for an interpreter in ms, where the input does not set `stream_settings.timeout`. Default 120,000. */
  readonly timeoutMs?: number | undefined
  /** Tasks that this process executes at once; more wait in the queue. Default 1,024. */
  readonly concurrency?: number | undefined
  /** Streams that one owner may hold open; one more is refused with 429. Default 10,000. */
  readonly maxStreams?: number | undefined
  /** Longest time in ms that a reader of a stream may take nothing; then it is disconnected, and may resubscribe. Default 60,000. */
  readonly stallMs?: number | undefined
  /** Largest request body in bytes; a larger one is refused with 413. Default 1 MiB. */
  readonly bodyLimit?: number | undefined
  /** Push notifications; false switches them off. Default: on, to public https addresses alone. */
  readonly push?: PushOptions | false | undefined
}

export interface PushOptions {
  /** Receivers beside public ones: host names, `host:port`, or ranges such as `10.0.0.0/8`. Without an entry, loopback and private addresses are refused. */
  readonly allow?: readonly string[] | undefined
  /** The keys that sign deliveries; the first one signs, all are published. Default: one made at start, which receivers have to fetch anew after a restart. */
  readonly keys?: SigningKeys | undefined
  /** Longest time for one delivery in ms. Default 10,000. */
  readonly timeoutMs?: number | undefined
}

/** Defaults of the plugin, read by code, tests and documentation. Times in ms, `waitTime` in seconds as in the contract. */
export const DEFAULTS = {
  sendTimeoutMs: 120_000, timeoutMs: 120_000, concurrency: 1_024, maxStreams: 10_000, stallMs: 60_000, bodyLimit: 1024 * 1024, waitTime: 7, pushTimeoutMs: 10_000
} as const

/** The owner of all tasks where nobody is authenticated. */
export const ANYONE = 'anyone'
