import type { Transport, TransportSendOptions } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ErrorCode, McpError, type JSONRPCMessage, type MessageExtraInfo } from '@modelcontextprotocol/sdk/types.js'
import { isRecord } from '../is-record.js'
import type { CallProgress, LogMessage } from '../protocol/call-options.js'

type Id = string | number
type Result = Record<string, unknown>
type Loose = { id?: Id, method?: string, params?: unknown, result?: unknown, error?: unknown }

/** Of requests whose connection ended first. Servers use the code for other things, too. */
export const CLOSED = 'the connection was closed'

/** Where a request's answer goes. Exactly one of `answered` and `failed` is called, unless the request is cancelled. */
export interface Waiting {
  answered (result: Result): void
  failed (err: unknown): void
  progressed (progress: CallProgress): unknown
  logged (message: LogMessage): unknown
}

export interface RpcChannelOptions {
  /** A request was cancelled before its answer. */
  readonly onCancelled?: ((id: Id) => void) | undefined
  /** Whose log message this is, where the connection does not tell. */
  readonly loggedBy: () => Waiting | undefined
}

/**
 * The gateway's requests, over a connection that it shares with the SDK's client. The client has the handshake, and what
 * the server asks and tells; it would drop progress that comes together with its answer, leave a call waiting whose answer
 * is of an unusual shape, and costs more than all else of a short call.
 */
export class RpcChannel implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void
  /** When the server was last heard, as of `performance.now()`. */
  heardAt = performance.now()
  readonly #inner: Transport
  readonly #options: RpcChannelOptions
  /** By id. No Map, for the reason that `LinkedSet` of core gives. */
  #waiting: Record<Id, Waiting> = Object.create(null) as Record<Id, Waiting>
  /** Which request a question of the server came with, by the question's id. */
  readonly #askedIn = new Map<Id, Id>()
  /** The client's own ids, of which there is the handshake's, are small. */
  #lastId = 1_000

  constructor (inner: Transport, options: RpcChannelOptions) {
    this.#inner = inner
    this.#options = options
  }

  get sessionId (): string | undefined { return this.#inner.sessionId }

  async start (): Promise<void> {
    this.#inner.onclose = () => {
      const lost = Object.values(this.#waiting)
      this.#waiting = Object.create(null) as Record<Id, Waiting>
      this.onclose?.()
      for (const waiting of lost) waiting.failed(new McpError(ErrorCode.ConnectionClosed, CLOSED))
    }
    this.#inner.onerror = err => this.onerror?.(err)
    this.#inner.onmessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) => this.#read(message, extra)
    await this.#inner.start()
  }

  /** Sends a message of the client. */
  async send (message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const { id, method } = message as Loose
    if (id !== undefined && method !== undefined) {
      const answer = (body: object): void => { this.onmessage?.({ jsonrpc: '2.0', id, ...body } as JSONRPCMessage) }
      this.#waiting[id] = {
        answered: result => answer({ result }),
        failed: err => answer({ error: { code: (err as McpError).code, message: wordsOf(err as McpError) } }),
        progressed () {},
        logged () {}
      }
    } else if (id !== undefined) this.#askedIn.delete(id)
    await this.#inner.send(message, options)
  }

  /** Sends a request; its id is also the token of its progress. `meta` goes with it. */
  request (method: string, params: object, waiting: Waiting, meta?: object): Id {
    const id = ++this.#lastId
    this.#waiting[id] = waiting
    this.#inner.send({ jsonrpc: '2.0', id, method, params: Object.assign({}, params, { _meta: meta === undefined ? { progressToken: id } : { ...meta, progressToken: id } }) } as JSONRPCMessage).catch((err: unknown) => {
      if (this.#take(id) !== undefined) waiting.failed(err)
    })
    return id
  }

  /** Gives a request up and tells its server; does nothing if it has been answered. */
  cancel (id: Id, reason: string): void {
    if (this.#take(id) === undefined) return
    this.#options.onCancelled?.(id)
    this.#inner.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason } }).catch((err: Error) => this.onerror?.(err))
  }

  /** Fails a request in place of the server. Without an id, the only request there is, if there is only one. */
  fail (id: Id | undefined, message: string, data: object): boolean {
    const [first, second] = id === undefined ? Object.keys(this.#waiting) : [id]
    const waiting = first === undefined || second !== undefined ? undefined : this.#take(first)
    if (waiting === undefined) return false
    waiting.failed(new McpError(ErrorCode.InternalError, message, data))
    return true
  }

  /** Takes a message that came with the answer to a request of ours, where the connection keeps them apart. */
  receive (message: JSONRPCMessage, related: Id): void {
    this.#read(message, undefined, related)
  }

  /** The request that a question of the server came with, where that is known; null where it has ended. */
  askedIn (question: Id): Waiting | null | undefined {
    const id = this.#askedIn.get(question)
    return id === undefined ? undefined : this.#waiting[id] ?? null
  }

  async close (): Promise<void> {
    await this.#inner.close()
  }

  setProtocolVersion = (version: string): void => {
    this.#inner.setProtocolVersion?.(version)
  }

  /** A listener's fault is not the server's. */
  #tell (listen: () => unknown): void {
    const trouble = (err: unknown): void => this.onerror?.(err instanceof Error ? err : new Error(String(err)))
    try {
      const told = listen()
      if (told instanceof Promise) told.catch(trouble)
    } catch (err) {
      trouble(err)
    }
  }

  #take (id: Id): Waiting | undefined {
    const waiting = this.#waiting[id]
    delete this.#waiting[id]
    return waiting
  }

  #read (message: JSONRPCMessage, extra: MessageExtraInfo | undefined, related?: Id): void {
    this.heardAt = performance.now()
    const { id, method, params, result, error } = message as Loose
    if (method === undefined) {
      const waiting = this.#take(id as Id)
      // an answer that comes after its request was given up
      if (waiting === undefined) return
      if (isRecord(error)) waiting.failed(problemOf(error))
      else if (isRecord(result)) waiting.answered(result)
      else waiting.failed(new McpError(ErrorCode.InternalError, 'the server answered with a result that is no object', { result }))
    } else if (method === 'notifications/progress' && id === undefined) {
      const { progressToken, ...progress } = (params ?? {}) as { progressToken?: Id } & CallProgress
      this.#tell(() => this.#waiting[progressToken as Id]?.progressed(progress))
    } else if (method === 'notifications/message' && id === undefined) {
      const waiting = related === undefined ? this.#options.loggedBy() : this.#waiting[related]
      this.#tell(() => waiting?.logged((params ?? {}) as LogMessage))
    } else {
      if (related !== undefined && (typeof id === 'string' || typeof id === 'number')) this.#askedIn.set(id, related)
      // the client gives no answer to a question that is taken back
      if (method === 'notifications/cancelled') this.#askedIn.delete((params as { requestId?: Id } | undefined)?.requestId as Id)
      this.onmessage?.(message, extra)
    }
  }
}

/** What a server says, without the words that the SDK puts before it. */
export function wordsOf (err: unknown): string {
  const { message } = err as { message?: unknown }
  return (typeof message === 'string' ? message : 'no reason given').replace(/^MCP error -?\d+: /, '')
}

/** An error as the protocol has it, whatever the server made of it. */
function problemOf ({ code, message, data }: Result): McpError {
  return new McpError(
    Number.isSafeInteger(code) ? code as number : ErrorCode.InternalError,
    typeof message === 'string' ? message : 'the server answered with an error without a message',
    data
  )
}
