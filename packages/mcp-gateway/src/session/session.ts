import { within, type Redactor } from '@polyvac/core/plugin'
import { CODES, LIST_KINDS, LISTS, LOG_LEVELS, TASKS_CAPABILITY, type ListKind, type LogLevel } from '@polyvac/mcp-protocol'
import { CallTimeoutError } from '../errors.js'
import type { Limits } from '../options.js'
import type { CallOptions, ToolResult } from '../protocol/call-options.js'
import { checkResult } from '../protocol/check-result.js'
import { RpcError } from '../protocol/json-rpc.js'
import type { Item, ItemList, LeftOutTool } from '../protocol/lists.js'
import { ENVELOPE, metaOf, MODERN_REVISION } from '../protocol/revision.js'
import { ChangeSubscription } from './change-subscription.js'
import { DISCOVER, discover, initialize, type ServerFacts } from './handshake.js'
import { ListCache } from './list-cache.js'
import { PendingRequest, type PendingRequestOptions } from './pending-request.js'
import { OpenWork, type Callers, type Work } from './open-work.js'
import { awaitModernTask, awaitTask, wantsTask, type AwaitedTaskParts } from './poll-task.js'
import { MessageRedactor } from './redact-message.js'
import { RpcChannel, type Waiting } from './rpc-channel.js'
import { answersTo, ServerRequests, type UnassignedMessage } from './server-requests.js'
import { TaskLedger } from './task-ledger.js'
import { TaskWork } from './task-work.js'
import { ToolCatalog, type ToolCatalogOptions } from './tool-catalog.js'
import type { Transport } from './transport.js'

const CALL = 'tools/call'
const PING = 'ping'

/** Requests whose response may report the end of a task. */
const TASK_LOOKS: ReadonlySet<string> = new Set(['tasks/get', 'tasks/cancel'])

/** `input_required` results in a row for one request. */
const MAX_ROUNDS = 20

/** Age in ms from which a list is read again for a name that is not on it. */
const RELIST_MS = 1_000

/** Owners share a subscription, so what a server sends meanwhile is not for any single one. No owner has this name. */
const SUBSCRIBERS: CallOptions = { principal: { owner: ' subscribers' } }

const NO_TOOLS: ItemList = { items: [], leftOut: [] }

export interface SessionOptions extends ToolCatalogOptions {
  readonly name: string
  readonly limits: Limits
  readonly redact: Redactor
  /** Whether the server speaks revision 2026-07-28. */
  readonly isModern: boolean
  /** Whether notifications of list changes are reliable; otherwise lists expire. */
  readonly hasReliableNotifications: boolean
  /** A list may have changed. */
  readonly onChange: (kinds: readonly ListKind[]) => void
  /** A subscribed resource has changed. */
  readonly onUpdated: (uri: string) => void
  /** Entries of a list other than that of the tools are left out, with their reasons. */
  readonly onLeftOut: (kind: ListKind, leftOut: readonly LeftOutTool[]) => void
  readonly onTrouble: (err: Error) => void
  /** Values of these variables and headers were replaced in a result. */
  readonly onSecrets: (names: readonly string[]) => void
  /** A request of the server was declined, or a log message passed to no caller, because its call is not certain. */
  readonly onUnassigned: (message: UnassignedMessage) => void
  readonly callers: Callers
}

