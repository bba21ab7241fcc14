import type { Authenticate, Principal, Vacs } from '@polyvac/core'
import {
  BODY_BYTES, callback, flag, integer, isRecord, milliseconds, oneOf, optional, required, text, texts, withMethod, type OptionRules
} from '@polyvac/core/plugin'
import type { TaskStore } from '@polyvac/tasks'
import type { AgentExtension } from './protocol/extensions.js'
import { PUSH_TIMEOUT_MS } from './push/deliver.js'
import type { PushKeys } from './push/signing-keys.js'

type Card = Record<string, unknown>
type ExtendCard = (card: Card, principal: Principal) => Card | undefined

export interface A2aOptions {
  /** The VACs that answer. */
  readonly vacs: Vacs
  /** The store of the tasks. The application opens it before, and closes it after the plugin. */
  readonly tasks: TaskStore
  /** False: contexts are not kept as conversations that other protocols go on with. Default true. */
  readonly conversations?: boolean | undefined
  /** Names of the VACs to expose (`a2a_vac_names`). Null or absent: all; an empty list: none. */
  readonly vacNames?: readonly string[] | null | undefined
  /**
   * Names the caller, the only one who sees its tasks; undefined refuses the request with 401. Default: no check, and
   * all callers are one owner. The agent card stays public.
   */
  readonly authenticate?: Authenticate | undefined
  /**
   * Address under which callers reach the scope of the plugin, for the card. Default: the address of the request, with
   * forwarded headers only under Fastify's `trustProxy`.
   */
  readonly publicUrl?: string | undefined
  /** Path of an MCP server of the same application, such as `/mcp`, for the catalog of agents. Default: none. */
  readonly mcpPath?: string | undefined
  /** Facts of the agent for the card. Default name: that of the only VAC; with several, `Polyvac agent`. */
  readonly agent?: {
    readonly name?: string | undefined
    readonly description?: string | undefined
    readonly version?: string | undefined
  } | undefined
  /**
   * The VAC that answers messages of A2A 0.3 and 1.0 that name none. Default: the only one; with several, such a
   * message is refused.
   */
  readonly defaultVac?: string | undefined
  /**
   * Media types of parts that A2A 0.3 and 1.0 accept, also ranges such as `image/*`; a part of another type is refused.
   * Default: text, JSON, PDF, and common images.
   */
  readonly inputModes?: readonly string[] | undefined
  /** False: A2A 0.3 and 1.0 offer no streams. Default true. */
  readonly streaming?: boolean | undefined
  /** Extensions that the cards list besides Polyvac's own. A client that does not name a required one is refused. */
  readonly extensions?: readonly AgentExtension[] | undefined
  /** The address of gRPC for the cards of 1.0, `host:port` as clients dial it. Default: none is listed. */
  readonly grpcUrl?: string | undefined
  /**
   * The card of `/.well-known/agent-card.json` for a client that names no A2A-Version: one for 0.3 and 1.0 together, or
   * the strict one of 1.0. Default `both`.
   */
  readonly unnamedCard?: 'both' | '1.0' | undefined
  /**
   * True: the cards of 1.0 are signed with the keys of `push`. Default: if `push.keys` is set, as such keys outlive a
   * restart.
   */
  readonly signCards?: boolean | undefined
  /**
   * Makes the card of an authenticated caller from the public one; undefined: there is none for this caller. Needs
   * `authenticate`.
   */
  readonly extendedCard?: ExtendCard | undefined
  /**
   * Whether the root of the scope takes JSON-RPC too: clients of A2A 0.2 send it to the card's `url`. Default: only
   * under a prefix, since the root of a host may be taken.
   */
  readonly rootRpc?: boolean | undefined
  /**
   * How long tasks/send waits for the end, in ms; then it answers with the present state of the task. Default 120,000.
   */
  readonly sendTimeoutMs?: number | undefined
  /** Total time for an interpreter in ms, where the input does not set `stream_settings.timeout`. Default 120,000. */
  readonly timeoutMs?: number | undefined
  /**
   * Tasks that this process executes at once, a quarter of them of one owner; more wait in the queue. Default 1,024.
   */
  readonly concurrency?: number | undefined
  /**
   * Streams that one owner may hold open; one more is refused with 429. All owners together may hold four times as
   * many. Default 10,000.
   */
  readonly maxStreams?: number | undefined
  /**
   * Longest time in ms that a reader of a stream may take nothing; then it is disconnected, and may resubscribe.
   * Default 60,000.
   */
  readonly stallMs?: number | undefined
  /** Largest request body in bytes; a larger one is refused with 413. Default 4 MiB. */
  readonly bodyLimit?: number | undefined
  /** False: the routes are hidden from the OpenAPI document of @fastify/swagger. Default true. */
  readonly openapi?: boolean | undefined
  /** Push notifications; false switches them off. Default: on, only to public https addresses. */
  readonly push?: PushOptions | false | undefined
}

