import type { Principal } from '@polyvac/core'
import {
  BYTES_PER_CHAR, CallAbortedError, LinkedSet, memoryBudget, MemoryBudgetError, SseBody, type HeldBytes, type LinkedNode,
  type OwnerSlots
} from '@polyvac/core/plugin'
import { features, type ClientCapabilities, type LegacyRevision, type LogLevel } from '@polyvac/mcp-protocol'
import type { FastifyReply } from 'fastify'
import { randomUUID } from 'node:crypto'
import type { Limits } from '../options.js'
import { invalidParams, overload, type Params, type Request, type RequestId, type Response } from '../protocol/rpc.js'
import type { EventLog } from './event-store.js'
import type { HttpSseStream } from './http-sse-stream.js'
import { ResumableStream } from './resumable-stream.js'
import type { Change, SharedSession } from './shared-session.js'

export interface SessionOptions extends Pick<Session, 'maker' | 'revision' | 'capabilities'> {
  readonly id?: string
  readonly key?: string
  readonly shared?: SharedSession | undefined
  readonly store: EventLog
  readonly questions: OwnerSlots
  readonly limits: Limits
  /** Calls `onUpdate` whenever a resource changes, until the function that it returns is called. */
  readonly watch: (uri: string, owner: string | undefined, onUpdate: (uri: string) => void) => () => void
}

/** What a session knows of a call. */
export interface SessionCall {
  readonly id: RequestId
  readonly params: Params
  cancel (reason: Error): void
}

/** Bytes of a session, and of a subscription besides its URI. */
const SESSION_BYTES = 2_000
const SUBSCRIPTION_BYTES = 500

/** Longest JSON of the parameters of a request that another replica can run again, in characters. */
const MAX_KEPT_CHARS = 64 * 1024

interface OpenRequest { readonly call: SessionCall, settle (response: Response): void }

/** Ended streams that are kept for clients that resume them. */
const MAX_ENDED_STREAMS = 20

/**
 * A session of a client up to 2025-11-25, from `initialize` on. It belongs to the caller that sent it. With `shared`,
 * this is what one of several replicas holds of it.
 */
export class Session {
  readonly id: string
  /** Names the session in the server. */
  readonly key: string
  readonly shared: SharedSession | undefined
  /** The caller that began it; undefined where callers are not authenticated. */
  readonly maker: Principal | undefined
  /** Negotiated with `initialize`. */
  revision: LegacyRevision = '2024-11-05'
  capabilities: ClientCapabilities = {}
  /** The stream of all messages, over HTTP+SSE. */
  httpSse: HttpSseStream | undefined
  /** The lowest level of log messages that are sent. */
  logLevel: LogLevel = 'debug'
  /** Ends the watch of the maker's credential. */
  unwatch = (): void => {}
  /** On the clock of this process, in ms. */
  lastUsed = performance.now()
  /** Its position among the sessions of its owner. */
  node: LinkedNode<Session> | undefined
  // @keyed none: a list in order, of the calls of one session; maxSessionCalls
  readonly calls = new LinkedSet<SessionCall>()
  /** What it makes the process hold. */
  readonly held: HeldBytes
  // @keyed URI that a caller chose | holds: a function that ends it | whose: the owner of the session | bound:
  //   maxSubscriptions; MAX_NAME_CHARS for a URI | share: the memory budget of the owner | test:
  //   packages/mcp-server/test/owner-shares.test.ts: subscriptions and sessions past the memory budget are refused,
  //   or end the oldest sessions of their owner
  readonly #subscriptions = new Map<string, () => void>()
  /** Calls that go on without their HTTP request, with their bytes. */
  // @keyed none: the keys are calls of one session; maxSessionCalls, counted in the memory budget of its owner
  readonly #detached = new Map<SessionCall, number>()
  // @keyed none: the keys are ids of this process; maxQuestions for a call, maxOpenQuestions for all, an owner a
  //   quarter of them
  readonly #requests = new Map<string, OpenRequest>()
  // @keyed none: the keys are ids of this process; maxSessionCalls, and MAX_ENDED_STREAMS that have ended
  readonly #streams = new Map<string, ResumableStream>()
  readonly #store: EventLog
  /** Open server requests of all sessions. */
  readonly #questions: OwnerSlots
  readonly #limits: Limits
  readonly #watch: SessionOptions['watch']
  #standalone: ResumableStream | undefined
  /** The reader of the standalone stream at this replica; `isNewest` once the log has it. */
  #reader: { readonly id: string, readonly body: SseBody, isNewest: boolean } | undefined
  /** Whether a client ever read the standalone stream. */
  #hasReader = false
  #count = 0

