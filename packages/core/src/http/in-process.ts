import { createServer, request, Server, type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { duplexPair, type Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'

/** A request of the process to its own application. */
export interface InnerRequest {
  readonly method: string
  readonly path: string
  readonly headers: OutgoingHttpHeaders
  readonly body?: string | undefined
  /** The address that the application sees as the caller's. Default: none. */
  readonly remoteAddress?: string | undefined
  /** Destroys the connection, as a caller that disconnects does. */
  readonly signal?: AbortSignal | undefined
}

/** The sockets of inner requests. */
// @keyed none: the keys are open connections of the process to itself
const innerSockets = new WeakSet<object>()

/** Whether a socket is one of `innerRequest`. No other client can make one. */
export function isInner (socket: object): boolean {
  return innerSockets.has(socket)
}

/**
 * Sends a request to an application that need not listen: HTTP over a pair of streams in memory. Hooks, limits,
 * disconnects, back-pressure and streamed bodies work as over a socket.
 */
export function innerRequest (app: FastifyInstance, inner: InnerRequest):
{ readonly request: ClientRequest, readonly response: Promise<IncomingMessage> } {
  const { method, path, headers, body, remoteAddress, signal } = inner
  const sent = request({
    method,
    path,
    headers: { host: 'localhost', ...headers },
    ...signal !== undefined && { signal },
    createConnection: () => connect(app, remoteAddress) as never
  })
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve)
    sent.on('error', reject)
    sent.on('close', () => { reject(new Error('the connection was closed')) })
  })
  sent.end(body)
  return { request: sent, response }
}

function connect (app: FastifyInstance, remoteAddress: string | undefined): Duplex {
  const [client, server] = duplexPair()
  innerSockets.add(server)
  if (remoteAddress !== undefined) Object.assign(server, { remoteAddress })
  // closing one end closes the other
  client.once('close', () => { server.destroy() })
  server.once('close', () => { client.destroy() })
  for (const end of [client, server]) end.on('error', () => { end.destroy() })
  plainServerOf(app).emit('connection', server)
  return client
}

// @keyed none: the keys are servers of the application
const plainServers = new WeakMap<object, Server>()

/** The server of the application; where that one speaks TLS or HTTP/2, one of HTTP/1.1 that does not listen. */
function plainServerOf (app: FastifyInstance): Server {
  const own: unknown = app.server
  if (own instanceof Server) return own
  const server = plainServers.get(app.server) ?? createServer(app.routing)
  plainServers.set(app.server, server)
  return server
}
