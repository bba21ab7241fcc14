import { LinkedSet, type LinkedNode } from '@polyvac/core/plugin'
import { features, type ClientCapabilities, type LegacyRevision, type LogLevel } from '@polyvac/mcp-protocol'
import { randomUUID } from 'node:crypto'
import type { EventStore } from './event-store.js'
import type { Limits } from '../options.js'
import { RpcError, type Params, type RequestId, type Response } from '../protocol/rpc.js'
import { ResumableStream } from './resumable-stream.js'
import type { HttpSseStream } from './http-sse-stream.js'

export interface SessionParts {
  readonly owner: string | undefined
  readonly revision: LegacyRevision
  readonly capabilities: ClientCapabilities
  readonly store: EventStore
  readonly limits: Limits
}

/** What a session knows of a call. */
export interface SessionCall {
  readonly id: RequestId
  cancel (reason: Error): void
}

interface Asked { readonly call: SessionCall, settle (response: Response): void }

/** Streams that ended, remembered for readers that come back for the rest. */
const MAX_ENDED_STREAMS = 20

/** What a client up to 2025-11-25 began with `initialize`. It belongs to the caller that did. */
export class Session {
  readonly id = randomUUID()
  readonly owner: string | undefined
  /** What `initialize` agreed on. */
  revision: LegacyRevision
  capabilities: ClientCapabilities
  /** Where all messages go, over HTTP+SSE. */
  wire: HttpSseStream | undefined
  /** Levels below it are left out; without one, nothing is. */
  logLevel: LogLevel = 'debug'
  /** On the clock of this process, in ms. */
  lastUsed = performance.now()
  readonly calls = new LinkedSet<SessionCall>()
  readonly subscriptions = new Map<string, () => void>()
  readonly #asked = new Map<string, Asked>()
  readonly #streams = new Map<string, ResumableStream>()
  readonly #store: EventStore
  readonly #limits: Limits
  #standalone: ResumableStream | undefined
  #count = 0

  constructor ({ owner, revision, capabilities, store, limits }: SessionParts) {
    this.owner = owner
    this.revision = revision
    this.capabilities = capabilities
    this.#store = store
    this.#limits = limits
  }

  /** Whether nobody would miss it now. */
  get isIdle (): boolean {
    return this.calls.size === 0 && this.wire === undefined && this.#standalone?.isRead !== true
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

  /** Tells what belongs to no call. Before there has been a stream for it, nobody wants to know; a reader that is far behind has to come back. */
  notify (method: string, params?: Params): void {
    const stream = this.wire ?? this.#standalone
    stream?.send(JSON.stringify({ jsonrpc: '2.0', method, params }))
    if (stream?.isFull === true) stream.leave()
  }

  /** The call's place, for `end`. @throws RpcError with status 503 */
  begin (call: SessionCall): LinkedNode<SessionCall> {
    if (this.calls.size >= this.#limits.maxSessionCalls) throw new RpcError('internalError', `${this.#limits.maxSessionCalls} calls of this session are in progress; wait for one of them`, undefined, 503)
    return this.calls.add(call)
  }

  end (place: LinkedNode<SessionCall>): void {
    place.remove()
    this.lastUsed = performance.now()
    if (this.#asked.size === 0) return
    for (const [id, asked] of this.#asked) if (asked.call === place.value) this.#asked.delete(id)
  }

  /** Cancels a call by the id of its request; one that is over, or never was, is passed over. */
  cancel (id: unknown, reason: Error): void {
    this.calls.values().find(call => call.id === id)?.cancel(reason)
  }

  get openQuestions (): number { return this.#asked.size }

  /** Registers a request to the client; `settle` gets what it answers. */
  expect (call: SessionCall, settle: (response: Response) => void): string {
    const id = `ask-${++this.#count}`
    this.#asked.set(id, { call, settle })
    return id
  }

  forget (id: string): void {
    this.#asked.delete(id)
  }

  /** Takes an answer of the client; one that nobody waits for is passed over. */
  answer (response: Response): void {
    const asked = this.#asked.get(response.id as string)
    this.#asked.delete(response.id as string)
    asked?.settle(response)
  }

  /** Ends all that belongs to it. */
  close (): void {
    for (const stop of this.subscriptions.values()) stop()
    this.subscriptions.clear()
    for (const id of [...this.#streams.keys()]) this.#drop(id)
    this.wire?.close()
  }

  #newStream (): ResumableStream {
    const id = (++this.#count).toString(36)
    const stream = new ResumableStream(id, `${this.id}/${id}`, this.#store, features[this.revision].primingEvents)
    this.#streams.set(id, stream)
    return stream
  }

  #drop (id: string): void {
    this.#streams.get(id)?.drop()
    this.#streams.delete(id)
  }
}
