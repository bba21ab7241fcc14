import type { EnvironmentRule } from '../config/child-environment.js'
import type { KnownBinding } from './http/http-connection.js'
import type { ListKind } from '../protocol/lists.js'
import type { Limits, Log } from '../options.js'
import type { OrphanWatchdog } from './stdio/orphan-watchdog.js'
import type { NamedServer } from '../config/server-config.js'
import type { Session } from '../session/session.js'
import { StdioConnection } from './stdio/stdio-connection.js'

/** What all connections of a gateway share. */
export interface ConnectionContext extends EnvironmentRule {
  readonly limits: Limits
  readonly log: Log
  readonly watch: OrphanWatchdog
  /** Where commands run. */
  readonly folder: string
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

/** A connection that is not open yet. What HTTP takes is loaded at first use, since a start is quicker without. */
export async function connectionTo (config: NamedServer, parts: ConnectionContext, known: KnownBinding): Promise<Connection> {
  if (config.url === undefined) return new StdioConnection(config, parts, known)
  const { HttpConnection } = await import('./http/http-connection.js')
  return new HttpConnection(config, parts, known)
}