  constructor (options: SessionOptions) {
    const { id = randomUUID(), key = id, maker, revision, capabilities, shared, store, questions, limits, watch } = options
    this.id = id
    this.key = key
    this.maker = maker
    this.shared = shared
    this.#store = shared ?? store
    this.#questions = questions
    this.#limits = limits
    this.#watch = watch
    this.held = memoryBudget.hold('MCP sessions', maker?.owner)
    this.held.grow(SESSION_BYTES)
    this.negotiate({ revision, capabilities })
  }

  get owner (): string | undefined { return this.maker?.owner }

  /** Sets what `initialize` negotiated. @throws MEMORY_BUDGET_EXCEEDED */
  negotiate ({ revision, capabilities }: Pick<Session, 'revision' | 'capabilities'>): void {
    const chars = JSON.stringify(capabilities).length - JSON.stringify(this.capabilities).length
    if (chars > 0) this.held.grow(chars * BYTES_PER_CHAR)
    this.revision = revision
    this.capabilities = capabilities
  }

  /** Whether it has neither a call nor a reader. */
  get isIdle (): boolean {
    const hasReader = this.#standalone?.hasReader ?? this.#reader !== undefined
    return this.calls.size === 0 && this.httpSse === undefined && !hasReader
  }

  /** Applies a change that a replica made. */
  apply (change: Change): void {
    if ('level' in change) this.logLevel = change.level
    else if ('unsubscribe' in change) this.unsubscribe(change.unsubscribe)
    else if ('cancel' in change) this.#call(change.cancel)?.cancel(new CallAbortedError('its caller cancelled it'))
    else if ('reader' in change) this.#moveReader(change.reader)
    else if ('subscribe' in change) {
      try { this.subscribe(change.subscribe) } catch { /* this replica has not enough memory */ }
    }
  }