export interface PushOptions {
  /**
   * Receivers besides public ones: host names, `host:port`, or ranges such as `10.0.0.0/8`. Without an entry, loopback
   * and private addresses are refused.
   */
  readonly allow?: readonly string[] | undefined
  /**
   * The keys that sign deliveries; the first one signs, all are published. Default: a key made at the start, which
   * receivers have to fetch again after a restart.
   */
  readonly keys?: PushKeys | undefined
  /** Longest time for one delivery in ms. Default 10,000. */
  readonly timeoutMs?: number | undefined
}

/** The default of `inputModes`. Other types are refused rather than passed to an interpreter that cannot read them. */
const INPUT_MODES: readonly string[] = [
  'text/plain', 'text/markdown', 'text/html', 'text/csv', 'application/json', 'application/pdf',
  'image/png', 'image/jpeg', 'image/webp', 'image/gif'
]

/** Types, bounds and defaults of the options. */
export const OPTIONS = {
  vacs: required(withMethod('get', 'what createVacs() returns')),
  tasks: required(withMethod('create', 'an open task store, such as sqliteTaskStore({ path })')),
  conversations: flag(true),
  vacNames: optional('a list of names, or null', value => value === null || texts().accepts(value)),
  authenticate: callback(),
  publicUrl: text(),
  mcpPath: text(),
  agent: optional<NonNullable<A2aOptions['agent']>>('an object with `name`, `description` or `version`', isRecord, {}),
  defaultVac: text(),
  inputModes: texts(INPUT_MODES),
  streaming: flag(true),
  extensions: optional<readonly AgentExtension[]>('a list of extensions, each with its `uri`', areExtensions, []),
  grpcUrl: text(),
  unnamedCard: oneOf(['both', '1.0'], 'both'),
  signCards: flag(),
  extendedCard: callback(),
  rootRpc: flag(),
  sendTimeoutMs: milliseconds(120_000),
  timeoutMs: milliseconds(120_000),
  concurrency: integer(1_024),
  maxStreams: integer(10_000),
  stallMs: milliseconds(60_000),
  bodyLimit: integer(BODY_BYTES),
  openapi: flag(true),
  push: optional<PushOptions | false>('an object of options, or false', value => value === false || isRecord(value), {})
} satisfies OptionRules<A2aOptions>

export const PUSH_OPTIONS = {
  allow: texts([]),
  keys: withMethod('publicJwks', 'what openSigningKeys() resolves to, or SharedSigningKeys'),
  timeoutMs: milliseconds(PUSH_TIMEOUT_MS)
} satisfies OptionRules<PushOptions>

/**
 * Longest pause of a stream without a byte, in seconds, unless `stream_settings.wait_time` sets it (contract, section
 * 3).
 */
export const STREAM_WAIT_TIME = 7

function areExtensions (value: unknown): boolean {
  return Array.isArray(value) && value.every((item: Partial<AgentExtension> | null) => typeof item?.uri === 'string')
}
