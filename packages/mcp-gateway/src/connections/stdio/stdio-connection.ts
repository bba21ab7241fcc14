import { Redactor, secretsOfArguments } from '@polyvac/core/plugin'
import { resolve } from 'node:path'
import { childEnvironment } from '../../config/child-environment.js'
import { causeOf, type Cause } from '../cause.js'
import { ownVariables, sessionOptions, type Connection, type ConnectionContext, type End, type KnownBinding } from '../connection.js'
import { isRefusedAgain, mayConcernSession } from '../lost-session.js'
import { formProblem } from './odd-lines.js'
import { describeExit, type Exit } from './server-process.js'
import { RpcError } from '../../protocol/json-rpc.js'
import { unfilledVariables, unsetVariables, type NamedServer } from '../../config/server-config.js'
import { Session } from '../../session/session.js'
import type { OrphanWatchdog } from './orphan-watchdog.js'
import { LINE_CHARS } from './stderr-ring.js'
import { StdioTransport } from './stdio-transport.js'

/** Code of the handshake's timeout. */
const TIMED_OUT = 'MCP_CALL_TIMEOUT'

/** Lines on stdout that are not messages and are kept with those of stderr. */
const MAX_GARBAGE_LINES = 5

/** The additional context of connections to child processes. */
export interface StdioContext extends ConnectionContext {
  readonly watch: OrphanWatchdog
  /** Working directory of commands. */
  readonly folder: string
}

/** A connection to a child process over its standard streams. */
export class StdioConnection implements Connection {
  readonly session: Session
  readonly missingEnv: readonly string[]
  readonly isMisconfigured: boolean
  wasStale = false
  readonly redact: Redactor
  readonly #transport: StdioTransport
  readonly #known: KnownBinding
  readonly #startTimeoutMs: number
  readonly #pingTimeoutMs: number
  #hung = false
  #mute: string | undefined
  #failure: Error | undefined
  #garbage = 0
  /** Why its output is not understood. */
  #form: string | undefined

  constructor (config: NamedServer, parts: StdioContext, known: KnownBinding) {
    const { limits, log, watch, folder } = parts
    const { env, missing } = childEnvironment(config, parts)
    const unfilled = unfilledVariables(config)
    this.#startTimeoutMs = limits.startTimeoutMs
    this.#pingTimeoutMs = limits.pingTimeoutMs
    this.missingEnv = [...new Set([...missing, ...unfilled])]
    this.isMisconfigured = unfilled.length > 0
    // the variables of the child, and those that the service keeps from it
    this.redact = new Redactor([...Object.entries(env), ...ownVariables(parts)], config.secret_env)
    for (const [name, secret] of secretsOfArguments(config.args ?? [])) this.redact.add(secret, name)
    this.#transport = new StdioTransport(
      { command: config.command ?? '', args: config.args ?? [], env, cwd: resolve(folder, config.cwd ?? '.'), stderrLines: limits.stderrLines },
      watch,
      {
        maxMessageBytes: limits.maxMessageBytes,
        onRefused: (id, err) => {
          const found = this.session.requests.failRefused(id, err)
          log.warn({ mcpServer: config.name, problem: err.message, found }, 'a message of an MCP server is not read')
        },
        onMute: problem => { this.#mute = `${problem} and was ended` },
        onGarbage: line => {
          this.#form ??= formProblem(line)
          if (this.#garbage++ < MAX_GARBAGE_LINES) this.#transport.child?.stderr.add(`stdout: ${line}`)
          if (this.#garbage === 1) log.warn({ mcpServer: config.name, line: this.redact.text(line).slice(0, 200) }, 'an MCP server writes lines to stdout that are not messages')
        }
      })
    const isModern = known.binding === 'modern'
    this.#known = known
    this.session = new Session(this.#transport, {
      ...sessionOptions(config, parts, this.redact),
      isModern,
      hasReliableNotifications: !isModern
    })
  }

  get pid (): number | undefined {
    const { child } = this.#transport
    return child?.exit === undefined ? child?.pid : undefined
  }

  async open (signal: AbortSignal): Promise<void> {
    if (this.isMisconfigured) {
      this.#failure = unsetVariables(this.missingEnv)
      throw this.#failure
    }
    const stop = (): void => { this.close().catch(() => {}) }
    signal.addEventListener('abort', stop, { once: true })
    try {
      await this.session.connect(this.#startTimeoutMs)
    } catch (err) {
      this.#failure = err as Error
      // a server that refuses `initialize` may be of the newer era: the next start tries that
      if (this.#known.binding === 'modern') {
        this.#known.binding = undefined
        this.#failure = this.#known.refusal ?? this.#failure
      } else if (err instanceof RpcError) {
        this.#known.binding = 'modern'
        this.#known.refusal = err
        this.wasStale = true
      }
      await this.close()
      throw this.#failure
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  async close (): Promise<void> {
    await this.session.close()
  }

  kill (): void {
    this.#hung = true
    this.#transport.child?.kill()
  }

  async ended (): Promise<End> {
    await this.close()
    const exit = await this.#transport.child?.ended
    const problem = this.#mute !== undefined ? this.#mute : this.#hung ? 'it did not answer and was ended' : this.#failure !== undefined ? this.problemOf(this.#failure) : this.#exitText()
    return { problem, cause: this.#cause(exit), exitCode: exit?.code, signal: exit?.signal, stderr: this.stderr() }
  }

  #cause (exit: Exit | undefined): Cause {
    if (this.isMisconfigured) return 'MISSING_VARIABLE'
    if (exit?.errno !== undefined) return causeOf({ code: exit.errno })
    if (this.#hung || this.#mute !== undefined) return 'NO_ANSWER'
    const cause = this.#failure === undefined ? 'FAILED' : causeOf(this.#failure)
    return cause === 'FAILED' && exit !== undefined ? 'EXITED' : cause
  }

  stderr (): readonly string[] {
    return this.#transport.child?.stderr.lines().map(line => this.redact.text(line).slice(0, LINE_CHARS)) ?? []
  }

  problemOf (err: unknown): string {
    const { child } = this.#transport
    // after a refusal the gateway ends the child
    if (child?.exit !== undefined && this.#ownExit() && !(err instanceof RpcError)) return this.#exitText()
    const { message, code } = err as { message?: string, code?: unknown }
    if (code === TIMED_OUT && this.#form !== undefined) return this.#form
    if (code === TIMED_OUT) return `it did not answer within ${this.#startTimeoutMs / 1000} s of its start; \`start_timeout\` of its entry gives it more`
    return this.redact.text(`${message ?? 'no reason given'}${this.#missing()}`)
  }

  /** A proxy, or a program that starts the server again, may lose the session behind a child that goes on. */
  async isStale (err: unknown): Promise<boolean> {
    if (!mayConcernSession(err)) return false
    this.wasStale ||= await this.session.ping(this.#pingTimeoutMs).then(() => false, (ping: unknown) => isRefusedAgain(err, ping))
    return this.wasStale
  }

  isUnreachable (): boolean {
    return false
  }

  /** Whether the child ended by itself, rather than after a timeout of the gateway. */
  #ownExit (): boolean {
    const { code } = (this.#failure ?? {}) as { code?: unknown }
    return code !== TIMED_OUT
  }

  #exitText (): string {
    const exit = this.#transport.child?.exit
    return exit === undefined ? 'its connection was closed' : this.redact.text(`${describeExit(exit)}${this.#missing()}`)
  }

  #missing (): string {
    return this.isMisconfigured || this.missingEnv.length === 0 ? '' : `; the environment has no ${this.missingEnv.join(', ')}, which its entry names`
  }
}
