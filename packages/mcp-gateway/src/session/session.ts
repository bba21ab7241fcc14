import { LinkedSet, within } from '@polyvac/core/plugin'
import { CODES, LISTS, LOG_LEVELS, type ListKind, type LogLevel } from '@polyvac/mcp-protocol'
import { CallTimeoutError } from '../errors.js'
import type { Redactor } from '../redact.js'
import type { Limits } from '../options.js'
import type { CallOptions, ToolResult } from '../protocol/call-options.js'
import { checkResult } from '../protocol/check-result.js'
import { RpcError } from '../protocol/json-rpc.js'
import type { Item, ItemList } from '../protocol/lists.js'
import { ENVELOPE, metaOf } from '../protocol/revision.js'
import { ChangeSubscription } from './change-subscription.js'
import { DISCOVER, discover, initialize, type ServerFacts } from './handshake.js'
import { ListCache } from './list-cache.js'
import { PendingRequest, type PendingRequestOptions } from './pending-request.js'
import { awaitModernTask, awaitTask, wantsTask, type AwaitedTaskParts } from './poll-task.js'
import { RpcChannel } from './rpc-channel.js'
import { answersTo, ServerRequests, type UnassignedRequest } from './server-requests.js'
import { ToolCatalog, type ToolCatalogOptions } from './tool-catalog.js'
import type { Transport } from './transport.js'

const CALL = 'tools/call'
const PING = 'ping'

/** `input_required` results in a row for one request. */
const MAX_ROUNDS = 20

/** Age in ms from which a list is read again for a name that is not on it. */
const RELIST_MS = 1_000

const NO_TOOLS: ItemList = { items: [], leftOut: [] }

export interface SessionOptions extends ToolCatalogOptions {
  readonly name: string
  readonly limits: Limits
  readonly callTimeoutMs: number
  readonly redact: Redactor
  /** Whether the server speaks revision 2026-07-28. */
  readonly isModern: boolean
  /** Whether notifications of list changes are reliable; otherwise lists expire. */
  readonly hasReliableNotifications: boolean
  /** A list may have changed. */
  readonly onChange: (kinds: readonly ListKind[]) => void
  /** A subscribed resource has changed. */
  readonly onUpdated: (uri: string) => void
  readonly onTrouble: (err: Error) => void
  /** A request of the server was declined, because its call is not known. */
  readonly onUnassigned: (request: UnassignedRequest) => void
}

/** One MCP session, from its handshake to its end: requests, lists, requests of the server. */
export class Session {
  readonly requests: RpcChannel
  readonly #options: SessionOptions
  readonly #lists: ListCache
  readonly #questions: ServerRequests
  #catalog: { readonly list: ItemList, readonly catalog: ToolCatalog } | undefined
  /** Calls in flight. */
  // @keyed none: a list in order, of the calls in flight; maxInFlight, an owner a quarter of them
  readonly #calls = new LinkedSet<PendingRequest>()
  readonly #parts: PendingRequestOptions
  readonly #subscription: ChangeSubscription | undefined
  #facts: ServerFacts | undefined
  #ended: (() => void) | undefined
  /** Resolves when the connection has ended, from either side. */
  readonly ended: Promise<void>
  #open = true
  /** Rank of the log level last sent with logging/setLevel; Infinity before the first. */
  #logRank = Infinity

