import { HEADERS, isLegacy } from '@polyvac/mcp-protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { McpContext } from '../context.js'
import { whenOver } from '../http/message-stream.js'
import { ResponseWriter } from '../http/response.js'
import { messageKind, overload, refusal, type Notification, type Request, type Response } from '../protocol/rpc.js'
import { HttpSseStream } from '../sessions/http-sse-stream.js'
import type { Session } from '../sessions/session.js'
import type { Sessions } from '../sessions/sessions.js'
import type { Message } from '../sessions/shared-session.js'
import { sendAfter, type Caller, type Legacy } from './legacy.js'

/** The query parameter with the id of the session, in the address to which its client POSTs. */
const PARAMETER = 'sse_session'

/**
 * Whether a GET comes from a client of 2024-11-05: later ones have a session before they open a stream. Some of the
 * former name the revision that they will ask for.
 */
export function opensHttpSse ({ headers }: FastifyRequest): boolean {
  const version = headers[HEADERS.protocolVersion]
  return [HEADERS.sessionId, HEADERS.lastEventId].every(name => headers[name] === undefined) && (version === undefined || isLegacy(version))
}

/** The session in the address of a POST; undefined for all other transports. */
export function httpSseSession ({ query }: FastifyRequest): string | undefined {
  const { [PARAMETER]: id } = query as Record<string, unknown>
  return typeof id === 'string' ? id : undefined
}

/** HTTP+SSE, the transport of 2024-11-05: a GET opens the stream that carries all responses of a session. */
export class HttpSse {
  readonly #server: McpContext
  readonly #sessions: Sessions
  readonly #legacy: Legacy

  constructor (server: McpContext, sessions: Sessions, legacy: Legacy) {
    this.#server = server
    this.#sessions = sessions
    this.#legacy = legacy
  }

  /** Handles a GET. @throws RpcError with status 503 */
  open (request: FastifyRequest, reply: FastifyReply): void {
    const { streams, principalOf } = this.#server
    const caller = principalOf(request)
    const release = streams.take(caller?.owner)
    let session: Session
    try {
      session = this.#sessions.open(caller, (message, principal) => {
        this.#receive({ request, principal }, message, session)?.catch((err: unknown) => {
          request.log.error({ err }, 'a message that another replica got could not be passed on')
        })
      })
    } catch (err) {
      release()
      throw err
    }
    // the whole path: some clients do not resolve a query without a path
    session.httpSse = new HttpSseStream(reply, `${request.url.split('?', 1)[0]}?${PARAMETER}=${session.id}`)
    whenOver(reply, () => {
      release()
      this.#sessions.end(session)
    })
  }

  /** Handles a POST: accepts the message and sends its response on the stream. @throws RpcError with a status */
  post (request: FastifyRequest, reply: FastifyReply, id: string, body: unknown): void {
    const caller = this.#legacy.callerOf(request)
    const session = this.#sessions.find(id, caller.principal)
    const stream = session?.httpSse
    const kind = messageKind(body)
    const message = body as Message
    if (session === undefined || stream === undefined) {
      const passed = this.#sessions.pass(id, caller.principal, message)
      if (passed === undefined) throw refusal('the session does not exist, or its stream has closed; open one with a GET', 404)
      return sendAfter(passed, reply, 202)
    }
    // responses are never left out, so a full stream takes no more requests
    if (kind === 'request' && stream.isFull) throw overload('the client must read the stream of this session first')
    sendAfter(this.#receive(caller, message, session), reply, 202)
  }

  /** Handles a message of a session, also one that another replica got: with the scopes of its POST, not of the GET. */
  #receive (caller: Caller, message: Message, session: Session): Promise<void> | undefined {
    const { httpSse: stream } = session
    if (stream === undefined) return undefined
    const kind = messageKind(message)
    if (kind !== 'request') return this.#legacy.receive(kind, message as Notification | Response, session)
    const response = new ResponseWriter(stream.reply, () => stream)
    response.begin()
    this.#legacy.handle(caller, message as Request, response, session)
    return undefined
  }
}
