import type { ListKind } from '@polyvac/mcp-protocol'
import type { Log } from '@polyvac/core'
import type { Limits } from '../options.js'
import type { Session } from '../session/session.js'

/** What all connections of a gateway share. */
export interface ConnectionContext {
  readonly limits: Limits
  readonly log: Log
  readonly onChange: (kinds: readonly ListKind[]) => void
  /** A resource that is watched has changed. */
  readonly onUpdated: (uri: string) => void
}

/** How a connection came to its end. */
export interface End {
  readonly problem: string
  readonly exitCode?: number | null | undefined
  readonly signal?: string | null | undefined
  readonly stderr: readonly string[]
}

/** One attempt to be connected to a server: from its start to its end. */
export interface Connection {
  readonly session: Session
  readonly pid: number | undefined
  readonly missingEnv: readonly string[]
  /** Whether no further attempt can succeed before the configuration changes. */
  readonly isMisconfigured: boolean
  /** Whether it ended because the server had forgotten the session. */
  readonly wasStale: boolean
  /** Starts the server and shakes hands. */
  open (signal: AbortSignal): Promise<void>
  /** Ends it, and whatever the server has started. May be called twice. */
  close (): Promise<void>
  /** Ends a server that does not answer. */
  kill (): void
  /** Resolves with how it ended, once it has. */
  ended (): Promise<End>
  stderr (): readonly string[]
  redact (text: string): string
  /** A failure in words, without secrets. */
  problemOf (err: unknown): string
  /** Whether a failed request shows that the server forgot the session, or speaks another era by now; the request may then go out once more. */
  isStale (err: unknown): boolean | Promise<boolean>
  /** Whether a failed request shows that the server cannot be reached any more. */
  isUnreachable (err: unknown): boolean
}

export type Binding = 'streamable' | 'modern' | 'sse'

/** The binding of the last connection to a server, tried first by the next one. */
export interface KnownBinding {
  binding?: Binding | undefined
  /** The server's answer to `initialize`, for the report where it refuses `server/discover` as well. */
  refusal?: Error | undefined
}
