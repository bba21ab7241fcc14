import type { Authenticate, Vacs } from '@polyvac/core'
import { BODY_BYTES, callback, flag, integer, milliseconds, required, withMethod, type OptionRules } from '@polyvac/core/plugin'

export interface VacPluginOptions {
  /** The VACs to serve. */
  readonly vacs: Vacs
  /** Serve the OpenAI-compatible routes as well. Default true. */
  readonly openai?: boolean | undefined
  /** Describe the routes in the OpenAPI document of the application. Default true. */
  readonly openapi?: boolean | undefined
  /**
   * Names the caller; undefined refuses the request with 401. Default: no check, the scope around the plugin decides.
   * The principal reaches interpreters as `extra.principal`.
   */
  readonly authenticate?: Authenticate | undefined
  /** Total time for an interpreter in ms, where a request does not set `stream_timeout`. Default 120,000. */
  readonly timeoutMs?: number | undefined
  /** Longest time in ms that a reader of a stream may take nothing; then it is disconnected. Default 60,000. */
  readonly stallMs?: number | undefined
  /** Largest request body in bytes; a larger one is refused with 413. Default 4 MiB. */
  readonly bodyLimit?: number | undefined
}

/** Types, bounds and defaults of the options. */
export const OPTIONS = {
  vacs: required(withMethod('get', 'what createVacs() returns')),
  openai: flag(true),
  openapi: flag(true),
  authenticate: callback(),
  timeoutMs: milliseconds(120_000),
  stallMs: milliseconds(60_000),
  bodyLimit: integer(BODY_BYTES)
} satisfies OptionRules<VacPluginOptions>

/** Longest pause of a stream without a byte, in seconds, where a request sets none (contract, section 2). */
export const STREAM_WAIT_TIME = 7
