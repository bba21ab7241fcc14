import { GatewayOptionsError } from './errors.js'
import type { McpServerConfig } from '@polyvac/core'

/** The part of a pino logger that the gateway needs. */
export interface Log {
  debug (obj: object, message?: string): void
  info (obj: object, message?: string): void
  warn (obj: object, message?: string): void
  error (obj: object, message?: string): void
}

export interface GatewayOptions {
  /** The servers: the list of the service description, or the `mcpServers` map of other tools. */
  readonly servers: readonly McpServerConfig[] | Readonly<Record<string, McpServerConfig>>
  /** `none`: a server whose entry names neither `env` nor `inherit_env` gets the safe list alone. Default `all`. */
  readonly inheritEnv?: 'all' | 'none' | undefined
  /** Variables that such an entry never inherits: the service's own secrets. Default: `POLYVAC_*`, `DATABASE_URL`, `PGPASSWORD`, and these. */
  readonly secretEnv?: readonly string[] | undefined
  /** The environment to inherit from. Default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Folder in which commands run, and to which `cwd` is relative. Default: the working directory. */
  readonly folder?: string | undefined
  readonly log?: Log | undefined
  /** Longest time in ms without an answer or progress of a call; an entry's `timeout` outranks it. Default 60,000. */
  readonly callTimeoutMs?: number | undefined
  /** Longest time in ms for a call, progress or not: a server that reports progress for ever would hold its place for ever. Default 3,600,000. */
  readonly maxCallMs?: number | undefined
  /** Time in ms for a server to start, its download by `npx` included. Default 60,000. */
  readonly startTimeoutMs?: number | undefined
  /** How long a request waits in ms for a server that is just starting. Default 10,000. */
  readonly readyWaitMs?: number | undefined
  /** How long a list of all servers waits in ms for one of them; then it is left out. Default 5,000. */
  readonly listWaitMs?: number | undefined
  /** Longest message read from a server, in bytes: one that prints without end would take the memory. Past this, that call fails alone. Default 32 MiB. */
  readonly maxMessageBytes?: number | undefined
  /** Calls of one server at once; one more is refused with 503. Default 1,000. */
  readonly maxInFlight?: number | undefined
  /** Last lines of a server's stderr that are kept. Default 20. */
  readonly stderrLines?: number | undefined
  /** Wait in ms before the first restart; it doubles with each failure. Default 250. */
  readonly restartDelayMs?: number | undefined
  /** Longest wait in ms before a restart. Default 60,000. */
  readonly restartDelayMaxMs?: number | undefined
  /** Silence in ms after which a server without calls is pinged. Default 30,000. */
  readonly pingIntervalMs?: number | undefined
  /** Time in ms for the answer to a ping. Default 10,000. */
  readonly pingTimeoutMs?: number | undefined
  /** How long in ms a list is believed of a server that tells no changes. Default 60,000. */
  readonly listTtlMs?: number | undefined
  /** How long in ms a question of a server to a caller stays open. Default 600,000. */
  readonly questionTtlMs?: number | undefined
  /** Questions open at once; one more is declined. Default 100. */
  readonly maxQuestions?: number | undefined
  /** Key that signs `requestState`, 32 bytes or more. Default: one made at start. */
  readonly stateKey?: Buffer | string | undefined
}

/** Defaults of the gateway, read by code, tests and documentation. */
export const DEFAULTS = {
  callTimeoutMs: 60_000,
  maxCallMs: 3_600_000,
  startTimeoutMs: 60_000,
  readyWaitMs: 10_000,
  listWaitMs: 5_000,
  maxMessageBytes: 32 * 1024 * 1024,
  maxInFlight: 1_000,
  stderrLines: 20,
  restartDelayMs: 250,
  restartDelayMaxMs: 60_000,
  pingIntervalMs: 30_000,
  pingTimeoutMs: 10_000,
  listTtlMs: 60_000,
  questionTtlMs: 600_000,
  maxQuestions: 100,
  bodyLimit: 1024 * 1024
} as const

export type Limits = { readonly [K in keyof typeof DEFAULTS]: number }

/** Longest time in ms that a timer of Node.js can wait. */
const MAX_MS = 2 ** 31 - 1

/** @throws MCP_GATEWAY_OPTIONS */
export function limitsOf (options: Partial<Limits> | GatewayOptions): Limits {
  const given = Object.entries(options).filter(([key, value]) => key in DEFAULTS && value !== undefined)
  for (const [key, value] of given) {
    if (!Number.isSafeInteger(value) || value <= 0) throw new GatewayOptionsError(`${key} must be a whole number above 0; it is ${String(value)}`)
    if (key.endsWith('Ms') && value > MAX_MS) throw new GatewayOptionsError(`${key} must be at most ${MAX_MS}; it is ${String(value)}`)
  }
  return { ...DEFAULTS, ...Object.fromEntries(given) as Partial<Limits> }
}
