import { CallAbortedError, isRecord, type OpenCalls } from '@polyvac/core/plugin'
import {
  ASSUMED_REVISION, features, HEADERS, isLegacy, LEGACY_REVISIONS, LISTS, NEWEST_LEGACY, readCapabilities, type ClientCapabilities, type LegacyRevision, type ListKind
} from '@polyvac/mcp-protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ResponseWriter } from '../http/response.js'
import { whenOver } from '../http/message-stream.js'
import { LegacyCall } from '../calls/legacy-call.js'
import { legacyMethods } from '../methods/legacy.js'
import { errorText, messageKind, resultText, RpcError, type Notification, type Request, type RequestId, type Response } from '../protocol/rpc.js'
import type { Call } from '../calls/call.js'
import { runCall } from '../calls/run-call.js'
import type { McpContext } from '../context.js'
import type { Session } from '../sessions/session.js'
import { parseEventId } from '../sessions/resumable-stream.js'
import type { Sessions } from '../sessions/sessions.js'

/** The revisions up to 2025-11-25: `initialize`, then sessions, or requests that stand alone where there are none. */
export class Legacy {
  readonly #server: McpContext
  readonly #sessions: Sessions | undefined

  constructor (server: McpContext, sessions: Sessions | undefined) {
    this.#server = server
    this.#sessions = sessions
    server.registry.onChange(kinds => this.#tellChange(kinds))
  }

  /** A POST. @throws RpcError with a status */
  post (request: FastifyRequest, reply: FastifyReply, body: unknown): void {
    if (Array.isArray(body)) return this.#batch(request, reply, body)
    const kind = messageKind(body)
    if (kind === 'request' && (body as Request).method === 'initialize') return this.#initialize(request, reply, body as Request)
    const session = this.#session(request)
    const revision = revisionOf(request, session)
    if (kind === 'request') return this.#call(request, body as Request, new ResponseWriter(reply, opener(session)), revision, session)
    this.take(kind, body as Notification | Response, session)
    reply.code(202).send()
  }

  /** A GET: the stream for messages that belong to no call, or the rest of another one. @throws RpcError with a status */
  get (request: FastifyRequest, reply: FastifyReply): void {
    const session = this.#session(request)
    if (session === undefined) throw new RpcError('invalidRequest', 'this server has no streams to open', undefined, 405)
    const last = request.headers[HEADERS.lastEventId]
    const release = this.#server.places.take()
    try {
      if (typeof last !== 'string' || last === '') session.standalone.attach(reply)
      else {
        const at = parseEventId(last)
        const stream = at === undefined ? undefined : session.stream(at.stream)
        if (at === undefined || stream === undefined || !stream.has(at.seq)) {
          throw new RpcError('invalidRequest', 'Last-Event-ID names an event that is not kept; open a stream without it', undefined, 400)
        }
        stream.attach(reply, at.seq)
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

  /** A DELETE. @throws RpcError with a status */
  delete (request: FastifyRequest, reply: FastifyReply): void {
    const session = this.#session(request)
    if (session === undefined) throw new RpcError('invalidRequest', 'this server has no sessions to end', undefined, 405)
    this.#sessions?.end(session)
    reply.code(204).send()
  }

  /** Answers a request of a session that has one stream for all. */
  answer (request: FastifyRequest, message: Request, answer: ResponseWriter, session: Session): void {
    if (message.method !== 'initialize') return this.#call(request, message, answer, revisionOf(request, session), session)
    try {
      Object.assign(session, agreed(message))
      answer.end(this.#welcome(message.id, session.revision))
    } catch (err) {
      answer.end(errorText(message.id, err as RpcError))
    }
  }

  #initialize (request: FastifyRequest, reply: FastifyReply, message: Request): void {
    const { revision, capabilities } = agreed(message)
    const session = this.#sessions?.create({ owner: this.#server.principalOf(request)?.owner, revision, capabilities })
    if (session !== undefined) reply.header(HEADERS.sessionId, session.id)
    reply.header('content-type', 'application/json; charset=utf-8').send(this.#welcome(message.id, revision))
  }

  #welcome (id: RequestId, revision: LegacyRevision): string {
    const { info: serverInfo, instructions } = this.#server
    return resultText(id, JSON.stringify({ protocolVersion: revision, capabilities: this.#server.capabilities(revision), serverInfo, instructions }))
  }

  #batch (request: FastifyRequest, reply: FastifyReply, messages: readonly unknown[]): void {
    const session = this.#session(request)
    const revision = revisionOf(request, session)
    if (!features[revision].batches) throw new RpcError('invalidRequest', `revision ${revision} has no batches; send one message`, undefined, 400)
    const { maxBatch } = this.#server.limits
    if (messages.length === 0 || messages.length > maxBatch) throw new RpcError('invalidRequest', `a batch has 1 to ${maxBatch} messages`, undefined, 400)
    const kinds = messages.map(messageKind)
    if (messages.some(message => (message as Request).method === 'initialize')) throw new RpcError('invalidRequest', 'initialize cannot be part of a batch', undefined, 400)
    const requests = messages.filter((_message, at) => kinds[at] === 'request') as Request[]
    messages.forEach((message, at) => {
      const kind = kinds[at]!
      if (kind !== 'request') this.take(kind, message as Notification | Response, session)
    })
    if (requests.length === 0) {
      reply.code(202).send()
      return
    }
    const answer = new ResponseWriter(reply, opener(session), requests.length)
    for (const one of requests) this.#call(request, one, answer, revision, session)
  }

  #call (request: FastifyRequest, { id, method, params = {} }: Request, answer: ResponseWriter, revision: LegacyRevision, session: Session | undefined): void {
    const handler = legacyMethods.get(method)
    if (handler === undefined) return answer.end(errorText(id, new RpcError('methodNotFound', `unknown method: ${JSON.stringify(method.slice(0, 100))}`)))
    const { calls, leaving, limits, principalOf } = this.#server
    const call = new LegacyCall({ request, answer, id, method, params, principal: principalOf(request), leaving, sessionId: session?.id }, revision, session, limits)
    const work = (): Promise<string> => handler(this.#server, call)
    if (session === undefined) runCall(calls, call, work)
    else runInSession(calls, session, call, work)
  }

  /** A message that gets no response. */
  take (kind: 'notification' | 'response', message: Notification | Response, session: Session | undefined): void {
    if (kind === 'response') return session?.answer(message as Response)
    const { method, params = {} } = message as Notification
    if (method === 'notifications/cancelled') session?.cancel(params.requestId, new CallAbortedError('its caller cancelled it'))
  }

  /** The session that a request names; undefined where there are none. @throws RpcError */
  #session (request: FastifyRequest): Session | undefined {
    if (this.#sessions === undefined) return undefined
    const id = request.headers[HEADERS.sessionId]
    if (typeof id !== 'string' || id === '') throw new RpcError('invalidRequest', 'the header Mcp-Session-Id is missing; begin with initialize', undefined, 400)
    const session = this.#sessions.find(id, this.#server.principalOf(request)?.owner)
    if (session === undefined) throw new RpcError('invalidRequest', 'there is no such session, or it has ended; begin with initialize', undefined, 404)
    return session
  }

  #tellChange (kinds: readonly ListKind[]): void {
    const methods = new Set(kinds.map(kind => LISTS[kind].changed))
    for (const session of this.#sessions?.all() ?? []) for (const method of methods) session.notify(method)
  }
}

/** What `initialize` asks for, as far as it is served. @throws RpcError -32602 */
function agreed ({ params = {} }: Request): { readonly revision: LegacyRevision, readonly capabilities: ClientCapabilities } {
  const { protocolVersion, capabilities, clientInfo } = params
  if (typeof protocolVersion !== 'string' || !isRecord(capabilities) || !isRecord(clientInfo)) {
    throw new RpcError('invalidParams', 'initialize needs `protocolVersion`, `capabilities` and `clientInfo`')
  }
  return { revision: isLegacy(protocolVersion) ? protocolVersion : NEWEST_LEGACY, capabilities: readCapabilities(capabilities) }
}

async function runInSession (openCalls: OpenCalls<Call>, session: Session, call: LegacyCall, work: () => Promise<string>): Promise<void> {
  let place
  try {
    place = session.begin(call)
  } catch (err) {
    return call.fail(err as RpcError)
  }
  await runCall(openCalls, call, work)
  session.end(place)
}

function opener (session: Session | undefined): ConstructorParameters<typeof ResponseWriter>[1] {
  if (session === undefined) return undefined
  return reply => {
    const stream = session.openStream()
    stream.attach(reply)
    return stream
  }
}

/** The revision that a request speaks. @throws RpcError with status 400 */
function revisionOf ({ headers }: FastifyRequest, session: Session | undefined): LegacyRevision {
  const named = headers[HEADERS.protocolVersion]
  if (named !== undefined && !isLegacy(named)) {
    throw new RpcError('invalidRequest', `MCP-Protocol-Version ${JSON.stringify(String(named).slice(0, 40))} is not served; take one of ${LEGACY_REVISIONS.join(', ')}`, undefined, 400)
  }
  return session?.revision ?? named ?? ASSUMED_REVISION
}
