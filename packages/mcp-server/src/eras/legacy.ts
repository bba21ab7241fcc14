import { CallAbortedError, isRecord, MemoryBudgetError, type OpenCalls } from '@polyvac/core/plugin'
import {
  ASSUMED_REVISION, features, HEADERS, isLegacy, LEGACY_REVISIONS, LISTS, NEWEST_LEGACY, readCapabilities,
  type LegacyRevision, type ListKind
} from '@polyvac/mcp-protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Call } from '../calls/call.js'
import { LegacyCall } from '../calls/legacy-call.js'
import { runCall } from '../calls/run-call.js'
import type { McpContext } from '../context.js'
import { whenOver } from '../http/message-stream.js'
import { ResponseWriter } from '../http/response.js'
import { legacyMethods } from '../methods/legacy.js'
import {
  checkLengths, errorText, invalidParams, messageKind, overload, refusal, resultText, unknownMethod,
  type Json, type Notification, type Request, type RequestId, type Response, type RpcError
} from '../protocol/rpc.js'
import { parseEventId } from '../sessions/resumable-stream.js'
import type { Session } from '../sessions/session.js'
import type { Sessions } from '../sessions/sessions.js'

/** The revisions up to 2025-11-25: `initialize`, then the requests of a session, or requests alone without sessions. */
export class Legacy {
  readonly #server: McpContext
  readonly #sessions: Sessions | undefined

  constructor (server: McpContext, sessions: Sessions | undefined) {
    this.#server = server
    this.#sessions = sessions
    server.registry.onChange(kinds => this.#notifyChange(kinds))
  }

  /** Handles a POST. @throws RpcError with a status */
  post (request: FastifyRequest, reply: FastifyReply, body: unknown): void {
    if (Array.isArray(body)) return this.#batch(request, reply, body)
    const kind = messageKind(body)
    const message = body as Request
    if (kind === 'request' && message.method === 'initialize') return this.#initialize(request, reply, message)
    const session = this.#session(request)
    const revision = revisionOf(request, session)
    if (kind === 'request') {
      return this.#call(request, message, new ResponseWriter(reply, streamOpener(session)), revision, session)
    }
    this.receive(kind, message, session)
    reply.code(202).send()
  }

  /** Handles a GET: opens the standalone stream, or resumes another. @throws RpcError with a status */
  get (request: FastifyRequest, reply: FastifyReply): void {
    const session = this.#session(request)
    if (session === undefined) throw refusal('this server does not have sessions, so there are no streams to open', 405)
    const lastEventId = request.headers[HEADERS.lastEventId]
    const release = this.#server.streams.take(session.owner)
    try {
      if (typeof lastEventId !== 'string' || lastEventId === '') session.standalone.attach(reply)
      else {
        const event = parseEventId(lastEventId)
        const stream = event === undefined ? undefined : session.stream(event.stream)
        if (event === undefined || stream === undefined || !stream.has(event.seq)) {
          throw refusal('Last-Event-ID names an event that is not kept; open a stream without it')
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
    this.#sessions?.end(session)
    reply.code(204).send()
  }

  /** Handles a request of a session over HTTP+SSE. */
  handle (request: FastifyRequest, message: Request, response: ResponseWriter, session: Session): void {
    if (message.method !== 'initialize') {
      return this.#call(request, message, response, revisionOf(request, session), session)
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
    const session = this.#sessions?.create({ owner: this.#server.principalOf(request)?.owner, revision, capabilities })
    if (session !== undefined) reply.header(HEADERS.sessionId, session.id)
    reply.header('content-type', 'application/json; charset=utf-8').send(this.#initializeResult(message.id, revision))
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
    for (const { kind, message } of parts) if (kind !== 'request') this.receive(kind, message, session)
    if (requests.length === 0) {
      reply.code(202).send()
      return
    }
    const response = new ResponseWriter(reply, streamOpener(session), requests.length)
    for (const { message } of requests) this.#call(request, message, response, revision, session)
  }

  #call (
    request: FastifyRequest, { id, method, params = {} }: Request, response: ResponseWriter, revision: LegacyRevision,
    session: Session | undefined
  ): void {
    const handler = legacyMethods.get(method)
    if (handler === undefined) return response.end(errorText(id, unknownMethod(method)))
    try {
      checkLengths(params)
    } catch (err) {
      return response.end(errorText(id, err as RpcError))
    }
    const { calls, disconnects, limits, principalOf } = this.#server
    const principal = principalOf(request)
    const options = { request, response, id, method, params, principal, disconnects, sessionId: session?.id }
    const call = new LegacyCall(options, revision, session, limits)
    const work = (): Promise<Json> => handler(this.#server, call)
    if (session === undefined) runCall(calls, call, work)
    else runInSession(calls, session, call, work)
  }

  /** Handles a message without a response. */
  receive (kind: 'notification' | 'response', message: Notification | Response, session: Session | undefined): void {
    if (kind === 'response') return session?.settleRequest(message as Response)
    const { method, params = {} } = message as Notification
    if (method !== 'notifications/cancelled') return
    session?.cancel(params.requestId, new CallAbortedError('its caller cancelled it'))
  }

  /** The session that a request names; undefined without sessions. @throws RpcError */
  #session (request: FastifyRequest): Session | undefined {
    if (this.#sessions === undefined) return undefined
    const id = request.headers[HEADERS.sessionId]
    if (typeof id !== 'string' || id === '') throw refusal('Mcp-Session-Id is missing; begin with initialize')
    const session = this.#sessions.find(id, this.#server.principalOf(request)?.owner)
    if (session === undefined) throw refusal('the session does not exist, or has ended; begin with initialize', 404)
    return session
  }

  #notifyChange (kinds: readonly ListKind[]): void {
    const methods = new Set(kinds.map(kind => LISTS[kind].changed))
    for (const session of this.#sessions?.all() ?? []) for (const method of methods) session.notify(method)
  }
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

async function runInSession (
  openCalls: OpenCalls<Call>, session: Session, call: LegacyCall, work: () => Promise<Json>
): Promise<void> {
  let node
  try {
    node = session.addCall(call)
  } catch (err) {
    return call.fail(errorOf(err))
  }
  await runCall(openCalls, call, work)
  session.removeCall(node)
}

/** A refusal of a session; that of the memory budget has status 503. */
function errorOf (err: unknown): RpcError {
  return err instanceof MemoryBudgetError ? overload(err.message) : err as RpcError
}

/** Opens the stream of a response: a resumable one in a session. */
function streamOpener (session: Session | undefined): ConstructorParameters<typeof ResponseWriter>[1] {
  if (session === undefined) return undefined
  return reply => {
    const stream = session.openStream()
    stream.attach(reply)
    return stream
  }
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
