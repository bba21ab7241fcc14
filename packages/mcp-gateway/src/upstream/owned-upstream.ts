import { quoteName } from '@polyvac/core/plugin'
import { LIST_KINDS, type ListKind } from '@polyvac/mcp-protocol'
import type { CallOptions, ToolResult } from '../protocol/call-options.js'
import type { Item } from '../protocol/lists.js'
import { ServerBusyError, SignInFailedError, SignInRequiredError, withContext } from '../errors.js'
import type { NamedServer } from '../config/server-config.js'
import type { SignIns } from '../sign-in/sign-ins.js'
import type { ResourceSubscriptions } from './resource-subscriptions.js'
import type { UpstreamStatus } from './status.js'
import type { UpstreamOptions } from './supervisor.js'
import { Upstream } from './upstream.js'

/**
 * Owners with a connection to one server. The one that was idle longest is closed for another, those with subscriptions
 * last.
 */
export const MAX_OWNERS = 1_000
/** Time in ms without a request after which the connection of an owner is closed. */
export const OWNER_IDLE_MS = 600_000

/** The tool that an owner who has not signed in sees in place of those of the server. */
export const SIGN_IN_TOOL = 'sign_in'

interface Member { readonly upstream: Upstream, usedAt: number, uses: number }

/** A server to which each owner signs in: one connection for each of them. */
export class OwnedUpstream extends Upstream {
  readonly #signIns: SignIns
  // @keyed owner | holds: a connection to the server | whose: the owner | bound: MAX_OWNERS; the one that was idle
  //   longest is closed for another, and after OWNER_IDLE_MS | share: the owner has one | test:
  //   apps/host/test/sign-in.test.ts: over MCP, an owner sees and calls what the server offers only to that owner
  readonly #members = new Map<string, Member>()
  readonly #sweep: NodeJS.Timeout
  readonly #forget: () => void
  #isClosed = false

  constructor (config: NamedServer, options: UpstreamOptions, signIns: SignIns, listeners?: ResourceSubscriptions) {
    super(config, options, listeners)
    this.#signIns = signIns
    this.#forget = signIns.onSignedIn((owner, server) => { if (server === this.name) this.#reconnect(owner) })
    this.#sweep = setInterval(() => this.#closeIdle(), OWNER_IDLE_MS / 10)
    this.#sweep.unref()
  }

  /** Connections are opened at the first request of an owner; those with subscriptions at an earlier server, now. */
  override start (): void {
    for (const owner of this.listeners.owners) this.#member(owner)
  }

