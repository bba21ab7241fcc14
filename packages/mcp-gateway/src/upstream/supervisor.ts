import { backoff, quoteName, ShuttingDownError } from '@polyvac/core/plugin'
import { setTimeout as delay } from 'node:timers/promises'
import type { CallOptions } from '../protocol/call-options.js'
import { CAUSES, type Cause } from '../connections/cause.js'
import type { Connection, End, KnownBinding } from '../connections/connection.js'
import type { StdioContext } from '../connections/stdio/stdio-connection.js'
import { ServerNotReadyError, withContext } from '../errors.js'
import { watchHealth } from './health.js'
import type { ChangeListener } from '../protocol/lists.js'
import { createConnection } from './open-connection.js'
import { ResourceSubscriptions } from './resource-subscriptions.js'
import type { NamedServer } from '../config/server-config.js'
import type { Session } from '../session/session.js'
import type { UpstreamState, UpstreamStatus } from './status.js'
import { ToolChanges } from './tool-changes.js'

/** Failures in a row from which `crashLoop` is true. */
const CRASH_LOOP = 5
/** Time in ms that a server must be ready for its failures to be counted from zero again. */
const STABLE_MS = 10_000
/** Time in ms between looks at a session that the server forgot: it stays open for responses to earlier requests. */
const RETIRED_MS = 5_000
/** Left-out tools in a status. */
const MAX_LEFT_OUT = 20
/** Calls wait for a restart that is due within this time, in ms. */
const SOON_MS = 1_500

export type UpstreamOptions = Omit<StdioContext, 'onUpdated' | 'review' | 'onChange'> & { readonly onChange: ChangeListener }

/** Keeps one configured server running: starts it, waits for its end, starts it again. */
export class Supervisor {
  readonly config: NamedServer
  protected readonly options: UpstreamOptions
  /** The subscribers to its resources. */
  readonly listeners: ResourceSubscriptions
  readonly #closing = new AbortController()
  /** A call may outlive its connection, and reads how it ended. */
  // @keyed none: the keys are sessions of one server, and an entry ends with its session
  readonly #connections = new WeakMap<Session, Connection>()
  // @keyed none: the values are connections to one server with calls in flight; maxInFlight
  readonly #retired = new Set<Connection>()
  // @keyed none: the values are connections to one server
  readonly #restarted = new WeakSet<Connection>()
  #pause = new AbortController()
  // @keyed none: the values are calls that wait for a server; maxInFlight, and readyWaitMs
  readonly #waiters = new Set<() => void>()
  readonly #binding: KnownBinding = {}
  protected readonly toolChanges: ToolChanges
  #isRemoved = false
  #state: UpstreamState = 'starting'
  #connection: Connection | undefined
  #session: Session | undefined
  #failures = 0
  #attempt = 0
  #starts = 0
  #readyAt = 0
  #retryAt = 0
  #problem: string | undefined
  #refusal: Error | undefined
  #cause: Cause | undefined
  #last: Pick<UpstreamStatus, 'exitCode' | 'signal' | 'stderr'> = { stderr: [] }
  #running: Promise<void> | undefined

  /** @param listeners those of the entry that this one replaces */
  constructor (config: NamedServer, options: UpstreamOptions, listeners = new ResourceSubscriptions(), toolChanges = new ToolChanges(config.name, config.pin, options.log, config)) {
    this.config = config
    this.options = options
    this.toolChanges = toolChanges
    this.listeners = listeners
    listeners.onWanted = (uri, isWanted) => this.#subscribe(uri, isWanted)
  }

  get name (): string { return this.config.name }