  constructor (transport: Transport, options: SessionOptions) {
    this.#options = options
    this.requests = new RpcChannel(transport, {
      request: (method, params, signal, call) => this.#questions.answer(method, params, signal, call === undefined || call instanceof PendingRequest ? call : null),
      notification: (method, params) => this.#notified(method, params),
      loggedBy: () => this.#questions.logging(),
      closed: () => {
        this.#open = false
        this.#subscription?.close()
        this.#ended?.()
      },
      trouble: options.onTrouble,
      read: value => options.redact.value(value)
    }, options.isModern ? ENVELOPE : undefined)
    this.ended = new Promise(resolve => { this.#ended = resolve })
    this.#subscription = options.isModern ? new ChangeSubscription(this.requests, options.limits) : undefined
    this.#questions = new ServerRequests(this.#calls, options.onUnassigned)
    this.#parts = {
      server: options.name,
      requests: this.requests,
      maxMs: options.limits.maxCallMs,
      calls: this.#calls,
      metaOf: options.isModern ? metaOf : undefined,
      onLate: ({ method }) => { if (method !== PING && method !== DISCOVER) this.timedOutAt = performance.now() }
    }
    const listens = (kind: ListKind): boolean => options.hasReliableNotifications && this.#capability(LISTS[kind].capability)?.listChanged === true
    this.#lists = new ListCache((method, params) => this.request(method, params), kind => listens(kind) ? Infinity : options.limits.listTtlMs)
  }

  /** When a call last timed out. */
  timedOutAt = -Infinity
  #suspectedAt = -Infinity

  /** Whether the server seems to hang: a ping got no response, and no message has come since. */
  get suspected (): boolean { return this.#suspectedAt > this.requests.heardAt }
  suspect (): void { this.#suspectedAt = performance.now() }

  get isModern (): boolean { return this.#options.isModern }
  get open (): boolean { return this.#open }
  get calls (): number { return this.#calls.size }
  get serverInfo (): ServerFacts['info'] | undefined { return this.#facts?.info }
  get completes (): boolean { return this.#capability('completions') !== undefined }
  /** Whether the server notifies of changes of resources. */
  get watches (): boolean { return this.#capability('resources')?.subscribe === true }

  /** Opens the transport and performs the handshake. */
  async connect (timeoutMs: number): Promise<void> {
    const { name } = this.#options
    await within(this.requests.open(), timeoutMs, () => { throw new CallTimeoutError(name, timeoutMs / 1000) })
    const send = (method: string, params: object): Promise<ToolResult> => this.#timed(timeoutMs, method, params, {})
    if (this.isModern) {
      this.#facts = await discover(send)
      this.#subscription?.listen()
    } else {
      this.#facts = await initialize(send)
      await this.requests.initialized(this.#facts.revision)
    }
  }

  #capability (name: string): Readonly<Record<string, unknown>> | undefined {
    return this.#facts?.capabilities[name]
  }

  #notified (method: string, { uri }: Record<string, unknown>): void {
    if (method === 'notifications/resources/updated') return this.#options.onUpdated(String(uri))
    if (method === 'notifications/subscriptions/acknowledged') return this.#subscription?.acknowledged()
    const kinds = this.#lists.changed(method)
    if (kinds.includes('tools')) this.#catalog = undefined
    if (kinds.length > 0) this.#options.onChange(kinds)
  }

  offers (kind: ListKind): boolean {
    return this.#capability(LISTS[kind].capability) !== undefined
  }

  /** All pages of a list; empty if the server lacks the capability. */
  async list (kind: ListKind): Promise<readonly Item[]> {
    if (!this.offers(kind)) return []
    if (kind === 'tools') return (await this.tools()).items
    try {
      return (await this.#lists.get(kind)).items
    } catch (err) {
      // many servers have resources and do not implement templates
      if (kind === 'templates' && err instanceof RpcError && err.code === CODES.methodNotFound) return []
      throw err
    }
  }

  async tools (): Promise<ToolCatalog> {
    return this.#catalogOf(this.offers('tools') ? await this.#lists.get('tools') : NO_TOOLS)
  }

  /** The tools; the list is read again if it does not have `tool`. */
  async toolsWith (tool: string): Promise<ToolCatalog> {
    const catalog = await this.tools()
    if (catalog.get(tool) !== undefined || this.#lists.age('tools') < RELIST_MS) return catalog
    this.#lists.drop('tools')
    return await this.tools()
  }

  /** The tools of the last list, if it has `tool`. */
  knownTools (tool: string): ToolCatalog | undefined {
    const known = this.#catalog?.catalog
    return known?.get(tool) === undefined ? undefined : known
  }

  #catalogOf (list: ItemList): ToolCatalog {
    if (this.#catalog?.list !== list) this.#catalog = { list, catalog: new ToolCatalog(list, this.#options) }
    return this.#catalog.catalog
  }

  /**
   * Sends a request with the timeout of calls. An `input_required` result (2026-07-28) is answered by `options.ask`,
   * unless `options.round` is set: then it is returned.
   * @param tool the tool, if it is a call
   */
  async request (method: string, params: object, options: CallOptions = {}, tool?: string): Promise<ToolResult> {
    let { round } = options
    for (let rounds = 0; rounds < MAX_ROUNDS; rounds++) {
      const result = await this.#timed(this.#options.callTimeoutMs, method, round === undefined ? params : { ...params, ...round }, options, tool)
      if (this.isModern) checkResult(result, options)
      if (!this.isModern || result.resultType !== 'input_required' || options.round !== undefined) return result
      round = await answersTo(result, options)
    }
    throw new RpcError(CODES.invalidRequest, `the server requested input ${MAX_ROUNDS} times in a row`)
  }

  /** @param isTask whether the tool can be called as a task alone, up to revision 2025-11-25 */
  call (tool: string, args: unknown, options: CallOptions, isTask = false): Promise<ToolResult> {
    const params = { name: tool, arguments: args }
    if (this.isModern) return this.#callModern(params, options)
    if (options.logLevel !== undefined) this.#lowerLogLevel(options.logLevel)
    return isTask ? awaitTask(this.#taskParts(params, options)) : this.#timed(this.#options.callTimeoutMs, CALL, params, options, tool)
  }

  async #callModern (params: AwaitedTaskParts['params'], options: CallOptions): Promise<ToolResult> {
    try {
      return await this.request(CALL, params, options, params.name)
    } catch (err) {
      if (err instanceof RpcError && err.code === CODES.headerMismatch) return await this.#callRelisted(params, options)
      // a caller with `round` declares the tasks extension itself, or gets the error
      if (options.round !== undefined || !wantsTask(err)) throw err
      return await awaitModernTask(this.#taskParts(params, options))
    }
  }

  /** After -32020: reads the tool's schema again, which determines the headers, and repeats the call. */
  async #callRelisted (params: AwaitedTaskParts['params'], options: CallOptions): Promise<ToolResult> {
    this.#lists.drop('tools')
    await this.tools()
    this.#options.onChange(['tools'])
    return await this.request(CALL, params, options, params.name)
  }

  #taskParts (params: AwaitedTaskParts['params'], options: CallOptions): AwaitedTaskParts {
    const { name: server, limits: { maxCallMs: maxMs }, onTrouble } = this.#options
    return { server, maxMs, params, options, onTrouble, request: this.request.bind(this) }
  }

  /** Subscribes to a resource, or ends the subscription. */
  async watch (uri: string, isWatched: boolean): Promise<void> {
    if (this.#subscription !== undefined) this.#subscription.watch(uri, isWatched)
    else await this.request(isWatched ? 'resources/subscribe' : 'resources/unsubscribe', { uri })
  }

  async ping (timeoutMs: number): Promise<void> {
    await this.#timed(timeoutMs, this.isModern ? DISCOVER : PING, {}, {})
  }

  /** Resolves `ended`, and stays open for responses to earlier requests. */
  retire (): void {
    this.#ended?.()
  }

  async close (): Promise<void> {
    this.#open = false
    this.#subscription?.close()
    await this.requests.close()
    this.#ended?.()
  }

  /** Up to revision 2025-11-25 a session has one log level: the lowest that a call requested. */
  #lowerLogLevel (level: string): void {
    if (this.#capability('logging') === undefined) return
    const rank = LOG_LEVELS.indexOf(level as LogLevel)
    if (rank === -1 || rank >= this.#logRank) return
    this.#logRank = rank
    this.request('logging/setLevel', { level }).catch(this.#options.onTrouble)
  }

  #timed (timeoutMs: number, method: string, params: object, options: CallOptions, tool?: string): Promise<ToolResult> {
    const { signal } = options
    return signal?.aborted === true ? Promise.reject(signal.reason) : PendingRequest.send(this.#parts, timeoutMs, method, params, options, tool)
  }
}
