import { backoff, isRecord, MemoryBudgetError, redirectOf, traceFields } from '@polyvac/core/plugin'
import { CODES, HEADERS } from '@polyvac/mcp-protocol'
import type { Agent } from 'undici'
import { RpcError, type Id, type RpcMessage } from '../../protocol/json-rpc.js'
import { cancelled, INITIALIZED, type Transport, type TransportEvents } from '../../session/transport.js'
import { CLIENT_INFO } from '../../protocol/revision.js'
import type { Authorization } from '../authorization.js'
import { Exchange, type ExchangeOwner, type ExchangeRequest } from './exchange.js'
import { HttpError } from '../http-error.js'

/** Delay in ms before a stream is resumed, unless its server names one. It doubles with each failure in a row. */
const RESUME_MS = 500
const RESUME_MAX_MS = 30_000
/** Bounds of a delay that the server names, in ms. */
const MIN_RETRY_MS = 10
const MAX_RETRY_MS = 2 ** 31 - 1
/** Failures in a row after which a stream is not resumed any more. */
const MAX_RESUMES = 8
/** Times that one request is sent again, after redirects or authorization. */
const MAX_REPEATS = 5

/** Key of the stream for messages that belong to no request (GET, up to revision 2025-11-25). */
const STANDALONE = 'standalone'

export interface StreamableOptions {
  readonly url: URL
  // @keyed none: it is `#agent` of the connection
  readonly agent: Agent
  /** Headers of the configuration. */
  readonly headers: Readonly<Record<string, string>>
  readonly maxMessageBytes: number
  readonly oauth: Authorization | undefined
  /** Headers of a request of revision 2026-07-28; undefined: an earlier revision is spoken. */
  readonly headersOf: ((message: RpcMessage) => Record<string, string>) | undefined
}

/** Streamable HTTP: sessions and resumable streams up to revision 2025-11-25, single requests from 2026-07-28 on. */
export class StreamableTransport implements Transport, ExchangeOwner {
  readonly isOrdered = false
  readonly maxMessageBytes: number
  sessionId: string | undefined
  readonly #options: StreamableOptions
  readonly #isModern: boolean
  /** Open exchanges, and delays before a stream is resumed, by the request that they belong to. */
  // @keyed none: the keys are numbers of requests of this process; maxInFlight
  readonly #open = new Map<Id, { cancel (): void }>()
  #events: TransportEvents | undefined
  #revision: string | undefined
  #headers!: Readonly<Record<ExchangeRequest['method'], Readonly<Record<string, string>>>>
  #isClosed = false

  constructor (options: StreamableOptions) {
    this.#options = options
    this.#isModern = options.headersOf !== undefined
    this.maxMessageBytes = options.maxMessageBytes
    this.#updateHeaders()
  }

  async open (events: TransportEvents): Promise<void> {
    this.#events = events
  }

  send (message: RpcMessage, owner?: string): void {
    const id = message.method === undefined ? undefined : message.id
    const trace = traceFields(isRecord(message.params) ? message.params._meta : undefined)
    const own = this.#options.headersOf?.(message)
    const headers = trace === undefined ? own : Object.assign({}, own, trace)
    this.#dispatch({ method: 'POST', body: JSON.stringify(message), headers, id, owner })
  }

  async initialized (revision: string): Promise<void> {
    this.#revision = revision
    this.#updateHeaders()
    await this.#settled({ method: 'POST', body: JSON.stringify(INITIALIZED) })
    this.#dispatch({ method: 'GET' })
  }

  /** Up to revision 2025-11-25 a closed stream does not cancel its request; from 2026-07-28 on nothing else does. */
  cancel (id: Id, reason: string): void {
    this.#open.get(id)?.cancel()
    this.#open.delete(id)
    if (!this.#isModern) this.send(cancelled(id, reason))
  }

  /** Ends the session at the server. */
  async endSession (): Promise<void> {
    await this.#settled({ method: 'DELETE' })
  }

  async close (): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const open of this.#open.values()) open.cancel()
    this.#open.clear()
    this.#events?.closed()
  }