  protected get session (): Session | undefined { return this.#session }

  protected get isClosing (): boolean { return this.#closing.signal.aborted }

  /** Whether the whole gateway is closing. */
  protected get closes (): boolean { return this.#closing.signal.aborted && !this.#isRemoved }

  protected connectionOf (session: Session): Connection | undefined {
    return this.#connections.get(session)
  }

  start (): void {
    this.#running ??= this.#run().catch((err: unknown) => {
      this.#problem = 'its supervision failed; the log has the cause'
      this.#to('failed')
      this.options.log.error({ err, mcpServer: this.name }, 'the supervision of an MCP server failed')
    })
  }

  /** Resolves when the start in progress has succeeded or failed. */
  async settled (): Promise<void> {
    while (this.#state === 'starting') await this.#nextChange(this.options.limits.startTimeoutMs, undefined)
  }

  /** Ends its connection, if it has one, and starts it again without a pause. Calls in flight fail. */
  async restart (): Promise<void> {
    if (this.#closing.signal.aborted) throw this.notReady()
    const connection = this.#connection
    this.#session = undefined
    this.#failures = 0
    if (connection !== undefined) this.#restarted.add(connection)
    if (this.#state === 'failed') this.#running = undefined
    this.#to('starting')
    this.#pause.abort()
    this.start()
    await connection?.close()
  }

  /** Ends the server for good: the gateway closes, or the entry was removed. May be called twice. */
  async close (isRemoved = false): Promise<void> {
    this.#isRemoved ||= isRemoved
    this.#closing.abort()
    await Promise.all([this.#connection?.close(), this.#running, ...[...this.#retired].map(connection => connection.close())])
  }

  protected async endOf (connection: Connection): Promise<End> {
    const end = await connection.ended()
    return this.#restarted.has(connection) ? { ...end, problem: CAUSES.RESTARTED, cause: 'RESTARTED' } : end
  }

  status (): UpstreamStatus {
    const ready = this.#state === 'ready'
    const { leftOut, fingerprint, changes, unknown } = this.toolChanges
    return {
      name: this.name,
      transport: this.config.url === undefined ? 'stdio' : 'http',
      state: this.#state,
      attempt: this.#attempt,
      crashLoop: this.#failures >= CRASH_LOOP,
      restarts: Math.max(0, this.#starts - 1),
      callsInFlight: this.#session?.calls ?? 0,
      pid: this.#connection?.pid,
      server: this.#session?.serverInfo === undefined ? undefined : { name: this.#session.serverInfo.name, version: this.#session.serverInfo.version },
      readySince: ready ? new Date(this.#readyAt).toISOString() : undefined,
      nextRetryAt: this.#state === 'waiting' ? new Date(this.#retryAt).toISOString() : undefined,
      cause: ready ? undefined : this.#cause,
      error: ready ? undefined : this.#problem,
      ...ready ? {} : { exitCode: this.#last.exitCode, signal: this.#last.signal },
      missingEnv: this.#connection?.missingEnv.length === 0 ? undefined : this.#connection?.missingEnv,
      unknownTools: unknown.length === 0 ? undefined : unknown.slice(0, MAX_LEFT_OUT),
      leftOutTools: leftOut.length === 0 ? undefined : leftOut.slice(0, MAX_LEFT_OUT),
      toolsFingerprint: fingerprint,
      toolChanges: changes.length === 0 ? undefined : changes,
      stderr: this.#connection?.stderr() ?? this.#last.stderr
    }
  }

  /**
   * Calls `changed` with each change of the resource, also after a restart or a change of the server's
   * configuration. The function that it returns ends the subscription.
   */
  watch (uri: string, changed: () => void, _owner?: string): () => void {
    return this.listeners.add(uri, changed)
  }

  #subscribe (uri: string, isWatched: boolean): void {
    if (this.#session?.watches !== true) return
    this.#session.watch(uri, isWatched).catch((err: unknown) => { this.options.log.warn({ mcpServer: this.name, uri, err: this.redact(err instanceof Error ? err.message : String(err)) }, 'the subscription to a resource failed') })
  }

  /** Closes a connection; the supervisor opens another one. */
  protected leave (session: Session, connection: Connection, problem: string): void {
    if (this.#session === session) {
      this.#problem = problem
      this.#cause = 'UNREACHABLE'
      this.#session = undefined
      this.#state = 'starting'
    }
    connection.close().catch(() => {})
  }

  /** Replaces a session that the server forgot. Other calls in it fail with the same status and are sent again, too. */
  protected retire (session: Session, connection: Connection): void {
    if (this.#retired.has(connection)) return
    this.#retired.add(connection)
    if (this.#session === session) {
      this.#session = undefined
      this.#state = 'starting'
    }
    session.retire()
    const timer = setInterval(() => {
      if (session.calls > 0 && session.open) return
      clearInterval(timer)
      connection.close().catch(() => {})
      this.#retired.delete(connection)
    }, RETIRED_MS)
    timer.unref()
  }

  /** Resolves with the session; waits for a server that is starting. */
  protected async ready (signal: CallOptions['signal']): Promise<Session> {
    const until = performance.now() + this.options.limits.readyWaitMs
    while (this.#session === undefined) {
      const left = until - performance.now()
      const isMissing = this.#cause === 'COMMAND_NOT_FOUND' || this.#cause === 'COMMAND_NOT_EXECUTABLE'
      const soon = this.#state === 'starting' || (!isMissing && this.#state === 'waiting' && this.#retryAt - Date.now() < SOON_MS && this.#failures < CRASH_LOOP)
      if (!soon || left <= 0) throw this.notReady()
      if (signal?.aborted === true) throw signal.reason
      await this.#nextChange(left, signal)
    }
    return this.#session
  }

  #nextChange (ms: number, signal: CallOptions['signal']): Promise<void> {
    return new Promise(resolve => {
      const done = (): void => {
        clearTimeout(timer)
        this.#waiters.delete(done)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.#waiters.add(done)
      signal?.addEventListener('abort', done)
    })
  }

  protected notReady (reason?: string, then?: string): Error {
    if (this.closes) return new ShuttingDownError()
    if (this.#refusal !== undefined && reason === undefined) return this.#refusal
    const next = then ?? this.#next()
    const why = reason ?? this.#problem ?? (this.#isRemoved ? 'its entry was removed from the configuration' : 'it has not answered yet')
    const { message: brief } = new ServerNotReadyError(quoteName(this.name), reason ?? (this.#cause === undefined ? 'it has not answered yet' : CAUSES[this.#cause]), next)
    return withContext(new ServerNotReadyError(quoteName(this.name), why, next), { server: this.name, brief, details: this.details() })
  }

  #next (): string {
    return this.#state === 'waiting'
      ? `it is started again in ${Math.max(0, (this.#retryAt - Date.now()) / 1000).toFixed(1)} s`
      : this.#state === 'starting' ? 'it is still starting' : 'it is not started again'
  }

  protected details (): Record<string, unknown> {
    const { state, cause, attempt, nextRetryAt, exitCode, signal, stderr, crashLoop } = this.status()
    const details = { state, cause, exitCode: exitCode ?? this.#last.exitCode, signal: signal ?? this.#last.signal, stderr, attempt, nextRetryAt, ...crashLoop && { crashLoop } }
    return Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined))
  }

  protected redact (text: string): string {
    return this.#connection?.redact.text(text) ?? text
  }

  /** Starts the server, waits for its end and starts it again, until `close` is called. */
  async #run (): Promise<void> {
    const { limits, log } = this.options
    const { signal } = this.#closing
    while (!signal.aborted) {
      this.#attempt = this.#failures + 1
      this.#starts++
      this.#to('starting')
      const connection = this.#connection = await createConnection(this.config, { ...this.options, onUpdated: uri => this.listeners.notify(uri), review: this.toolChanges.review }, this.#binding)
      if (signal.aborted) break
      let wasReady = 0
      try {
        await connection.open(signal)
        const { session } = connection
        this.#connections.set(session, connection)
        this.#problem = this.#cause = undefined
        this.#readyAt = Date.now()
        this.#session = session
        this.#to('ready')
        for (const uri of this.listeners.uris) this.#subscribe(uri, true)
        log.info({ mcpServer: this.name, attempt: this.#attempt }, 'MCP server ready')
        // its tools may have changed
        this.options.onChange(['tools', 'resources', 'templates', 'prompts'])
        const health = watchHealth(session, limits, () => { connection.kill() }, async err => { if (await connection.isStale(err)) this.retire(session, connection) })
        try {
          await session.ended
        } finally {
          health.stop()
        }
        wasReady = Date.now() - this.#readyAt
      } catch (err) {
        if (!signal.aborted) this.#problem = connection.problemOf(err)
      }
      this.#session = undefined
      this.#refusal = connection.refusal
      const end = this.#retired.has(connection) ? { problem: 'it forgot the session', cause: 'CLOSED' as const, stderr: [] } : await this.endOf(connection)
      this.#last = end
      this.#cause = end.cause
      if (wasReady > 0) this.#problem = end.problem
      if (signal.aborted || this.#restarted.has(connection)) continue
      const stale = connection.wasStale
      this.#failures = wasReady >= STABLE_MS || stale ? (stale ? this.#failures : 1) : this.#failures + 1
      if (this.config.restart === false || connection.isMisconfigured) {
        this.#to('failed')
        if (this.#refusal === undefined) log.error({ mcpServer: this.name, err: this.#problem, stderr: end.stderr }, 'MCP server failed; it is not started again')
        return
      }
      if (stale) continue
      const ms = backoff(this.#failures, { firstMs: limits.restartDelayMs, maxMs: limits.restartDelayMaxMs })
      this.#retryAt = Date.now() + ms
      this.#pause = new AbortController()
      this.#to('waiting')
      if (this.#failures === CRASH_LOOP) log.error({ mcpServer: this.name, err: this.#problem, stderr: end.stderr }, 'MCP server keeps failing; it is started again with growing delays')
      else log.warn({ mcpServer: this.name, err: this.#problem, exitCode: end.exitCode, signal: end.signal, attempt: this.#attempt, retryInMs: ms }, 'MCP server ended; it is started again')
      await delay(ms, undefined, { signal: AbortSignal.any([signal, this.#pause.signal]), ref: false }).catch(() => {})
    }
    this.#to('stopped')
  }

  #to (state: UpstreamState): void {
    this.#state = state
    for (const waiter of [...this.#waiters]) waiter()
  }
}
