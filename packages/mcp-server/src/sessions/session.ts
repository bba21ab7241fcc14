import { BYTES_PER_CHAR, LinkedSet, memoryBudget, MemoryBudgetError, type HeldBytes, type LinkedNode, type OwnerSlots } from '@polyvac/core/plugin'
import { features, type ClientCapabilities, type LegacyRevision, type LogLevel } from '@polyvac/mcp-protocol'
import { randomUUID } from 'node:crypto'
import type { Limits } from '../options.js'
import { invalidParams, overload, type Params, type RequestId, type Response } from '../protocol/rpc.js'
import type { EventStore } from './event-store.js'
import type { HttpSseStream } from './http-sse-stream.js'
import { ResumableStream } from './resumable-stream.js'

export type SessionOptions =
  Pick<Session, 'owner' | 'revision' | 'capabilities'> & { store: EventStore, questions: OwnerSlots, limits: Limits }

/** What a session knows of a call. */
export interface SessionCall {
  readonly id: RequestId
  readonly params: Params
  cancel (reason: Error): void
}

/** Bytes of a session, and of a subscription besides its URI. */
const SESSION_BYTES = 2_000
const SUBSCRIPTION_BYTES = 500

interface OpenRequest { readonly call: SessionCall, settle (response: Response): void }

/** Ended streams that are kept for clients that resume them. */
const MAX_ENDED_STREAMS = 20

/** A session of a client up to 2025-11-25, from `initialize` on. It belongs to the caller that sent it. */
export class Session {
  readonly id = randomUUID()
  readonly owner: string | undefined
  /** Negotiated with `initialize`. */
  revision: LegacyRevision = '2024-11-05'
  capabilities: ClientCapabilities = {}
  /** The stream of all messages, over HTTP+SSE. */
  httpSse: HttpSseStream | undefined
  /** The lowest level of log messages that are sent. */
  logLevel: LogLevel = 'debug'
  /** On the clock of this process, in ms. */
  lastUsed = performance.now()
  readonly calls = new LinkedSet<SessionCall>()
  /** What it makes the process hold. */
  readonly held: HeldBytes
  readonly #subscriptions = new Map<string, () => void>()
  /** Calls that go on without their HTTP request, with their bytes. */
  readonly #detached = new Map<SessionCall, number>()
  readonly #requests = new Map<string, OpenRequest>()
  readonly #streams = new Map<string, ResumableStream>()
  readonly #store: EventStore
  /** Open server requests of all sessions. */
  readonly #questions: OwnerSlots
  readonly #limits: Limits
  #standalone: ResumableStream | undefined
  #count = 0

  constructor ({ owner, revision, capabilities, store, questions, limits }: SessionOptions) {
    this.owner = owner
    this.#store = store
    this.#questions = questions
    this.#limits = limits
    this.held = memoryBudget.hold('MCP sessions', owner)
    this.held.grow(SESSION_BYTES)
    this.negotiate({ revision, capabilities })
  }

  /** Sets what `initialize` negotiated. @throws MEMORY_BUDGET_EXCEEDED */
  negotiate ({ revision, capabilities }: Pick<Session, 'revision' | 'capabilities'>): void {
    const chars = JSON.stringify(capabilities).length - JSON.stringify(this.capabilities).length
    if (chars > 0) this.held.grow(chars * BYTES_PER_CHAR)
    this.revision = revision
    this.capabilities = capabilities
  }

  /** Whether it has neither a call nor a reader. */
  get isIdle (): boolean {
    return this.calls.size === 0 && this.httpSse === undefined && this.#standalone?.hasReader !== true
  }

  /** A stream for the messages of one call. */
  openStream (): ResumableStream {
    const stream = this.#newStream()
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

  /** Sends a notification on the standalone stream, if it is open. A reader that is far behind is disconnected. */
  notify (method: string, params?: Params): void {
    const stream = this.httpSse ?? this.#standalone
    stream?.send(JSON.stringify({ jsonrpc: '2.0', method, params }))
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

  /** Cancels a call by the id of its request. An unknown id is ignored. */
  cancel (id: unknown, reason: Error): void {
    this.calls.values().find(call => call.id === id)?.cancel(reason)
  }

  get openRequests (): number { return this.#requests.size }

  /**
   * Registers a server request and returns its id; `settle` gets the response. Undefined where its owner has as many
   * open requests as it may have.
   */
  addRequest (call: SessionCall, settle: (response: Response) => void): string | undefined {
    if (!this.#questions.tryTake(this.owner)) return undefined
    const id = `ask-${++this.#count}`
    this.#requests.set(id, { call, settle })
    return id
  }

  removeRequest (id: string): void {
    if (this.#requests.delete(id)) this.#questions.release(this.owner)
  }

  /** Settles a server request with the client's response. An unknown id is ignored. */
  settleRequest (response: Response): void {
    const request = this.#requests.get(response.id as string)
    this.removeRequest(response.id as string)
    request?.settle(response)
  }

  /**
   * Subscribes to a resource; a second time changes nothing. @throws RpcError -32602 past `maxSubscriptions`,
   * MEMORY_BUDGET_EXCEEDED
   */
  subscribe (uri: string, start: () => () => void): void {
    if (this.#subscriptions.has(uri)) return
    const { maxSubscriptions } = this.#limits
    if (this.#subscriptions.size >= maxSubscriptions) {
      throw invalidParams(`a session may subscribe to ${maxSubscriptions} resources; end one by resources/unsubscribe`)
    }
    this.held.grow(subscriptionBytes(uri))
    this.#subscriptions.set(uri, start())
  }

  unsubscribe (uri: string): void {
    const stop = this.#subscriptions.get(uri)
    if (stop === undefined) return
    stop()
    this.#subscriptions.delete(uri)
    this.held.shrink(subscriptionBytes(uri))
  }

  /** Ends its subscriptions and streams. */
  close (): void {
    for (const uri of [...this.#subscriptions.keys()]) this.unsubscribe(uri)
    for (const id of [...this.#streams.keys()]) this.#drop(id)
    this.httpSse?.detach()
    this.held.release()
  }

  #newStream (): ResumableStream {
    const id = (++this.#count).toString(36)
    const stream = new ResumableStream(id, `${this.id}/${id}`, this.#store, this.held, features[this.revision].primingEvents)
    this.#streams.set(id, stream)
    return stream
  }

  #drop (id: string): void {
    this.#streams.get(id)?.drop()
    this.#streams.delete(id)
  }
}

function subscriptionBytes (uri: string): number {
  return uri.length * BYTES_PER_CHAR + SUBSCRIPTION_BYTES
}