/** One MCP session, from its handshake to its end: requests, lists, requests of the server. */
export class Session {
  readonly requests: RpcChannel
  readonly #options: SessionOptions
  readonly #lists: ListCache
  readonly #questions: ServerRequests
  #catalog: { readonly list: ItemList, readonly catalog: ToolCatalog } | undefined
  readonly #work: OpenWork
  readonly #tasks: TaskLedger
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
    const work = this.#work = new OpenWork(options.callers, transport.isOrdered ? answered => this.#sendFence(answered) : undefined)
    const tasks = this.#tasks = new TaskLedger(work, (taskId, principal) => this.request('tasks/cancel', { taskId }, { principal, capabilities: TASKS_CAPABILITY }), options.onTrouble)
    this.#questions = new ServerRequests(work, options.onUnassigned)
    this.requests = new RpcChannel(transport, {
      request: async (method, params, signal, call) => {
        // from 2026-07-28 on a server asks with its results
        if (options.isModern) throw new RpcError(CODES.methodNotFound, `${MODERN_REVISION} has no requests of servers`)
        return await this.#questions.answer(method, params, signal, workOf(call))
      },
      notification: (method, params) => this.#notified(method, params),
      logged: (message, call) => this.#questions.log(message, workOf(call)),
      left (id, waiting) { if (waiting instanceof PendingRequest && waiting.hasCaller) work.leave(id, waiting.owner) },
      settled: (id, result) => tasks.settled(id, result),
      closed: () => {
        this.#open = false
        this.#subscription?.close()
        this.#ended?.()
      },
      trouble: options.onTrouble,
      redact: new MessageRedactor(options.redact, options.onSecrets)
    }, options.isModern ? ENVELOPE : undefined)
    this.ended = new Promise(resolve => { this.#ended = resolve })
    this.#subscription = options.isModern ? new ChangeSubscription(this.requests, options.limits) : undefined
    this.#parts = {
      server: options.name,
      requests: this.requests,
      maxMs: options.limits.maxCallMs,
      work,
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
  get calls (): number { return this.#work.size }
  get serverInfo (): ServerFacts['info'] | undefined { return this.#facts?.info }
  get completes (): boolean { return this.#capability('completions') !== undefined }
  /** Whether the server notifies of changes of resources. */
  get watches (): boolean { return this.#capability('resources')?.subscribe === true }

  /** Opens the transport and performs the handshake. */
  async connect (timeoutMs: number): Promise<void> {
    const { name } = this.#options
    await within(this.requests.open(), timeoutMs, () => { throw new CallTimeoutError(name, 'no answer', timeoutMs / 1000, 'start_timeout') })
    const send = (method: string, params: object): Promise<ToolResult> => this.#timed(timeoutMs, method, params)
    if (this.isModern) {
      this.#facts = this.#shown(await discover(send))
      this.#subscription?.listen()
    } else {
      this.#facts = this.#shown(await initialize(send))
      await this.requests.initialized(this.#facts.revision)
    }
  }

  /** The name and version of a server are shown with its state. */
  #shown (facts: ServerFacts): ServerFacts {
    const { redact } = this.#options
    const { name, version } = facts.info
    return { ...facts, info: { name: redact.text(name), version: redact.text(version) } }
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
      const { items, leftOut } = await this.#lists.get(kind)
      if (leftOut.length > 0) this.#options.onLeftOut(kind, leftOut)
      return items
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
   * @param caller the options of its caller; undefined for a request of the session itself
   * @param tool the tool, if it is a call
   */
  async request (method: string, params: object, caller?: CallOptions, tool?: string, task?: TaskWork): Promise<ToolResult> {
    const options = caller ?? {}
    let { round } = options
    for (let rounds = 0; rounds < MAX_ROUNDS; rounds++) {
      const response = this.#timed(this.#options.limits.callTimeoutMs, method, round === undefined ? params : { ...params, ...round }, caller, tool, task)
      const result = await (task === undefined && TASK_LOOKS.has(method) ? this.#tasks.look((params as { taskId?: unknown }).taskId, options.principal, response) : response)
      if (this.isModern) checkResult(result, options)
      if (task === undefined && caller !== undefined) this.#tasks.answered(result, options.principal)
      if (!this.isModern || result.resultType !== 'input_required' || options.round !== undefined) return result
      round = await answersTo(result, options)
    }
    throw new RpcError(CODES.invalidRequest, `the server requested input ${MAX_ROUNDS} times in a row`)
  }

  /** @param isTask whether the tool can be called only as a task, up to revision 2025-11-25 */
  call (tool: string, args: unknown, options: CallOptions, isTask = false): Promise<ToolResult> {
    const params = { name: tool, arguments: args }
    if (this.isModern) return this.#callModern(params, options)
    if (options.logLevel !== undefined) this.#lowerLogLevel(options.logLevel)
    return isTask ? this.#asTask(params, options, awaitTask) : this.#timed(this.#options.limits.callTimeoutMs, CALL, params, options, tool)
  }

  async #callModern (params: AwaitedTaskParts['params'], options: CallOptions): Promise<ToolResult> {
    try {
      return await this.request(CALL, params, options, params.name)
    } catch (err) {
      if (err instanceof RpcError && err.code === CODES.headerMismatch) return await this.#callRelisted(params, options)
      // a caller with `round` declares the tasks extension itself, or gets the error
      if (options.round !== undefined || !wantsTask(err)) throw err
      return await this.#asTask(params, options, awaitModernTask)
    }
  }

  /** After -32020: reads the tool's schema again, which determines the headers, and repeats the call. */
  async #callRelisted (params: AwaitedTaskParts['params'], options: CallOptions): Promise<ToolResult> {
    this.#lists.drop('tools')
    await this.tools()
    this.#options.onChange(['tools'])
    return await this.request(CALL, params, options, params.name)
  }

  /** The task is work of its caller until it has ended, also between requests; it is cancelled if the call fails. */
  async #asTask (params: AwaitedTaskParts['params'], options: CallOptions, run: typeof awaitTask): Promise<ToolResult> {
    const { name: server, limits: { maxCallMs: maxMs } } = this.#options
    const work = new TaskWork(params.name, options)
    const place = this.#work.begin(work)
    try {
      return await run({ server, maxMs, params, work, request: (method, params, options) => this.request(method, params, options, work.tool, work) })
    } finally {
      if (work.taskId !== undefined && !work.hasEnded) this.#tasks.cancel(work.taskId, options.principal)
      this.#work.end(place)
    }
  }

  /** Subscribes to a resource, or ends the subscription. */
  async watch (uri: string, isWatched: boolean): Promise<void> {
    if (this.#subscription !== undefined) this.#subscription.watch(uri, isWatched)
    else await this.request(isWatched ? 'resources/subscribe' : 'resources/unsubscribe', { uri }, this.#options.callers.areNamed ? SUBSCRIBERS : undefined)
  }

  async ping (timeoutMs: number): Promise<void> {
    await this.#timed(timeoutMs, this.isModern ? DISCOVER : PING, {})
  }

  /**
   * A ping, and with `isDeep` one page of a list as well: pings are answered before the handshake too.
   * @throws the server's error
   */
  async look (timeoutMs: number, isDeep: boolean): Promise<void> {
    await this.ping(timeoutMs).catch((err: unknown) => {
      if (!isDeep || !(err instanceof RpcError) || err.code !== CODES.methodNotFound) throw err
    })
    const kind = LIST_KINDS.find(kind => this.offers(kind))
    if (isDeep && kind !== undefined) await this.#timed(timeoutMs, LISTS[kind].method, {})
  }

  #sendFence (answered: () => void): void {
    // it is not one of the requests that an answer without an id could be meant for
    this.requests.request(this.isModern ? DISCOVER : PING, {}, { isStanding: true, answered, failed: answered, progressed () {} })
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

  #timed (timeoutMs: number, method: string, params: object, options?: CallOptions, tool?: string, task?: TaskWork): Promise<ToolResult> {
    const signal = options?.signal
    return signal?.aborted === true ? Promise.reject(signal.reason) : PendingRequest.send(this.#parts, timeoutMs, method, params, options, tool, task)
  }
}

/** What the request of a caller belongs to; null for a request of the session itself. */
function workOf (call: Waiting | null | undefined): Work | null | undefined {
  return call instanceof PendingRequest ? (call.hasCaller ? call.work : null) : call === undefined ? undefined : null
}