  /**
   * A stream for the messages of the requests of one POST, with its first reader.
   * @param body of the response that reads it, if that has begun
   * @param id of `nextStream`
   */
  openStream (reply: FastifyReply, requests: readonly Request[], body?: SseBody, id?: string): ResumableStream {
    const stream = this.#newStream(id)
    if (this.shared === undefined) stream.attach(reply)
    else stream.begin(body ?? new SseBody(reply), this.shared.begin(stream.id, keptRequests(requests)))
    const ended = [...this.#streams.values()].filter(({ isOpen }) => !isOpen)
    for (const { id } of ended.slice(0, Math.max(0, ended.length - MAX_ENDED_STREAMS))) this.#drop(id)
    return stream
  }

  /** The stream for messages that belong to no call. */
  get standalone (): ResumableStream {
    this.#standalone ??= this.#newStream()
    return this.#standalone
  }

  stream (id: string): ResumableStream | undefined {
    return this.#streams.get(id)
  }

  /** Makes a response the reader of the standalone stream at this replica, until the function returned is called. */
  async read (body: SseBody): Promise<() => void> {
    const reader = this.#reader = { id: randomUUID(), body, isNewest: false }
    await this.shared?.write({ reader: reader.id })
    return () => { if (this.#reader === reader) this.#reader = undefined }
  }

  /** Sends a notification on the standalone stream, if it is open. A reader that is far behind is disconnected. */
  notify (method: string, params?: Params): void {
    const text = JSON.stringify({ jsonrpc: '2.0', method, params })
    if (this.#hasReader) this.shared?.notify(text)
    const stream = this.httpSse ?? this.#standalone
    void stream?.send(text)
    if (stream?.isFull === true) stream.detach()
  }

  /**
   * Adds a call; give its node to `removeCall` when it is over.
   * @throws RpcError with status 503, MEMORY_BUDGET_EXCEEDED
   */
  addCall (call: SessionCall): LinkedNode<SessionCall> {
    const { maxSessionCalls } = this.#limits
    if (this.calls.size >= maxSessionCalls) throw overload(`${maxSessionCalls} calls of this session are in progress`)
    if (this.httpSse !== undefined && !this.detach(call)) throw new MemoryBudgetError('calls of MCP sessions')
    return this.calls.add(call)
  }

  /** Counts the parameters of a call that goes on without its HTTP request; false if the budget is used up. */
  detach (call: SessionCall): boolean {
    if (this.#detached.has(call)) return true
    const bytes = JSON.stringify(call.params).length * BYTES_PER_CHAR
    if (!this.held.tryGrow(bytes)) return false
    this.#detached.set(call, bytes)
    return true
  }

  removeCall (node: LinkedNode<SessionCall>): void {
    node.remove()
    this.held.shrink(this.#detached.get(node.value) ?? 0)
    this.#detached.delete(node.value)
    this.lastUsed = performance.now()
    if (this.#requests.size === 0) return
    for (const [id, { call }] of this.#requests) if (call === node.value) this.removeRequest(id)
  }

  /** Cancels a call by the id of its request, also one of another replica. An unknown id is ignored. */
  cancel (id: unknown, reason: Error): Promise<void> | undefined {
    const call = this.#call(id)
    if (call !== undefined) call.cancel(reason)
    else if (typeof id === 'string' || typeof id === 'number') return this.shared?.write({ cancel: id })
    return undefined
  }

  get openRequests (): number { return this.#requests.size }

  /**
   * Registers a server request and returns its id; `settle` gets the response. Undefined where its owner has as many
   * open requests as it may have.
   */
  addRequest (call: SessionCall, settle: (response: Response) => void): string | undefined {
    if (!this.#questions.tryTake(this.owner)) return undefined
    const id = `ask-${this.shared === undefined ? '' : `${this.shared.replica}-`}${++this.#count}`
    this.#requests.set(id, { call, settle })
    this.shared?.listen(response => { void this.settleRequest(response) })
    return id
  }

  removeRequest (id: string): void {
    if (this.#requests.delete(id)) this.#questions.release(this.owner)
  }

  /** Settles a server request with the client's response, also one of another replica. An unknown id is ignored. */
  settleRequest (response: Response): Promise<void> | undefined {
    const request = this.#requests.get(response.id as string)
    if (request === undefined) return this.shared?.answer(response)
    this.removeRequest(response.id as string)
    request.settle(response)
    return undefined
  }

  /**
   * Subscribes to a resource; a second time changes nothing. @throws RpcError -32602 past `maxSubscriptions`,
   * MEMORY_BUDGET_EXCEEDED
   */
  subscribe (uri: string): void {
    if (this.#subscriptions.has(uri)) return
    const { maxSubscriptions } = this.#limits
    if (this.#subscriptions.size >= maxSubscriptions) {
      throw invalidParams(`a session may subscribe to ${maxSubscriptions} resources; end one by resources/unsubscribe`)
    }
    this.held.grow(subscriptionBytes(uri))
    this.#subscriptions.set(uri, this.#watch(uri, this.owner, uri => { this.notify('notifications/resources/updated', { uri }) }))
  }

  unsubscribe (uri: string): void {
    const stop = this.#subscriptions.get(uri)
    if (stop === undefined) return
    stop()
    this.#subscriptions.delete(uri)
    this.held.shrink(subscriptionBytes(uri))
  }

  /** Leaves its calls to the other replicas: their clients resume the streams there. */
  abandonStreams (): void {
    if (this.shared !== undefined) for (const stream of this.#streams.values()) stream.abandon()
  }

  /** Ends its subscriptions and streams. */
  close (): void {
    this.shared?.close()
    this.#reader?.body.finish()
    for (const uri of [...this.#subscriptions.keys()]) this.unsubscribe(uri)
    for (const id of [...this.#streams.keys()]) this.#drop(id)
    this.httpSse?.detach()
    this.held.release()
  }

  /** A new id of a stream. */
  nextStream (): string {
    const count = (++this.#count).toString(36)
    return this.shared === undefined ? count : `${this.shared.replica}-${count}`
  }

  #newStream (id = this.nextStream()): ResumableStream {
    const key = this.shared === undefined ? `${this.id}/${id}` : id
    const stream = new ResumableStream(id, key, this.#store, this.held, features[this.revision].primingEvents)
    this.#streams.set(id, stream)
    return stream
  }

  #call (id: unknown): SessionCall | undefined {
    return this.calls.values().find(call => call.id === id)
  }

  /** The standalone stream has one reader: the last, at whichever replica. */
  #moveReader (id: string): void {
    this.#hasReader = true
    if (this.#reader?.id === id) this.#reader.isNewest = true
    else if (this.#reader?.isNewest === true) this.#reader.body.finish()
  }

  #drop (id: string): void {
    this.#streams.get(id)?.drop()
    this.#streams.delete(id)
  }
}

/** What another replica needs to run requests again. */
function keptRequests (requests: readonly Request[]): string {
  return JSON.stringify(requests.map(({ id, method, params }) => {
    return { id, method, ...JSON.stringify(params ?? {}).length <= MAX_KEPT_CHARS && { params: params ?? {} } }
  }))
}

function subscriptionBytes (uri: string): number {
  return uri.length * BYTES_PER_CHAR + SUBSCRIPTION_BYTES
}
