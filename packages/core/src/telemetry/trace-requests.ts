import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { loadOpenTelemetry } from './load-open-telemetry.js'
import { HTTP_METHOD, HTTP_ROUTE, HTTP_STATUS, knownMethod, URL_PATH, URL_SCHEME } from './names.js'
import { openTelemetry } from './open-telemetry.js'
import { hasSpan, isTracing, startSpan, type OpenSpan } from './spans.js'

const spans = new WeakMap<FastifyRequest, OpenSpan>()

/**
 * Makes a server span for each request of a scope, before the other hooks of the scope. A request that has a span
 * already, such as that of `@fastify/otel`, gets no second one: its context is the parent of what follows.
 */
export async function traceRequests (scope: FastifyInstance): Promise<void> {
  await loadOpenTelemetry()
  if (openTelemetry() === undefined) return
  scope.addHook('onRequest', (request, reply, done) => {
    if (!isTracing()) return done()
    // of the scope around this one
    const own = spans.get(request)
    if (own !== undefined) return own.run(done)
    const span = hasSpan() ? undefined : openSpan(request)
    if (span === undefined) return done()
    spans.set(request, span)
    // a client that disconnects causes no onResponse
    reply.raw.once('close', () => { endSpan(request, reply) })
    span.run(done)
  })
  // the body was read in the context of the connection
  scope.addHook('preValidation', (request, _reply, done) => {
    const span = spans.get(request)
    if (span === undefined) done()
    else span.run(done)
  })
  scope.addHook('onResponse', (request, reply, done) => {
    endSpan(request, reply)
    done()
  })
}

function openSpan (request: FastifyRequest): OpenSpan | undefined {
  const { method, protocol, headers, url, routeOptions: { url: route } } = request
  const known = knownMethod(method)
  const attributes = {
    [HTTP_METHOD]: known,
    [URL_SCHEME]: protocol,
    // the path of an unknown route is content of the caller
    [URL_PATH]: route === undefined ? undefined : url.split('?', 1)[0],
    [HTTP_ROUTE]: route
  }
  const name = route === undefined ? known : `${known} ${route}`
  return startSpan(name, { kind: 'SERVER', attributes, remote: headers.traceparent === undefined ? undefined : headers })
}

function endSpan (request: FastifyRequest, { raw }: FastifyReply): void {
  const span = spans.get(request)
  if (span === undefined) return
  spans.delete(request)
  if (raw.headersSent) span.set(HTTP_STATUS, raw.statusCode)
  span.end(!raw.writableEnded ? 'CLIENT_DISCONNECTED' : raw.statusCode >= 500 ? raw.statusCode : undefined)
}
