import type { ApprovalRecords, Log, McpServerConfig } from '@polyvac/core'
import {
  integer, isRecord, isStateKey, milliseconds, oneOf, optional, readOptions, required, silentLog, text, texts, withMethod, type OptionRule, type OptionRules,
  type ReadOptions
} from '@polyvac/core/plugin'
import { GatewayOptionsError } from './errors.js'
import type { SignInOptions } from './sign-in-options.js'

export interface GatewayOptions {
  /** The servers: a list of entries with a `name`, or the `mcpServers` map of other tools. */
  readonly servers: readonly McpServerConfig[] | Readonly<Record<string, McpServerConfig>>
  /** `none`: a server whose entry has neither `env` nor `inherit_env` gets only the safe list. Default `all`. */
  readonly inheritEnv?: 'all' | 'none' | undefined
  /**
   * Variables that such an entry does not inherit, besides `POLYVAC_*`, `DATABASE_URL` and `PGPASSWORD`: secrets of the
   * service. Default: none.
   */
  readonly secretEnv?: readonly string[] | undefined
  /** The environment that servers inherit. Default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Folder in which commands run, and to which `cwd` is relative. Default: the working directory. */
  readonly folder?: string | undefined
  readonly log?: Log | undefined
  /**
   * Longest time in ms of a call without a response or progress; `timeout` of an entry takes precedence. Default
   * 60,000.
   */
  readonly callTimeoutMs?: number | undefined
  /** Time in ms for a server to start, its download by `npx` included. Default 60,000. */
  readonly startTimeoutMs?: number | undefined
  /** Longest wait of a request in ms for a server that is starting. Default 10,000. */
  readonly readyWaitMs?: number | undefined
  /**
   * Longest message of a server in bytes: output without end would exhaust the memory, and parsing a long message
   * blocks the event loop. A longer message, or one with more values than one for 40 of these bytes, fails only its own
   * call. Default 8 MiB.
   */
  readonly maxMessageBytes?: number | undefined
  /**
   * Calls of one server in flight; one owner may have a quarter of them. Further calls of owners wait in turn, as many
   * again; then they are refused with 503. Default 1,000.
   */
  readonly maxInFlight?: number | undefined
  /**
   * Key that signs `requestState`, 32 bytes or more. Default: a random key of this process. A function is called at
   * each use.
   */
  readonly stateKey?: Buffer | string | (() => Buffer | string) | undefined
  /**
   * Sign-ins of owners to servers with `per_owner`, and to agents: where tokens are kept, their key, and the address
   * for browsers.
   */
  readonly signIn?: SignInOptions | undefined
  /** Where approvals are kept: `approvals` of a task store. Servers with `approve` need it. */
  readonly approvals?: ApprovalRecords | undefined
}

/** Defaults of the numbers that are options. */
export const DEFAULTS = {
  callTimeoutMs: 60_000,
  startTimeoutMs: 60_000,
  readyWaitMs: 10_000,
  maxMessageBytes: 8 * 1024 * 1024,
  maxInFlight: 1_000
} as const

/** The other bounds: tests reach them with `gatewayWith`. */
export const BOUNDS = {
  /**
   * Longest time in ms of a call, regardless of progress, which a server could report without end; `total_timeout` of
   * an entry takes precedence.
   */
  maxCallMs: 3_600_000,
  /**
   * Longest wait of a list of all servers in ms for one of them; then that one is left out. `list_timeout` of an entry
   * takes precedence.
   */
  listWaitMs: 5_000,
  /** Last lines of a server's stderr that are kept. */
  stderrLines: 20,
  /** Delay in ms before the first restart; it doubles with each failure. */
  restartDelayMs: 250,
  /** Longest delay in ms before a restart. */
  restartDelayMaxMs: 60_000,
  /** Silence in ms after which a server without calls is pinged. */
  pingIntervalMs: 30_000,
  /** Longest wait in ms for the response to a ping. */
  pingTimeoutMs: 10_000,
  /** Time in ms after which a list expires, if its server does not notify of changes. */
  listTtlMs: 60_000,
  /** Time in ms that a question of a tool to its caller stays open. */
  questionTtlMs: 600_000,
  /** Questions that are open at once, a quarter of them of one owner; one more is declined. */
  maxQuestions: 100
}

export type Bounds = { readonly [Name in keyof typeof BOUNDS]: number }

/** All of them. */
export type Limits = { readonly [Name in keyof typeof DEFAULTS]: number } & Bounds

const LIMIT_RULES = Object.fromEntries(Object.entries(DEFAULTS).map(([name, value]) => [name, name.endsWith('Ms') ? milliseconds(value) : integer(value)])) as
  { readonly [Name in keyof typeof DEFAULTS]: OptionRule<number> }

/** The servers of a gateway. */
export const SERVERS = optional('a list of MCP servers, or a map of them by name', value => typeof value === 'object' && value !== null)

export const GATEWAY_RULES = {
  servers: required(SERVERS),
  inheritEnv: oneOf(['all', 'none'], 'all'),
  secretEnv: texts([]),
  env: optional('an object of variables', value => typeof value === 'object' && value !== null, process.env),
  folder: text('.'),
  log: optional<Log>('a logger, such as that of Fastify', value => typeof (value as Log | null)?.info === 'function', silentLog),
  stateKey: optional('a text, a Buffer or a function', isStateKey),
  signIn: optional<SignInOptions>('an object with store, key and url; the key has 32 bytes or more', isSignIn),
  approvals: withMethod('create', 'the `approvals` of a task store'),
  ...LIMIT_RULES
} satisfies OptionRules<GatewayOptions>

function isSignIn (value: unknown): boolean {
  const { key } = (value ?? {}) as SignInOptions
  return isRecord(value) && (key === undefined || Buffer.byteLength(key) >= 32)
}

/** @throws MCP_GATEWAY_OPTIONS */
export function readGatewayOptions (options: GatewayOptions): ReadOptions<GatewayOptions, typeof GATEWAY_RULES> {
  return readOptions(GATEWAY_RULES, options, GatewayOptionsError, 'createGateway')
}
