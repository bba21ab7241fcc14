import { quoteName, shareOf } from '@polyvac/core/plugin'
import type { CallOptions, ToolResult } from '../protocol/call-options.js'
import type { NamedServer } from '../config/server-config.js'
import { ProcessesUsedError, withContext } from '../errors.js'
import { ResourceSubscriptions } from './resource-subscriptions.js'
import type { UpstreamStatus } from './status.js'
import type { UpstreamOptions } from './supervisor.js'
import { Upstream } from './upstream.js'

/** Processes of one server for owners and sessions, a quarter of them for one owner; `max_processes` of its entry. */
export const MAX_PROCESSES = 40
/** Time in ms without a request after which such a process ends; `process_idle` of its entry. */
export const PROCESS_IDLE_MS = 600_000

interface Member { readonly upstream: Upstream, readonly owner: string, readonly session: string | undefined, usedAt: number, uses: number }

/**
 * A server with a process for each owner, or each MCP session, that keeps only the state of that caller. Lists come
 * from one more process, which serves no caller, so that they are the same for all and need no process for each reader.
 */
export class OwnProcesses extends Upstream {
  // @keyed owner, and with `process: session` the session | holds: a process of the server | whose: the owner | bound:
  //   max_processes (MAX_PROCESSES), for process_idle (PROCESS_IDLE_MS), and the life of the session | share: a quarter
  //   of them; its own idle process ends for another of the same owner, never that of another owner | test:
  //   packages/mcp-gateway/test/own-processes.test.ts: processes past the bound of an owner, or of the server, are
  //   refused, and no other owner loses one
  readonly #members = new Map<string, Member>()
  readonly #maxProcesses: number
  readonly #idleMs: number
  readonly #sweep: NodeJS.Timeout

  constructor (config: NamedServer, options: UpstreamOptions, listeners?: ResourceSubscriptions) {
    super(config, options, listeners)
    const { max_processes: max = MAX_PROCESSES, process_idle: idle } = config
    this.#maxProcesses = max
    this.#idleMs = idle === undefined ? PROCESS_IDLE_MS : idle * 1000
    this.#sweep = setInterval(() => this.#endIdle(), Math.max(10, Math.min(this.#idleMs / 10, 60_000)))
    this.#sweep.unref()
  }

  /** Starts the process for lists, and those of owners with subscriptions at the entry that this one replaces. */
  override start (): void {
    super.start()
    for (const owner of this.listeners.owners) this.#member(owner, undefined)
  }

  /** The process of an owner has the subscriptions of the owner: they name no session. @throws MCP_PROCESSES_USED */
  override watch (uri: string, changed: () => void, owner = ''): () => void {
    this.#member(owner, undefined)
    const stop = this.listeners.of(owner).add(uri, changed)
    return () => {
      stop()
      if (!this.#members.has(keyOf(owner, undefined))) this.listeners.forget(owner)
    }
  }

  override async restart (): Promise<void> {
    await Promise.all([super.restart(), ...[...this.#members.values()].map(({ upstream }) => upstream.restart())])
  }

  override async close (isRemoved = false): Promise<void> {
    clearInterval(this.#sweep)
    await Promise.all([super.close(isRemoved), ...[...this.#members.values()].map(({ upstream }) => upstream.close(isRemoved))])
  }

  /** Ends the process of an MCP session. */
  override endSession (session: string): void {
    for (const [key, member] of this.#members) if (member.session === session) this.#drop(key, member)
  }

  override status (): UpstreamStatus {
    const status = super.status()
    const calls = [...this.#members.values()].reduce((sum, { upstream }) => sum + upstream.status().callsInFlight, 0)
    return { ...status, callsInFlight: status.callsInFlight + calls, processes: this.#members.size }
  }

  override async callRaw (tool: string, args: unknown = {}, options: CallOptions = {}): Promise<ToolResult> {
    return await this.#as(options, async member => await member.callRaw(tool, args, options), tool)
  }

  override async readResource (uri: string, options: CallOptions = {}): Promise<ToolResult> {
    return await this.#as(options, async member => await member.readResource(uri, options))
  }

  override async getPrompt (prompt: string, args: Readonly<Record<string, string>>, options: CallOptions = {}): Promise<ToolResult> {
    return await this.#as(options, async member => await member.getPrompt(prompt, args, options))
  }

  override async complete (params: object, options: CallOptions = {}): Promise<ToolResult> {
    return await this.#as(options, async member => await member.complete(params, options))
  }

  override async request (method: string, params: object, options: CallOptions = {}): Promise<ToolResult> {
    return await this.#as(options, async member => await member.request(method, params, options))
  }

  /** @throws MCP_PROCESSES_USED, and the errors of the request */
  async #as<T> ({ principal, sessionId }: CallOptions, work: (member: Upstream) => Promise<T>, tool?: string): Promise<T> {
    if (principal !== undefined) this.options.callers.areNamed = true
    const member = this.#member(principal?.owner ?? '', this.config.process === 'session' ? sessionId : undefined, tool)
    member.uses++
    try {
      return await work(member.upstream)
    } finally {
      member.uses--
      member.usedAt = performance.now()
    }
  }

  #member (owner: string, session: string | undefined, tool?: string): Member {
    if (this.isClosing) throw this.notReady()
    const key = keyOf(owner, session)
    const known = this.#members.get(key)
    if (known !== undefined) return known
    this.#makeRoom(owner, tool)
    const listeners = session === undefined ? this.listeners.of(owner) : new ResourceSubscriptions()
    // lists are those of the process without callers
    const upstream = new Upstream(this.config, { ...this.options, onChange: () => {} }, listeners, this)
    const member = { upstream, owner, session, usedAt: performance.now(), uses: 0 }
    this.#members.set(key, member)
    upstream.start()
    return member
  }

  /** Callers who are not authenticated have no share: they could be any number of people. */
  #makeRoom (owner: string, tool: string | undefined): void {
    const own = [...this.#members].filter(([, member]) => member.owner === owner)
    const share = owner === '' ? this.#maxProcesses : shareOf(this.#maxProcesses)
    if (this.#members.size < this.#maxProcesses && own.length < share) return
    const [idle] = own.filter(([, member]) => isIdle(member)).sort(([, a], [, b]) => a.usedAt - b.usedAt)
    if (idle !== undefined) return this.#drop(...idle)
    const used = own.length < share ? `${this.#members.size} processes` : `${own.length} processes of this caller`
    throw withContext(new ProcessesUsedError(quoteName(this.name), used), { server: this.name, tool })
  }

  #endIdle (): void {
    const before = performance.now() - this.#idleMs
    for (const [key, member] of this.#members) if (isIdle(member) && member.usedAt < before) this.#drop(key, member)
  }

  #drop (key: string, { upstream, owner }: Member): void {
    this.#members.delete(key)
    this.listeners.forget(owner)
    upstream.close(true).catch(() => {})
  }
}

function isIdle ({ uses, upstream: { listeners } }: Member): boolean {
  return uses === 0 && listeners.uris.length === 0
}

function keyOf (owner: string, session: string | undefined): string {
  return JSON.stringify([owner, session])
}
