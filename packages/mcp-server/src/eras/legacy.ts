import type { Authenticate, Principal } from '@polyvac/core'
import { CallAbortedError, isInner, isRecord, MemoryBudgetError, placeOf, watchCaller, type CallPlace, type LinkedNode, type OpenCalls } from '@polyvac/core/plugin'
import {
  ASSUMED_REVISION, features, HEADERS, isLegacy, LEGACY_REVISIONS, LISTS, NEWEST_LEGACY, readCapabilities,
  type LegacyRevision
} from '@polyvac/mcp-protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Call } from '../calls/call.js'
import { LegacyCall } from '../calls/legacy-call.js'
import { runCall } from '../calls/run-call.js'
import type { McpContext } from '../context.js'
import { whenOver } from '../http/message-stream.js'
import { ResponseWriter } from '../http/response.js'
import { legacyMethods } from '../methods/legacy.js'
import { mayRunAgain } from '../methods/run-again.js'
import {
  checkLengths, errorText, invalidParams, messageKind, overload, refusal, resultText, unknownMethod,
  RpcError, type Json, type Notification, type Request, type RequestId, type Response
} from '../protocol/rpc.js'
import { parseEventId, type ResumableStream } from '../sessions/resumable-stream.js'
import type { Session, SessionCall } from '../sessions/session.js'
import { readStandalone, resumeStream } from '../sessions/shared-readers.js'
import { STANDALONE, type Sent, type SharedSession } from '../sessions/shared-session.js'
import type { Sessions } from '../sessions/sessions.js'
import type { ChangeListener } from '../tool-source.js'

/** Time in ms after which a call becomes an event stream, where another replica can resume it. */
const LONG_CALL_MS = 200

/** The revisions up to 2025-11-25: `initialize`, then the requests of a session, or only requests, without sessions. */
export class Legacy {
  readonly #server: McpContext
  readonly #sessions: Sessions | undefined

