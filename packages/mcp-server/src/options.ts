import type { Authenticate } from '@polyvac/core'
import type { ToolSource } from './tool-source.js'

export interface McpServerOptions {
  /** What is offered, in this order. */
  readonly sources: readonly ToolSource[]
  /** What clients show as the server's name. Default `polyvac`. */
  readonly name?: string | undefined
  /** Default: the version of this package. */
  readonly version?: string | undefined
  /** What a language model should know about the tools as a whole. */
  readonly instructions?: string | undefined
  /** Names the caller; undefined refuses the request with 401. Default: no check, the scope around the plugin decides. */
  readonly authenticate?: Authenticate | undefined
  /** Largest request body in bytes; a larger one is refused with 413. Default 4 MiB. */
  readonly bodyLimit?: number | undefined
}

export const DEFAULTS = {
  name: 'polyvac',
  bodyLimit: 4 * 1024 * 1024
}
