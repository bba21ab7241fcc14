import { isRecord, LightAbort, memoryBudget, type AbortSignalLike, type HeldBytes } from '@polyvac/core/plugin'
import { CODES, type CallProgress, type LogMessage } from '@polyvac/mcp-protocol'
import { RpcError, type Id, type RpcMessage } from '../protocol/json-rpc.js'
import type { MessageRedactor } from './redact-message.js'
import type { Transport, TransportEvents } from './transport.js'

/** Cancelled requests that are remembered. */
const MAX_CANCELLED = 1_000

/** The connection ended before the response. */
class ConnectionClosedError extends Error {}

/** Receives the response to a request: `answered` or `failed` is called once, unless the request is cancelled. */
export interface Waiting {
  /** It stays open for the whole session, such as `subscriptions/listen`. */
  readonly isStanding?: boolean
  readonly method?: string
  /** For whom its response is counted in the memory budget. */
  readonly owner?: string | undefined
  answered (result: Record<string, unknown>): void
  failed (err: unknown): void
  progressed (progress: CallProgress): unknown
}

export interface RpcHandlers {
  /**
   * Answers a request of the server. `call` is the request whose response stream carried it, null if that has ended,
   * undefined where the binding does not show it.
   */
  request (
    method: string, params: Record<string, unknown>, signal: AbortSignalLike, call: Waiting | null | undefined
  ): Promise<object>
  notification (method: string, params: Record<string, unknown>): void
  /** A log message; `call` as for `request`. */
  logged (message: LogMessage, call: Waiting | null | undefined): unknown
  /** The caller of a request has left, and the server may be working on it. */
  left (id: Id, waiting: Waiting): void
  /** The response to a request without a caller, or that it is refused. */
  settled (id: Id, result: unknown): void
  closed (): void
  trouble (err: Error): void
  /** Removes secrets from what the server sent. */
  readonly redact: MessageRedactor
}

/** JSON-RPC over one transport: requests with their progress, requests of the server, notifications. */
export class RpcChannel implements TransportEvents {
  /** When the last message came, as of `performance.now()`. */
  heardAt = performance.now()
  readonly #transport: Transport
  readonly #handlers: RpcHandlers
  /** `_meta` of every request. */
  readonly #envelope: object | undefined
  /** By id. An object, for the reason that `LinkedSet` of core gives. */
  // @keyed none: the keys are numbers of requests of this process; maxInFlight, an owner a quarter of them
  #waiting: Record<Id, Waiting> = Object.create(null) as Record<Id, Waiting>
  /** Requests of the server in progress. */
  // @keyed id that a server chose | holds: a request of the server in progress | whose: the server | bound: not
  //   bounded in number; a message has at most maxMessageBytes, and its id is part of it | share: of no owner: a
  //   request that no call gets is declined at once | test: packages/mcp-gateway/test/interactive.test.ts: a question
  //   that could be of several calls is declined, and the log has the reason
  readonly #serving = new Map<Id, LightAbort>()
  #lastId = 0
  /** Cancelled requests whose response may still come. */
  // @keyed none: the values are numbers of requests of this process; MAX_CANCELLED
  readonly #cancelled = new Set<Id>()

  constructor (transport: Transport, handlers: RpcHandlers, envelope?: object) {
    this.#transport = transport
    this.#handlers = handlers
    this.#envelope = envelope
  }

  async open (): Promise<void> {
    await this.#transport.open(this)
  }

  async initialized (revision: string): Promise<void> {
    await this.#transport.initialized(revision)
  }