  constructor (server: McpContext, sessions: Sessions | undefined) {
    this.#server = server
    this.#sessions = sessions
    server.registry.onChange((kinds, of) => this.#notifyChange(kinds, of))
  }

  /** Handles a POST. @throws RpcError with a status */
  post (request: FastifyRequest, reply: FastifyReply, body: unknown): void {
    if (Array.isArray(body)) return this.#batch(request, reply, body)
    const kind = messageKind(body)
    const message = body as Request
    if (kind === 'request' && message.method === 'initialize') return this.#initialize(request, reply, message)
    const session = isEarlyPing(request, message) ? undefined : this.#session(request)
    const revision = revisionOf(request, session)
    if (kind === 'request') {
      return this.#call(this.callerOf(request), message, new ResponseWriter(reply, streamOpener(session, [message])), revision, session)
    }
    sendAfter(this.receive(kind, message, session), reply, 202)
  }

  /** Handles a GET: opens the standalone stream, or resumes another. @throws RpcError with a status */
  get (request: FastifyRequest, reply: FastifyReply): void {
    const session = this.#session(request)
    if (session === undefined) throw refusal('this server does not have sessions, so there are no streams to open', 405)
    const lastEventId = request.headers[HEADERS.lastEventId]
    const release = this.#server.streams.take(session.owner)
    if (session.shared !== undefined) {
      whenOver(reply, release)
      this.#readShared(request, reply, session, session.shared).catch(err => { reply.send(err) })
      return
    }
    try {
      if (typeof lastEventId !== 'string' || lastEventId === '') session.standalone.attach(reply)
      else {
        const event = parseEventId(lastEventId)
        const stream = event === undefined ? undefined : session.stream(event.stream)
        if (event === undefined || stream === undefined || !stream.has(event.seq)) {
          throw refusal(NOT_KEPT)
        }
        stream.attach(reply, event.seq)
      }
    } catch (err) {
      release()
      throw err
    }
    whenOver(reply, () => {
      release()
      session.lastUsed = performance.now()
    })
  }

  /** Handles a DELETE: ends the session. @throws RpcError with a status */
  delete (request: FastifyRequest, reply: FastifyReply): void {
    const session = this.#session(request)
    if (session === undefined) throw refusal('this server does not have sessions to end', 405)
    sendAfter(this.#sessions?.delete(session), reply, 204)
  }

  /** Makes the session that a request names known to this replica, where any replica serves it. */
  async load (request: FastifyRequest): Promise<void> {
    const id = request.headers[HEADERS.sessionId]
    if (typeof id === 'string') await this.#sessions?.load(id, this.#server.principalOf(request))
  }

  /** Handles a GET of a session that any replica serves. @throws RpcError with a status, TASK_STORE_UNAVAILABLE */
  async #readShared (request: FastifyRequest, reply: FastifyReply, session: Session, shared: SharedSession): Promise<void> {
    const { [HEADERS.lastEventId]: lastEventId = '' } = request.headers
    const event = parseEventId(String(lastEventId))
    if (lastEventId === '' || event?.stream === STANDALONE) return await readStandalone(reply, session, shared, event?.seq)
    if (event === undefined) throw refusal(NOT_KEPT)
    const revision = revisionOf(request, session)
    const caller = this.callerOf(request)
    await resumeStream(reply, shared, event, {
      nextStream: () => session.nextStream(),
      run: (stream, requests, body, sent) => {
        const open = (): ResumableStream => session.openStream(reply, requests, body, stream)
        const response = new ResponseWriter(reply, open, requests.length)
        response.begin()
        for (const message of requests) void this.#runAgain(caller, message, response, revision, session, sent)
      }
    })
  }

  /** Runs a request of a replica that has ended. */
  async #runAgain (...given: CallArguments): Promise<void> {
    const [{ principal }, message, response] = given
    if (await mayRunAgain(this.#server, message, principal)) this.#call(...given)
    else response.end(errorText(message.id, new RpcError('internalError', 'the replica that ran this call has ended; call again')))
  }

  /** Handles a request of a session over HTTP+SSE. */
  handle (caller: Caller, message: Request, response: ResponseWriter, session: Session): void {
    if (message.method !== 'initialize') {
      return this.#call(caller, message, response, session.revision, session)
    }
    try {
      session.negotiate(negotiate(message))
      response.end(this.#initializeResult(message.id, session.revision))
    } catch (err) {
      response.end(errorText(message.id, errorOf(err)))
    }
  }

  #initialize (request: FastifyRequest, reply: FastifyReply, message: Request): void {
    const { revision, capabilities } = negotiate(message)
    const id = this.#sessions?.begin({ maker: this.#server.principalOf(request), revision, capabilities })
    if (id !== undefined) reply.header(HEADERS.sessionId, id)
    new ResponseWriter(reply).end(this.#initializeResult(message.id, revision))
  }

  #initializeResult (id: RequestId, revision: LegacyRevision): Json {
    const { info: serverInfo, instructions } = this.#server
    const capabilities = this.#server.capabilities(revision)
    return resultText(id, JSON.stringify({ protocolVersion: revision, capabilities, serverInfo, instructions }))
  }

  #batch (request: FastifyRequest, reply: FastifyReply, messages: readonly unknown[]): void {
    const session = this.#session(request)
    const revision = revisionOf(request, session)
    if (!features[revision].batches) throw refusal(`revision ${revision} does not have batches; send one message`)
    const { maxBatch } = this.#server.limits
    if (messages.length === 0 || messages.length > maxBatch) throw refusal(`a batch has 1 to ${maxBatch} messages`)
    const parts = messages.map(message => ({ kind: messageKind(message), message: message as Request }))
    if (parts.some(({ message }) => message.method === 'initialize')) throw refusal('a batch cannot have initialize')
    const requests = parts.filter(({ kind }) => kind === 'request')
    const passed = parts.map(({ kind, message }) => kind === 'request' ? undefined : this.receive(kind, message, session))
    if (requests.length === 0) return sendAfter(Promise.all(passed), reply, 202)
    // the response is that of the requests
    for (const work of passed) work?.catch((err: unknown) => { request.log.error({ err }, 'a message of a batch could not be passed on') })
    const open = streamOpener(session, requests.map(({ message }) => message))
    const response = new ResponseWriter(reply, open, requests.length)
    const caller = this.callerOf(request)
    for (const { message } of requests) this.#call(caller, message, response, revision, session)
  }

  #call (...[{ request, principal }, { id, method, params = {} }, response, revision, session, sent]: CallArguments): void {
    let place: CallPlace | undefined
    try {
      // the calls of a GET were counted with the requests that sent them
      place = placeOf(request)?.next(request.method === 'POST')
    } catch (err) {
      return response.end(errorText(id, boundError(err)))
    }
    const handler = legacyMethods.get(method)
    try {
      if (handler === undefined) throw unknownMethod(method)
      checkLengths(params)
    } catch (err) {
      place?.release()
      return response.end(errorText(id, err as RpcError))
    }
    const { calls, disconnects, limits, authenticate } = this.#server
    const options = { request, response, id, method, params, principal, place, disconnects, sessionId: session?.key, sent }
    const call = new LegacyCall(options, revision, session, limits)
    const work = (): Promise<Json> | Json => handler(this.#server, call)
    if (session === undefined) void runCall(calls, call, work)
    else runInSession(calls, session, call, work, authenticate)
  }

  callerOf (request: FastifyRequest): Caller { return { request, principal: this.#server.principalOf(request) } }

  /** Handles a message without a response. A promise means that it is passed to another replica. */
  receive (
    kind: 'notification' | 'response', message: Notification | Response, session: Session | undefined
  ): Promise<void> | undefined {
    if (kind === 'response') return session?.settleRequest(message as Response)
    const { method, params = {} } = message as Notification
    if (method !== 'notifications/cancelled') return undefined
    return session?.cancel(params.requestId, new CallAbortedError('its caller cancelled it'))
  }

  /** The session that a request names; undefined without sessions. @throws RpcError */
  #session (request: FastifyRequest): Session | undefined {
    if (this.#sessions === undefined) return undefined
    const id = request.headers[HEADERS.sessionId]
    if (typeof id !== 'string' || id === '') {
      throw refusal(isInner(request.raw.socket) ? 'the session has not begun; send initialize first' : 'Mcp-Session-Id is missing; begin with initialize')
    }
    const session = this.#sessions.find(id, this.#server.principalOf(request))
    if (session === undefined) throw refusal('the session does not exist, or has ended; begin with initialize', 404)
    return session
  }

  #notifyChange (...[kinds, of]: Parameters<ChangeListener>): void {
    const methods = new Set(kinds.map(kind => LISTS[kind].changed))
    for (const session of this.#sessions?.all() ?? []) {
      if (of === undefined || of.owner === session.owner) for (const method of methods) session.notify(method)
    }
  }
}

const NOT_KEPT = 'Last-Event-ID names an event that is not kept; open a stream without it'

/** Who calls, and the request that the call belongs to: that of the stream, where another replica got the message. */
export interface Caller { readonly request: FastifyRequest, readonly principal: Principal | undefined }

type CallArguments = [
  caller: Caller, message: Request, response: ResponseWriter, revision: LegacyRevision, session: Session | undefined,
  sent?: Sent
]

/** Sends an empty response once `work` is done. */
export function sendAfter (work: Promise<unknown> | undefined, reply: FastifyReply, status: number): void {
  if (work === undefined) reply.code(status).send()
  else work.then(() => { reply.code(status).send() }, err => { reply.send(err) })
}

/** The revision and the capabilities of an `initialize` request. @throws RpcError -32602 */
function negotiate ({ params = {} }: Request): Pick<Session, 'revision' | 'capabilities'> {
  const { protocolVersion, capabilities, clientInfo } = params
  if (typeof protocolVersion !== 'string' || !isRecord(capabilities) || !isRecord(clientInfo)) {
    throw invalidParams('initialize needs `protocolVersion`, `capabilities` and `clientInfo`')
  }
  const revision = isLegacy(protocolVersion) ? protocolVersion : NEWEST_LEGACY
  return { revision, capabilities: readCapabilities(capabilities) }
}

function runInSession (
  openCalls: OpenCalls<Call>, session: Session, call: LegacyCall, work: () => Promise<Json> | Json, authenticate: Authenticate | undefined
): void {
  let node: LinkedNode<SessionCall>
  try {
    node = session.addCall(call)
  } catch (err) {
    call.place?.release()
    return call.fail(errorOf(err))
  }
  // it goes on without its request, and ends with the credential of its caller
  const unwatch = watchCaller(authenticate, call.principal, () => { call.cancel(new CallAbortedError('its credential ended')) })
  const timer = beginsEarly(session) ? setTimeout(() => { if (!call.isOver) call.response.begin() }, LONG_CALL_MS) : undefined
  void runCall(openCalls, call, work, () => {
    clearTimeout(timer)
    unwatch()
    session.removeCall(node)
  })
}

/** Whether the client of a long call gets a stream that it can resume through another replica. */
function beginsEarly ({ shared, revision }: Session): boolean {
  return shared !== undefined && features[revision].primingEvents
}

/** A refusal of a session; that of the memory budget has status 503. */
function errorOf (err: unknown): RpcError {
  return err instanceof MemoryBudgetError ? overload(err.message) : err as RpcError
}

/** The refusal of a bound of the caller, in a batch or on a stream: its HTTP status and header are data. */
function boundError (err: unknown): RpcError {
  const { message, code, statusCode: status, headers } = err as Error & { code?: string, statusCode?: number, headers?: Record<string, string> }
  const retryAfter = Number(headers?.['retry-after'] ?? 1)
  return new RpcError('internalError', message, { code, status, retryAfter })
}

/** Whether a client of standard input sends a ping before `initialize`, which it may. */
function isEarlyPing ({ headers, raw }: FastifyRequest, { method }: Request): boolean {
  return method === 'ping' && headers[HEADERS.sessionId] === undefined && isInner(raw.socket)
}

/** Opens the stream of a response: a resumable one in a session. */
function streamOpener (
  session: Session | undefined, requests: readonly Request[]
): ConstructorParameters<typeof ResponseWriter>[1] {
  return session === undefined ? undefined : reply => session.openStream(reply, requests)
}

/** The revision of a request. @throws RpcError with status 400 */
function revisionOf ({ headers }: FastifyRequest, session: Session | undefined): LegacyRevision {
  const named = headers[HEADERS.protocolVersion]
  if (named !== undefined && !isLegacy(named)) {
    const version = JSON.stringify(String(named).slice(0, 40))
    throw refusal(`MCP-Protocol-Version ${version} is not served; use one of ${LEGACY_REVISIONS.join(', ')}`)
  }
  return session?.revision ?? named ?? ASSUMED_REVISION
}
