import { HEADERS } from '@polyvac/mcp-protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ResponseWriter } from '../http/response.js'
import { whenOver } from '../http/message-stream.js'
import type { Legacy } from './legacy.js'
import { messageKind, RpcError, type Notification, type Request, type Response } from '../protocol/rpc.js'
import type { McpContext } from '../context.js'
import type { Session } from '../sessions/session.js'
import { HttpSseStream } from '../sessions/http-sse-stream.js'
import type { Sessions } from '../sessions/sessions.js'

/** The query parameter that names the session in the address that its client POSTs to. */
const PARAMETER = 'sse_session'

/** Whether a GET can come from a client of 2024-11-05 alone: later ones have a session before they open a stream. */
export function opensLegacySse ({ headers }: FastifyRequest): boolean {
  return headers[HEADERS.sessionId] === undefined && headers[HEADERS.protocolVersion] === undefined && headers[HEADERS.lastEventId] === undefined
}

/** The session in the address of a POST; undefined where it names none, as those of all later transports. */
export function legacySseSession ({ query }: FastifyRequest): string | undefined {
  const { [PARAMETER]: id } = query as Record<string, unknown>
  return typeof id === 'string' ? id : undefined
}

/** HTTP+SSE, the transport of 2024-11-05: a GET opens the stream of a session, and POSTs to the address that it tells are answered there. */
export class LegacySse {
  readonly #server: McpContext
  readonly #sessions: Sessions
  readonly #legacy: Legacy

  constructor (server: McpContext, sessions: Sessions, legacy: Legacy) {
    this.#server = server
    this.#sessions = sessions
    this.#legacy = legacy
  }

  /** A GET. @throws RpcError with status 503 */
  open (request: FastifyRequest, reply: FastifyReply): void {
    const { places, principalOf } = this.#server
    const release = places.take()
    let session: Session
    try {
      session = this.#sessions.create({ owner: principalOf(request)?.owner, revision: '2024-11-05', capabilities: {} })
    } catch (err) {
      release()
      throw err
    }
    // a whole path: not every client resolves a bare query
    session.wire = new HttpSseStream(reply, `${request.url.split('?', 1)[0]}?${PARAMETER}=${session.id}`)
    whenOver(reply, () => {
      release()
      this.#sessions.end(session)
    })
  }

  /** A POST: it is accepted, and answered on the stream. @throws RpcError with a status */
  post (request: FastifyRequest, reply: FastifyReply, id: string, body: unknown): void {
    const session = this.#sessions.find(id, this.#server.principalOf(request)?.owner)
    const wire = session?.wire
    if (session === undefined || wire === undefined) throw new RpcError('invalidRequest', 'there is no such session, or its stream has closed; open one with a GET', undefined, 404)
    const kind = messageKind(body)
    // answers are never left out, so what leads to some is
    if (kind === 'request' && wire.isFull) throw new RpcError('internalError', 'the stream of this session is not read; read it, then try again', undefined, 503)
    if (kind !== 'request') this.#legacy.take(kind, body as Notification | Response, session)
    else {
      const answer = new ResponseWriter(wire.reply, () => wire)
      answer.begin()
      this.#legacy.answer(request, body as Request, answer, session)
    }
    reply.code(202).send()
  }
}
