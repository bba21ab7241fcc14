import type { FastifyInstance } from 'fastify'
import { request, type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { duplexPair, type Duplex } from 'node:stream'

export interface InnerRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: OutgoingHttpHeaders
  readonly body?: string | undefined
}

const inner = new WeakSet<object>()

/** Whether a connection is one within this process, not one that anybody else could make. */
export function isInner (connection: object): boolean {
  return inner.has(connection)
}

/**
 * A request to an application that need not listen, over a pair of streams in memory: HTTP as over any socket, so that
 * leaving, back-pressure and streams are what they are everywhere.
 */
export function innerRequest (app: FastifyInstance, { method, path, headers, body }: InnerRequest): { readonly request: ClientRequest, readonly response: Promise<IncomingMessage> } {
  const sent = request({ method, path, headers: { host: 'localhost', ...headers }, createConnection: () => connection(app) as never })
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve)
    sent.on('error', reject)
    sent.on('close', () => { reject(new Error('the connection was closed')) })
  })
  sent.end(body)
  return { request: sent, response }
}

function connection (app: FastifyInstance): Duplex {
  const [client, server] = duplexPair()
  inner.add(server)
  // either end takes the other along
  client.once('close', () => { server.destroy() })
  server.once('close', () => { client.destroy() })
  for (const end of [client, server]) end.on('error', () => { end.destroy() })
  app.server.emit('connection', server)
  return client
}
