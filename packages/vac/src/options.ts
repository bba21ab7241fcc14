import type { Authenticate, Runs, Vacs } from '@polyvac/core'
import { BODY_BYTES, callback, flag, integer, isRecord, isStateKey, milliseconds, oneOf, optional, required, text, withMethod, type OptionRules } from '@polyvac/core/plugin'
import type { PROTOCOLS, ProtocolName, ProtocolOptions } from './protocols.js'

/** A protocol to serve: its name, or its name and its options. */
export type ProtocolChoice = {
  [Name in ProtocolName]: Name | readonly [name: Name, options: ProtocolOptions<typeof PROTOCOLS[Name]>]
}[ProtocolName]

export interface VacPluginOptions {
  /** The VACs to serve. */
  readonly vacs: Vacs
  /**
   * The protocols to serve, each by its name or with its options: `['direct', ['openai', { keep_alive: 20 }]]`. Default
   * `['direct', 'openai']`.
   */
  readonly protocols?: readonly ProtocolChoice[] | undefined
  /** False leaves `openai` out of the default of `protocols`; the next minor version drops this option. */
  readonly openai?: boolean | undefined
  /** Describe the routes in the OpenAPI document of the application. Default true. */
  readonly openapi?: boolean | undefined
  /**
   * Names the caller; undefined refuses the request with 401. Default: no check, the scope around the plugin decides.
   * The principal reaches interpreters as `extra.principal`.
   */
  readonly authenticate?: Authenticate | undefined
  /**
   * Durable answers, what `createRuns()` of @polyvac/runs returns: questions in the background, streams that go on
   * where their reader left, `Idempotency-Key`. Default: none, and their routes answer 501.
   */
  readonly runs?: Runs | undefined
  /**
   * Address under which callers reach the scope of the plugin, for the addresses of citations. Default: the address of
   * the request, with forwarded headers only under Fastify's `trustProxy`.
   */
  readonly publicUrl?: string | undefined
  /**
   * Seals the addresses of citations where there is `authenticate`; 32 bytes or more. All replicas need the same key.
   * Default: random, so that addresses end with the process. A function is called at each use.
   */
  readonly stateKey?: Buffer | string | (() => Buffer | string) | undefined
  /** Total time for an interpreter in ms, where a request does not set `stream_timeout`. Default 120,000. */
  readonly timeoutMs?: number | undefined
  /** Longest time in ms that a reader of a stream may take nothing; then it is disconnected. Default 60,000. */
  readonly stallMs?: number | undefined
  /** Largest request body in bytes; a larger one is refused with 413. Default 4 MiB. */
  readonly bodyLimit?: number | undefined
  /**
   * Whose error handler answers a failed request of the protocol `direct`: `app` is that of the scope around the
   * plugin, which gets the error with its `statusCode` and `code`. Other protocols have the shape that their clients
   * read. Default `plugin`.
   */
  readonly errorHandler?: 'plugin' | 'app' | undefined
}

/** Options of the plugin of a single protocol, besides those of the protocol. */
export type ProtocolPluginOptions = Omit<VacPluginOptions, 'protocols' | 'openai'>

/** Types, bounds and defaults of the options that the plugins have in common. */
export const SHARED_OPTIONS = {
  vacs: required(withMethod('get', 'what createVacs() returns')),
  openapi: flag(true),
  authenticate: callback(),
  runs: optional('what createRuns() of @polyvac/runs returns', value => isRecord(value) && typeof value.start === 'function'),
  publicUrl: text(),
  stateKey: optional('a text, a Buffer or a function', isStateKey),
  timeoutMs: milliseconds(120_000),
  stallMs: milliseconds(60_000),
  bodyLimit: integer(BODY_BYTES),
  errorHandler: oneOf(['plugin', 'app'], 'plugin')
} satisfies OptionRules<ProtocolPluginOptions>

export const OPTIONS = {
  ...SHARED_OPTIONS,
  protocols: optional('a list of names of protocols, or of [name, options]', Array.isArray),
  openai: flag()
} satisfies OptionRules<VacPluginOptions>