  started ({ headers }: Exchange): void {
    const id = headers[HEADERS.sessionId]
    if (this.#isModern || typeof id !== 'string' || id === this.sessionId) return
    this.sessionId = id
    this.#updateHeaders()
  }

  message ({ request, isSuccess, status }: Exchange, message: RpcMessage): void {
    if (!this.#isClosed) this.#events?.message(message, request.id, undefined, isSuccess ? undefined : status)
  }

  trouble (err: Error): void {
    this.#events?.trouble(err)
  }

  ended (exchange: Exchange, err?: Error): void {
    if (err instanceof HttpError && (exchange.request.repeats ?? 0) < MAX_REPEATS) {
      const target = redirectOf(exchange, this.#options.url)
      if (target !== undefined) return this.#repeat(exchange, target)
      const { oauth } = this.#options
      if (oauth !== undefined && (err.status === 401 || err.status === 403)) {
        oauth.renew(err.status, exchange.headers['www-authenticate'], exchange.authorization).then(isRenewed => {
          this.#updateHeaders()
          if (isRenewed) this.#repeat(exchange)
          else this.#finish(exchange, err)
        }, (failure: Error) => this.#finish(exchange, failure))
        return
      }
    }
    this.#finish(exchange, err)
  }

  #finish (exchange: Exchange, err: Error | undefined): void {
    const { request, isAnswered } = exchange
    if (request.settle !== undefined) return request.settle(err)
    const key = keyOf(request)
    const isPending = key !== undefined && this.#forget(key, exchange) && !isAnswered
    if (isPending && this.#resume(exchange, err)) return
    if (isPending && request.id !== undefined) this.#events?.failed(request.id, failureOf(exchange, err), mayRun(exchange))
    // 405: the server has no stream for messages that belong to no request
    else if (err !== undefined && exchange.status !== 405) this.trouble(err)
  }

  /** Opens a stream again that ended before its response, with the id of its last event. Returns whether it does. */
  #resume ({ request, isStream, lastEventId, retryMs }: Exchange, err: Error | undefined): boolean {
    const key = keyOf(request)!
    if (this.#isClosed || this.#isModern || isFinal(err)) return false
    const canResume = isStream
      ? lastEventId !== undefined || key === STANDALONE
      : request.method === 'GET' && err !== undefined && !isRefusal(err)
    if (!canResume) return false
    const failures = isStream ? 0 : (request.failures ?? 0) + 1
    if (failures > MAX_RESUMES) return false
    const last = lastEventId ?? request.headers?.[HEADERS.lastEventId]
    const headers = last === undefined ? undefined : { [HEADERS.lastEventId]: last }
    const ms = retryMs === undefined
      ? backoff(failures + 1, { firstMs: RESUME_MS, maxMs: RESUME_MAX_MS })
      : Math.min(Math.max(retryMs, MIN_RETRY_MS), MAX_RETRY_MS)
    const timer = setTimeout(() => this.#dispatch({ method: 'GET', id: request.id, owner: request.owner, headers, failures }), ms)
    this.#open.set(key, { cancel: () => clearTimeout(timer) })
    return true
  }

  #repeat (exchange: Exchange, url?: URL): void {
    const { request } = exchange
    const key = keyOf(request)
    // it was cancelled meanwhile
    if (this.#isClosed || (key !== undefined && this.#open.get(key) !== exchange)) return
    this.#dispatch({ ...request, repeats: (request.repeats ?? 0) + 1 }, url)
  }

  #forget (key: Id, exchange: Exchange): boolean {
    return this.#open.get(key) === exchange && this.#open.delete(key)
  }

  #settled (request: ExchangeRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#dispatch({ ...request, settle: err => { if (err === undefined) resolve(); else reject(err) } })
    })
  }

  #dispatch (request: ExchangeRequest, { origin, pathname, search } = this.#options.url): void {
    const exchange = new Exchange(request, this)
    exchange.authorization = this.#headers.POST.authorization
    const key = keyOf(request)
    if (key !== undefined) this.#open.set(key, exchange)
    const common = this.#headers[request.method]
    const headers = request.headers === undefined ? common : { ...common, ...request.headers }
    const { method, body = null } = request
    this.#options.agent.dispatch({ origin, path: `${pathname}${search}`, method, headers, body }, exchange)
  }

  #updateHeaders (): void {
    const { headers, oauth } = this.#options
    const authorization = oauth?.authorization
    const common = {
      'user-agent': `${CLIENT_INFO.name}/${CLIENT_INFO.version}`,
      ...authorization !== undefined && { authorization },
      ...this.sessionId !== undefined && { [HEADERS.sessionId]: this.sessionId },
      ...this.#revision !== undefined && { [HEADERS.protocolVersion]: this.#revision },
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
    }
    this.#headers = {
      POST: { ...common, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      GET: { ...common, accept: 'text/event-stream' },
      DELETE: common
    }
  }
}

function keyOf ({ method, id }: ExchangeRequest): Id | undefined {
  return id ?? (method === 'GET' ? STANDALONE : undefined)
}

/** A refusal that the same request would meet again. */
function isRefusal (err: Error): boolean {
  return err instanceof HttpError && err.status < 500 && err.status !== 429
}

/** Whether this gateway has refused the response: it is not requested again. */
function isFinal (err: Error | undefined): boolean {
  return err instanceof RpcError || err instanceof MemoryBudgetError
}

/** Whether a server may be working on a request: it has not begun to answer it, or to refuse it. */
function mayRun ({ status, isStream }: Exchange): boolean {
  return isStream || status === 0 || status >= 500
}

function failureOf ({ request, isStream }: Exchange, err: Error | undefined): Error {
  const isCut = err === undefined || ((isStream || request.method === 'GET') && !isFinal(err))
  return isCut ? new RpcError(CODES.internalError, 'the server ended the stream without an answer') : err
}
