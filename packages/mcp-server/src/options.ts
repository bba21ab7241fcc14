import type { Authenticate } from '@polyvac/core'
import {
  callback, flag, integer, isRecord, milliseconds, optional, packageVersion, required, text, texts, withMethod, type OptionRules
} from '@polyvac/core/plugin'
import type { TaskStore } from '@polyvac/tasks'
import type { ProtectedResource } from './protected-resource.js'
import type { ToolSource } from './tool-source.js'

export interface McpServerOptions {
  /** What is offered, in this order. */
  readonly sources: readonly ToolSource[]
  /** What clients show as the server's name. Default `polyvac`. */
  readonly name?: string | undefined
  /** The same for people. */
  readonly title?: string | undefined
  /** Default: the version of this package. */
  readonly version?: string | undefined
  /** What a language model should know about the tools as a whole. */
  readonly instructions?: string | undefined
  /** Names the caller; undefined refuses the request with 401. Default: no check, the scope around the plugin decides. */
  readonly authenticate?: Authenticate | undefined
  /** How callers get a token, told at /.well-known/oauth-protected-resource and with each 401; for hosts with `authenticate`. */
  readonly protectedResource?: ProtectedResource | undefined
  /**
   * Host names that requests may be sent to, without the port. It keeps web pages from reaching a server on the reader's
   * own machine (DNS rebinding). Default: the names of this machine where it listens on a loopback address, else all.
   */
  readonly allowedHosts?: readonly string[] | undefined
  /** The address under which callers reach the server, where that is not the one it listens on: its name and its pages pass, too. */
  readonly publicUrl?: string | undefined
  /** Origins of web pages that may call, such as `https://app.example.com`. Default: pages of this machine where it listens on a loopback address, else all. */
  readonly allowedOrigins?: readonly string[] | undefined
  /**
   * Whether clients up to 2025-11-25 get a session: questions, resumable streams, resource subscriptions and log levels need one.
   * Without sessions each of their requests stands alone, which any number of processes can answer. Default true.
   */
  readonly sessions?: boolean | undefined
  /** Signs what clients of 2026-07-28 hold between two requests; 32 bytes or more. Processes that share it can answer one another's. Default: random. */
  readonly stateKey?: Buffer | string | undefined
  /**
   * Lets tools with `taskSupport` go on as tasks: an open store, such as sqliteTaskStore({ path }), which may have other tasks as well:
   * these are in a queue of their own. The application closes it.
   */
  readonly tasks?: TaskStore | undefined
  /** Largest request body in bytes; a larger one is refused with 413. Default 4 MiB. */
  readonly bodyLimit?: number | undefined
  /** Bounds, where they should be others than the defaults. */
  readonly limits?: Partial<Limits> | undefined
}

/** Every bound of the plugin. */
export interface Limits {
  /** Sessions at once. Past them the one that has been idle longest ends; if none is idle, a new one is refused with 503. */
  readonly maxSessions: number
  /** Time without a request or an open stream after which a session ends, in ms. */
  readonly sessionTtlMs: number
  /** Streams without a call at once: GET streams and `subscriptions/listen`. Past them 503. */
  readonly maxStreams: number
  /** Events kept for readers that come back, of one stream. */
  readonly maxStreamEvents: number
  /** The same over all streams. */
  readonly maxEvents: number
  /** Text of all kept events, in characters. */
  readonly maxEventChars: number
  /** Messages of one JSON-RPC batch (2025-03-26). */
  readonly maxBatch: number
  /** Calls in progress of one session. */
  readonly maxSessionCalls: number
  /** Questions in one call to `ask`, and open ones of a session. */
  readonly maxQuestions: number
  /** Time that a session's caller has to answer a question, in ms. */
  readonly questionTtlMs: number
  /** Resources that one session or listen stream may subscribe to. */
  readonly maxSubscriptions: number
  /** Time that a `requestState` is good for, in ms. */
  readonly stateTtlMs: number
  /** Longest `requestState`, in characters: earlier answers of the same call are in it. */
  readonly maxStateChars: number
  /** Tasks executed at once. */
  readonly taskConcurrency: number
  /** Longest time of one run of a task, in ms. */
  readonly taskTimeoutMs: number
  /** Time that a task waits for an answer of its caller, in ms; then it fails. */
  readonly taskInputMs: number
  /** How long callers are told that a task is kept, in ms; the store must keep it so long. */
  readonly taskTtlMs: number
  /** How often callers are told to look after a task, in ms. */
  readonly taskPollMs: number
  /** Entries of one page of a list. */
  readonly pageSize: number
  /** Time in ms for which clients of 2026-07-28 may keep a list; changes are told where they listen. */
  readonly listTtlMs: number
}

export const LIMITS = {
  maxSessions: integer(10_000),
  sessionTtlMs: integer(30 * 60_000),
  maxStreams: integer(1_000),
  maxStreamEvents: integer(500),
  maxEvents: integer(20_000),
  maxEventChars: integer(32 * 1024 * 1024),
  maxBatch: integer(50),
  maxSessionCalls: integer(100),
  maxQuestions: integer(20),
  questionTtlMs: milliseconds(10 * 60_000),
  maxSubscriptions: integer(100),
  stateTtlMs: integer(15 * 60_000),
  maxStateChars: integer(256 * 1024),
  taskConcurrency: integer(16),
  taskTimeoutMs: milliseconds(60 * 60_000),
  taskInputMs: integer(60 * 60_000),
  taskTtlMs: integer(60 * 60_000),
  taskPollMs: integer(1_000),
  pageSize: integer(500),
  listTtlMs: integer(60_000)
} satisfies OptionRules<Limits>

export const OPTIONS = {
  sources: required(optional('a list of tool sources, such as [vacTools(vacs)]', areSources)),
  name: text('polyvac'),
  title: text(),
  version: text(packageVersion(import.meta.url)),
  instructions: text(),
  authenticate: callback(),
  protectedResource: optional('an object with a list of `authorizationServers`', value => isRecord(value) && Array.isArray(value.authorizationServers)),
  allowedHosts: texts(),
  publicUrl: text(),
  allowedOrigins: texts(),
  sessions: flag(true),
  stateKey: optional('a text or a Buffer of 32 bytes or more', value => typeof value === 'string' || Buffer.isBuffer(value)),
  tasks: withMethod('create', 'an open task store, such as sqliteTaskStore({ path })'),
  bodyLimit: integer(4 * 1024 * 1024),
  limits: optional<Partial<Limits>>('an object of limits', isRecord, {})
} satisfies OptionRules<McpServerOptions>

function areSources (value: unknown): boolean {
  return Array.isArray(value) && value.every(source => typeof (source as Partial<ToolSource> | undefined)?.list === 'function')
}
