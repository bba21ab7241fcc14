import type { Authenticate } from '@polyvac/core'
import {
  BODY_BYTES, callback, flag, integer, isRecord, isStateKey, milliseconds, optional, required, text, texts, withMethod,
  type OptionRules, VERSION
} from '@polyvac/core/plugin'
import type { TaskStore } from '@polyvac/tasks'
import type { ToolSearchOptions } from './lists/tool-search.js'
import type { ProtectedResource } from './protected-resource.js'
import type { ToolSource } from './tool-source.js'

export interface McpServerOptions {
  /** The sources of tools, resources and prompts, in the order in which they are listed. */
  readonly sources: readonly ToolSource[]
  /** The server's name for clients. Default `polyvac`. */
  readonly name?: string | undefined
  /** The server's name for people. */
  readonly title?: string | undefined
  /** Default: the version of this package. */
  readonly version?: string | undefined
  /** Instructions for language models about the tools as a whole. */
  readonly instructions?: string | undefined
  /** Identifies the caller; undefined refuses the request with 401. Default: the plugin does not check. */
  readonly authenticate?: Authenticate | undefined
  /** How callers get a token: served at /.well-known/oauth-protected-resource and named in each 401. */
  readonly protectedResource?: ProtectedResource | undefined
  /**
   * Host names in requests that are allowed, without the port. The check keeps web pages from reaching a server on the
   * reader's machine (DNS rebinding). Default: the names of this machine while the application listens on a loopback
   * address, and all names otherwise.
   */
  readonly allowedHosts?: readonly string[] | undefined
  /** The public address of the server, behind a proxy: its host and its pages are allowed, too. */
  readonly publicUrl?: string | undefined
  /**
   * Origins of web pages that may call, such as `https://app.example.com`. Default: pages of this machine while the
   * application listens on a loopback address, and all origins otherwise.
   */
  readonly allowedOrigins?: readonly string[] | undefined
  /**
   * Whether clients up to 2025-11-25 get a session: questions, resumable streams, resource subscriptions and log levels
   * need one. Without sessions, or with `tasks` in PostgreSQL and a `stateKey`, any process can answer each of their
   * requests. Default true.
   */
  readonly sessions?: boolean | undefined
  /**
   * Signs `requestState` (2026-07-28), and ids of sessions that replicas share; 32 bytes or more. All replicas need the
   * same key. Default: random. A function is called at each use.
   */
  readonly stateKey?: Buffer | string | (() => Buffer | string) | undefined
  /**
   * Lets tools with `taskSupport` run as tasks: an open store, such as sqliteTaskStore({ path }). It may hold other
   * tasks, since these have their own queue. The application closes it.
   */
  readonly tasks?: TaskStore | undefined
  /**
   * Hides the tools of gateways from callers who have more than `above` of them, behind `search_tools` and `call_tool`:
   * `{ above: 40, indexTools }`, with `indexTools` of @polyvac/documents. Calls may use their names. Default: all tools
   * are in lists.
   */
  readonly toolSearch?: ToolSearchOptions | undefined
  /** Whether OpenAPI documents of the application, of @fastify/swagger for example, have the routes. Default true. */
  readonly openapi?: boolean | undefined
  /** Largest request body in bytes; a larger one is refused with 413. Default 4 MiB. */
  readonly bodyLimit?: number | undefined
  /** Bounds that differ from the defaults. */
  readonly limits?: Partial<PublicLimits> | undefined
}

/**
 * The bounds that `limits` changes, with their defaults. Ages, which are not the delay of a timer, may exceed 2^31 - 1.
 */
export const LIMITS = {
  /**
   * Sessions at once, a quarter of them of one owner. At the limit the owner's own session that is idle longest ends;
   * if none is idle, 503.
   */
  maxSessions: integer(10_000),
  /** Time without a request or an open stream after which a session ends, in ms. */
  sessionTtlMs: milliseconds(30 * 60_000),
  /** Streams without a call at once, a quarter of one owner: GET and `subscriptions/listen`. At the limit 503. */
  maxStreams: integer(1_000),
  /** Time in which the client of a session answers a question, in ms. */
  questionTtlMs: milliseconds(10 * 60_000),
  /** Tasks executed at once, a quarter of them of one owner. */
  taskConcurrency: integer(64),
  /** Longest time of one run of a task, in ms. */
  taskTimeoutMs: milliseconds(60 * 60_000),
  /** Time that a task waits for an answer of its caller, in ms; then it fails. */
  taskInputMs: integer(60 * 60_000),
  /** Time that a task is kept, as reported to callers, in ms; the store must keep it as long. */
  taskTtlMs: integer(60 * 60_000)
}

/** The other bounds: tests reach them with `pluginWith`. */
export const BOUNDS = {
  /** Events of one stream that are kept for clients that resume it. */
  maxStreamEvents: 500,
  /** Events of all streams that are kept. */
  maxEvents: 20_000,
  /** Text of all kept events, in characters. */
  maxEventChars: 32 * 1024 * 1024,
  /** Messages of one JSON-RPC batch (2025-03-26). */
  maxBatch: 50,
  /** Calls in progress of one session. */
  maxSessionCalls: 100,
  /** Questions in one call to `ask`, and open questions of a session. */
  maxQuestions: 20,
  /** Open questions of all sessions, a quarter of them of one owner. */
  maxOpenQuestions: 1_000,
  /** Resources to which one session or listen stream may subscribe. */
  maxSubscriptions: 100,
  /** Time that a `requestState` is valid, in ms. */
  stateTtlMs: 15 * 60_000,
  /** Longest `requestState`, in characters: it contains earlier answers of the same call. */
  maxStateChars: 256 * 1024,
  /** Interval in which callers poll a task, as reported to them, in ms. */
  taskPollMs: 1_000,
  /** Entries of one page of a list. */
  pageSize: 500,
  /** Time for which clients of 2026-07-28 may cache a list, in ms; changes are notified. */
  listTtlMs: 60_000
}

export type PublicLimits = { readonly [Name in keyof typeof LIMITS]: number }

export type Bounds = { readonly [Name in keyof typeof BOUNDS]: number }

/** All of them. */
export type Limits = PublicLimits & Bounds

export const OPTIONS = {
  sources: required(optional('a list of tool sources, such as [vacTools(vacs)]', areSources)),
  name: text('polyvac'),
  title: text(),
  version: text(VERSION),
  instructions: text(),
  authenticate: callback(),
  protectedResource: optional('an object with a list of `authorizationServers`',
    value => isRecord(value) && Array.isArray(value.authorizationServers)),
  allowedHosts: texts(),
  publicUrl: text(),
  allowedOrigins: texts(),
  sessions: flag(true),
  stateKey: optional('a text, a Buffer or a function', isStateKey),
  tasks: withMethod('create', 'an open task store, such as sqliteTaskStore({ path })'),
  toolSearch: optional<ToolSearchOptions>('{ above: 40, indexTools }, with a whole number and `indexTools` of @polyvac/documents',
    value => isRecord(value) && Number.isSafeInteger(value.above) && (value.above as number) >= 0 && typeof value.indexTools === 'function'),
  openapi: flag(true),
  bodyLimit: integer(BODY_BYTES),
  limits: optional<Partial<PublicLimits>>('an object of limits', isRecord, {})
} satisfies OptionRules<McpServerOptions>

function areSources (value: unknown): boolean {
  return Array.isArray(value) && value.every(source => isRecord(source) && typeof source.list === 'function')
}
