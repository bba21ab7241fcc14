import type { Cause } from '../connections/cause.js'
import type { LeftOutTool } from '../protocol/lists.js'
import type { ToolChange } from './tool-changes.js'

export type UpstreamState = 'starting' | 'ready' | 'waiting' | 'failed' | 'stopped'

/** State of one server, for people and monitors. */
export interface UpstreamStatus {
  readonly name: string
  readonly transport: 'stdio' | 'http'
  readonly state: UpstreamState
  readonly attempt: number
  readonly crashLoop: boolean
  readonly restarts: number
  readonly callsInFlight: number
  /** Owners who are connected, of a server with `per_owner`. */
  readonly owners?: number | undefined
  /** Processes of owners or sessions, of a server with `process`. */
  readonly processes?: number | undefined
  readonly pid?: number | undefined
  readonly server?: { readonly name: string, readonly version: string } | undefined
  readonly readySince?: string | undefined
  readonly nextRetryAt?: string | undefined
  /** Why it is not ready, as a code. */
  readonly cause?: Cause | undefined
  readonly error?: string | undefined
  readonly exitCode?: number | null | undefined
  readonly signal?: string | null | undefined
  readonly missingEnv?: readonly string[] | undefined
  /** What `allow`, `deny` and `approve` of its entry name and it does not have, each with the remedy. */
  readonly unknownTools?: readonly string[] | undefined
  readonly leftOutTools?: readonly LeftOutTool[] | undefined
  /** Of the tools that it offers; `pin` accepts them by it. */
  readonly toolsFingerprint?: string | undefined
  /** The last changes of its tools since the gateway started, the newest first. */
  readonly toolChanges?: readonly ToolChange[] | undefined
  readonly stderr: readonly string[]
}