  /** Sends a request; its id is also the token of its progress. `meta` is added to its `_meta`. */
  request (method: string, params: object, waiting: Waiting, meta?: object): Id {
    const id = ++this.#lastId
    this.#waiting[id] = waiting
    const hasMeta = meta !== undefined || this.#envelope !== undefined
    const _meta = hasMeta ? { ...this.#envelope, ...meta, progressToken: id } : { progressToken: id }
    // not a spread: adding a key to one is slow on Node.js 20
    this.#transport.send({ jsonrpc: '2.0', id, method, params: Object.assign({}, params, { _meta }) }, waiting.owner)
    return id
  }

  /** Cancels a request that has no response yet. */
  cancel (id: Id, reason: string): void {
    const waiting = this.#take(id)
    if (waiting === undefined) return
    this.#handlers.left(id, waiting)
    if (this.#cancelled.size < MAX_CANCELLED) this.#cancelled.add(id)
    this.#transport.cancel(id, reason)
  }

  /**
   * Fails the request whose response is refused. Without an id: the only open request, if there is exactly one and the
   * response cannot be that to a cancelled one.
   */
  failRefused (id: Id | undefined, err: Error): boolean {
    if (id !== undefined) {
      if (this.#cancelled.delete(id)) this.#handlers.settled(id, undefined)
    } else if (this.#cancelled.size > 0) {
      this.#cancelled.clear()
      return false
    }
    const open = Object.keys(this.#waiting).filter(key => this.#waiting[key]?.isStanding !== true)
    const [first, second] = id === undefined ? open : [id]
    if (first === undefined || second !== undefined || this.#waiting[first] === undefined) return false
    this.failed(first, err, false)
    return true
  }

  failed (id: Id, err: Error, mayRun: boolean): void {
    const waiting = this.#take(id)
    if (waiting === undefined) return
    if (mayRun) this.#handlers.left(id, waiting)
    waiting.failed(err)
  }

  trouble (err: Error): void {
    this.#handlers.trouble(err)
  }

  closed (): void {
    const lost = Object.values(this.#waiting)
    this.#waiting = Object.create(null) as Record<Id, Waiting>
    for (const abort of this.#serving.values()) abort.abort(new ConnectionClosedError('the connection was closed'))
    this.#serving.clear()
    this.#handlers.closed()
    for (const waiting of lost) waiting.failed(new ConnectionClosedError('the connection was closed'))
  }

  message (message: RpcMessage, related?: Id, long?: HeldBytes, httpStatus?: number): void {
    this.heardAt = performance.now()
    const { id, method, params, result, error } = message
    const { redact } = this.#handlers
    if (method === undefined) return this.#answer(id as Id, result, error, long, httpStatus)
    const read = isRecord(params) ? params : {}
    if (id !== undefined) return this.#serve(id, method, redact.question(read), related)
    switch (method) {
      case 'notifications/progress': {
        const { progressToken, ...progress } = read as unknown as { progressToken?: Id } & CallProgress
        return this.#call(() => this.#waiting[progressToken as Id]?.progressed(redact.progress(progress)))
      }
      case 'notifications/message': {
        return this.#call(() => this.#handlers.logged(redact.log(read as unknown as LogMessage), this.#carrier(related)))
      }
      case 'notifications/cancelled': {
        const { requestId, reason } = read as { requestId?: Id, reason?: unknown }
        const abort = this.#serving.get(requestId as Id)
        // a cancelled request gets no response
        this.#serving.delete(requestId as Id)
        return abort?.abort(new Error(String(reason)))
      }
      default: return this.#call(() => this.#handlers.notification(method, read))
    }
  }

  async close (): Promise<void> {
    await this.#transport.close()
  }

  #answer (id: Id, result: unknown, error: unknown, long: HeldBytes | undefined, httpStatus: number | undefined): void {
    const waiting = this.#take(id)
    // undefined: the request was cancelled before
    if (waiting === undefined) {
      this.#cancelled.delete(id)
      return this.#handlers.settled(id, result)
    }
    if (long !== undefined) {
      const held = memoryBudget.hold('answers of MCP servers', waiting.owner)
      const { bytes } = long
      long.release()
      if (!held.tryGrow(bytes)) return waiting.failed(held.refusal())
      // until its caller has it, who counts what it keeps
      setImmediate(() => held.release())
    }
    const { redact } = this.#handlers
    if (isRecord(error)) waiting.failed(errorOf(redact.error(error), httpStatus))
    else if (isRecord(result)) waiting.answered(redact.result(waiting.method, result))
    else waiting.failed(errorOf(redact.error({ code: CODES.internalError, message: 'the result is not an object', data: { result } }), undefined))
  }

  #serve (id: Id, method: string, params: Record<string, unknown>, related: Id | undefined): void {
    const respond = (body: object): void => this.#transport.send({ jsonrpc: '2.0', id, ...body })
    if (method === 'ping') return respond({ result: {} })
    const abort = new LightAbort()
    const other = this.#serving.get(id)
    if (other !== undefined) {
      // an answer to one would be read as the answer to the other, which may belong to another owner
      this.#serving.delete(id)
      other.abort(new Error('its server used the id again'))
      return respond({ error: { code: CODES.invalidRequest, message: `the id ${JSON.stringify(id)} belongs to another request in progress; both are refused` } })
    }
    this.#serving.set(id, abort)
    const end = (body: object): void => {
      if (this.#serving.get(id) !== abort) return
      this.#serving.delete(id)
      respond(body)
    }
    this.#handlers.request(method, params, abort, this.#carrier(related)).then(result => end({ result }), (err: RpcError) => {
      const { code, message, data } = err
      end({ error: { code: Number.isSafeInteger(code) ? code : CODES.internalError, message, data } })
    })
  }

  /** The request whose response stream carried a message: null if it has ended, undefined where no stream shows it. */
  #carrier (related: Id | undefined): Waiting | null | undefined {
    return related === undefined ? undefined : this.#waiting[related] ?? null
  }

  /** An exception of a listener must not end the connection. */
  #call (listen: () => unknown): void {
    const trouble = (err: unknown): void => this.trouble(err instanceof Error ? err : new Error(String(err)))
    try {
      const returned = listen()
      if (returned instanceof Promise) returned.catch(trouble)
    } catch (err) {
      trouble(err)
    }
  }

  #take (id: Id): Waiting | undefined {
    const waiting = this.#waiting[id]
    delete this.#waiting[id]
    return waiting
  }
}

/** The failure of a request whose response is not parsed: `problem` continues "the answer". */
export function refused (problem: string): RpcError {
  return new RpcError(CODES.internalError, `the answer ${problem}`, { refused: problem })
}

export function tooLong (bytes: number, maxBytes: number): string {
  return `has ${bytes} bytes, and ${maxBytes} are accepted`
}

function errorOf ({ code, message, data }: Record<string, unknown>, httpStatus: number | undefined): RpcError {
  return new RpcError(
    Number.isSafeInteger(code) ? code as number : CODES.internalError,
    typeof message === 'string' ? message : 'the server answered with an error without a message',
    data,
    httpStatus
  )
}