  /** The connection of an owner with a subscription is not closed as idle. @throws MCP_SERVER_BUSY */
  override watch (uri: string, changed: () => void, owner = ''): () => void {
    const stop = this.listeners.of(owner).add(uri, changed)
    try {
      this.#member(owner)
    } catch (err) {
      stop()
      this.listeners.forget(owner)
      throw err
    }
    return () => {
      stop()
      if (!this.#members.has(owner)) this.listeners.forget(owner)
    }
  }

  override async settled (): Promise<void> {
    await Promise.all([...this.#members.values()].map(({ upstream }) => upstream.settled()))
  }

  override async restart (): Promise<void> {
    await Promise.all([...this.#members.values()].map(({ upstream }) => upstream.restart()))
  }

  override async close (isRemoved = false): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#sweep)
    this.#forget()
    await Promise.all([super.close(isRemoved), ...[...this.#members.values()].map(({ upstream }) => upstream.close(isRemoved))])
  }

  override status (): UpstreamStatus {
    const members = [...this.#members.values()].map(({ upstream }) => upstream.status())
    const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
    return {
      ...super.status(),
      state: this.#isClosed ? 'stopped' : 'ready',
      callsInFlight: sum(members.map(({ callsInFlight }) => callsInFlight)),
      owners: members.filter(({ state }) => state === 'ready').length,
      cause: undefined,
      error: undefined
    }
  }

  /** What the server offers the owner; before the sign-in that is a tool which asks for it. */
  override async list (kind: ListKind, owner?: string): Promise<readonly Item[]> {
    try {
      return await this.#as(owner, async member => await member.list(kind))
    } catch (err) {
      if (!(err instanceof SignInRequiredError)) throw err
      return kind === 'tools' ? [signInTool(this.name)] : []
    }
  }

  override async callRaw (tool: string, args: unknown = {}, options: CallOptions = {}): Promise<ToolResult> {
    return await this.#as(options.principal?.owner, async member => {
      if (tool === SIGN_IN_TOOL && !(await member.list('tools')).some(({ name }) => name === SIGN_IN_TOOL)) {
        return { content: [{ type: 'text', text: `You are signed in to ${this.name}. List the tools again.` }] }
      }
      return await member.callRaw(tool, args, options)
    }, tool)
  }

  override async readResource (uri: string, options: CallOptions = {}): Promise<ToolResult> {
    return await this.#as(options.principal?.owner, async member => await member.readResource(uri, options))
  }

  override async getPrompt (prompt: string, args: Readonly<Record<string, string>>, options: CallOptions = {}): Promise<ToolResult> {
    return await this.#as(options.principal?.owner, async member => await member.getPrompt(prompt, args, options))
  }

  override async complete (params: object, options: CallOptions = {}): Promise<ToolResult> {
    return await this.#as(options.principal?.owner, async member => await member.complete(params, options))
  }

  override async request (method: string, params: object, options: CallOptions = {}): Promise<ToolResult> {
    return await this.#as(options.principal?.owner, async member => await member.request(method, params, options))
  }

  override async isModern (options: Pick<CallOptions, 'signal' | 'principal'>): Promise<boolean> {
    return await this.#as(options.principal?.owner, async member => await member.isModern(options))
  }

  /** @throws MCP_SIGN_IN_REQUIRED */
  async #as<T> (owner = '', work: (member: Upstream) => Promise<T>, tool?: string): Promise<T> {
    const member = this.#member(owner)
    member.usedAt = Date.now()
    member.uses++
    try {
      const { upstream } = member
      // it ended, its owner has to sign in, or did so at another replica
      if (upstream.status().state === 'failed') await upstream.restart()
      return await work(upstream)
    } catch (err) {
      if (err instanceof SignInRequiredError && this.#members.get(owner) === member) await this.#leaveSignedOut(owner, member)
      const isSignIn = err instanceof SignInRequiredError || err instanceof SignInFailedError
      throw isSignIn ? withContext(err, { server: this.name, tool }) : err
    } finally {
      member.uses--
    }
  }

  /** Closes a connection whose token was revoked, with the lists that it has read. A wider scope needs the token. */
  async #leaveSignedOut (owner: string, member: Member): Promise<void> {
    if (member.upstream.status().state !== 'ready' || await this.#signIns.isSignedIn(owner, this.name)) return
    if (this.#members.get(owner) === member) this.#drop(owner)
    this.#changed(owner)
  }

  /** The lists of one owner changed: no other one learns of it. */
  #changed (owner: string, kinds: readonly ListKind[] = LIST_KINDS): void {
    this.options.onChange(kinds, { owner: owner === '' ? undefined : owner })
  }

  #member (owner: string): Member {
    const known = this.#members.get(owner)
    if (known !== undefined) return known
    if (this.#members.size >= MAX_OWNERS && !this.#closeOldest()) throw withContext(new ServerBusyError(quoteName(this.name), MAX_OWNERS), { server: this.name })
    const config = { ...this.config, restart: false }
    const upstream = new Upstream(config, {
      ...this.options, onChange: kinds => this.#changed(owner, kinds), authorization: async onToken => await this.#signIns.authorizationFor(owner, config, onToken)
    }, this.listeners.of(owner))
    const member = { upstream, usedAt: Date.now(), uses: 0 }
    this.#members.set(owner, member)
    upstream.start()
    return member
  }

  #reconnect (owner: string): void {
    const { upstream } = this.#members.get(owner) ?? {}
    if (upstream === undefined || this.#isClosed) return this.#changed(owner)
    upstream.restart().then(() => this.#changed(owner), (err: unknown) => { this.options.log.warn({ err, mcpServer: this.name }, 'the connection of an owner was not opened again') })
  }

  #closeIdle (): void {
    const before = Date.now() - OWNER_IDLE_MS
    for (const [owner, member] of this.#members) if (member.uses === 0 && member.usedAt < before && !hasSubscribers(member)) this.#drop(owner)
  }

  #closeOldest (): boolean {
    const idle = [...this.#members].filter(([, { uses }]) => uses === 0)
      .sort(([, a], [, b]) => Number(hasSubscribers(a)) - Number(hasSubscribers(b)) || a.usedAt - b.usedAt)
    if (idle[0] === undefined) return false
    this.#drop(idle[0][0])
    return true
  }

  #drop (owner: string): void {
    const member = this.#members.get(owner)
    this.#members.delete(owner)
    this.listeners.forget(owner)
    member?.upstream.close().catch(() => {})
  }
}

function hasSubscribers ({ upstream: { listeners } }: Member): boolean {
  return listeners.uris.length > 0
}

function signInTool (server: string): Item {
  return {
    name: SIGN_IN_TOOL,
    description: `Signs the caller in to ${server}. Its tools are listed after that.`,
    inputSchema: { type: 'object', properties: {} }
  }
}
