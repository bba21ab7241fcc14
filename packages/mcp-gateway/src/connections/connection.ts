import { LogGate, type Redactor } from '@polyvac/core/plugin'
import type { ListKind } from '@polyvac/mcp-protocol'
import type { Log } from '@polyvac/core'
import type { Authorization } from './authorization.js'
import type { Limits } from '../options.js'
import type { EnvironmentRule } from '../config/child-environment.js'
import type { NamedServer } from '../config/server-config.js'
import type { ToolCatalogOptions } from '../session/tool-catalog.js'
import type { Callers } from '../session/open-work.js'
import type { Session, SessionOptions } from '../session/session.js'
import type { Cause } from './cause.js'
import { shortened } from '../session/tool-text.js'

/** The parts that all connections of a gateway share. */
export interface ConnectionContext extends EnvironmentRule {
  readonly limits: Limits
  readonly log: Log
  readonly onChange: (kinds: readonly ListKind[]) => void
  /** A subscribed resource has changed. */
  readonly onUpdated: (uri: string) => void
  readonly review: ToolCatalogOptions['review']
  readonly callers: Callers
  /** The token of the owner of a connection, in place of that of the entry. */
  readonly authorization?: ((onToken: (token: string) => void) => Promise<Authorization>) | undefined
}

/** A server may change its list all the time. */
const explosiveGate = new LogGate()
/** A server may send requests all the time. */
const unassignedGate = new LogGate()
/** Lists are read repeatedly. */
const leftOutGate = new LogGate()
/** Each result of a server may have a secret. */
const secretGate = new LogGate()

/** Tools of one log line. */
const MAX_LOGGED_TOOLS = 20

/** The options that sessions of both kinds of connection share. */
export function sessionOptions (
  { name, allow, deny, schemas }: NamedServer, { limits, log, onChange, onUpdated, review, callers }: ConnectionContext, redact: Redactor
): Omit<SessionOptions, 'isModern' | 'hasReliableNotifications'> {
  return {
    name,
    limits,
    allow,
    deny,
    schemas,
    redact,
    onChange,
    onUpdated,
    onExplosive (tools) {
      const suppressed = explosiveGate.pass(name)
      if (suppressed === undefined) return
      const named = tools.slice(0, MAX_LOGGED_TOOLS).map(tool => redact.text(tool))
      log.warn({ mcpServer: name, tools: named, suppressed }, 'input schemas can take too many steps to check: the server gets such arguments unchecked')
    },
    review,
    callers,
    onUnassigned ({ method, reason, callsInFlight, tools, data }) {
      const suppressed = unassignedGate.pass(`${name} ${method} ${reason}`)
      if (suppressed === undefined) return
      const named = tools.slice(0, MAX_LOGGED_TOOLS).map(tool => redact.text(tool))
      const fields = { mcpServer: name, method, reason, callsInFlight, tools: named, suppressed }
      if (data === undefined) log.warn(fields, 'a question of an MCP server was declined: its call is not certain')
      else log.info({ ...fields, data: shortened(JSON.stringify(data)) }, 'a log message of an MCP server was passed to no caller: its call is not certain')
    },
    onLeftOut (kind, leftOut) {
      const suppressed = leftOutGate.pass(`${name} ${kind}`)
      if (suppressed === undefined) return
      const problems = leftOut.map(({ tool, problem }) => `${redact.text(tool)}: ${problem}`)
      log.warn({ mcpServer: name, problems, suppressed }, `${kind} of an MCP server are left out`)
    },
    onSecrets (secrets) {
      const suppressed = secretGate.pass(`${name} ${secrets.join(' ')}`)
      if (suppressed !== undefined) log.warn({ mcpServer: name, secrets, suppressed }, 'a result of an MCP server had the values of these variables or headers, and has [redacted] in their place')
    },
    onTrouble: err => log.debug({ mcpServer: name, err: redact.text(err.message) }, 'trouble with an MCP server')
  }
}

/** The variables that the configuration of the service reads: their values may be in any entry. */
export function ownVariables ({ env, secretEnv }: EnvironmentRule): Array<readonly [name: string, value: string | undefined]> {
  return secretEnv.map(name => [name, env[name]])
}

/** How a connection ended. */
export interface End {
  readonly problem: string
  readonly cause: Cause
  readonly exitCode?: number | null | undefined
  readonly signal?: string | null | undefined
  readonly stderr: readonly string[]
}

/** One connection to a server, from its start to its end. */
export interface Connection {
  readonly session: Session
  readonly pid: number | undefined
  readonly missingEnv: readonly string[]
  /** That its owner has to sign in first, or cannot. */
  readonly refusal?: Error | undefined
  /** Whether every attempt fails until the configuration changes. */
  readonly isMisconfigured: boolean
  /** Whether it ended because the server forgot the session or changed its binding. */
  readonly wasStale: boolean
  /** Starts the server and performs the handshake. */
  open (signal: AbortSignal): Promise<void>
  /** Ends the connection and the processes of the server. May be called twice. */
  close (): Promise<void>
  /** Ends a server that does not answer. */
  kill (): void
  /** Resolves when it has ended. */
  ended (): Promise<End>
  stderr (): readonly string[]
  readonly redact: Redactor
  /** The text of a failure, without secrets. */
  problemOf (err: unknown): string
  /**
   * Whether a failed request shows that the server forgot the session, or changed its binding. The request may then be
   * sent once more.
   */
  isStale (err: unknown): boolean | Promise<boolean>
  /** Whether a failed request shows that the server is unreachable. */
  isUnreachable (err: unknown): boolean
}

export type Binding = 'streamable' | 'modern' | 'sse'

/** The binding of the last connection to a server, tried first by the next one. */
export interface KnownBinding {
  binding?: Binding | undefined
  /** The server's answer to `initialize`, for the report where it refuses `server/discover` as well. */
  refusal?: Error | undefined
}
