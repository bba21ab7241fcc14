import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { loadOpenTelemetry } from './load-open-telemetry.js'
import { HTTP_METHOD, HTTP_ROUTE, HTTP_STATUS, knownMethod, URL_PATH, URL_SCHEME } from './names.js'
import { hasSpan, isTracing, startRequestSpan, type OpenSpan } from './spans.js'

const SPAN = Symbol('polyvac.span')
interface Traced { [SPAN]?: OpenSpan | undefined }

/**
 * Makes a server span for each request of a scope, before the other hooks of the scope. A request that has a span
 * already, such as that of `@fastify/otel`, gets no second one: its context is the parent of what follows. Where no SDK
 * is registered by then, the scope gets no hooks.
 */
export async function traceRequests (scope: FastifyInstance): Promise<void> {
  await loadOpenTelemetry()
  // the hooks of the scope around this one make the spans of this one, too
  if (!isTracing() || scope.hasRequestDecorator(SPAN)) return
  scope.decorateRequest(SPAN, undefined)
  scope.addHook('onRequest', (request: FastifyRequest & Traced, reply, done) => {
    const span = hasSpan() ? undefined : openSpan(request)
    if (span === undefined) return done()
    request[SPAN] = span
    // a client that disconnects causes no onResponse
    if (span.needsEnd) reply.raw.once('close', () => { endSpan(span, reply) })
    span.run(done)
  })
  // the body was read in the context of the connection
  scope.addHook('preValidation', (request: FastifyRequest & Traced, _reply, done) => {
    const span = request.body === undefined ? undefined : request[SPAN]
    if (span === undefined) done()
    else span.run(done)
  })
}

function openSpan (request: FastifyRequest): OpenSpan | undefined {
  const { headers } = request.raw
  return startRequestSpan(() => describe(request), headers['traceparent'] === undefined ? undefined : headers)
}

function describe ({ method, protocol, url, routeOptions: { url: route } }: FastifyRequest) {
  const known = knownMethod(method)
  const attributes = {
    [HTTP_METHOD]: known,
    [URL_SCHEME]: protocol,
    // the path of an unknown route is content of the caller
    [URL_PATH]: route === undefined ? undefined : url.split('?', 1)[0],
    [HTTP_ROUTE]: route
  }
  return [route === undefined ? known : `${known} ${route}`, attributes] as const
}

function endSpan (span: OpenSpan, { raw }: FastifyReply): void {
  if (raw.headersSent) span.set(HTTP_STATUS, raw.statusCode)
  // the call of a caller that left may have ended its response before this listener of the closed socket runs
  span.end(!raw.writableEnded || raw.socket?.destroyed === true ? 'CLIENT_DISCONNECTED' : raw.statusCode >= 500 ? raw.statusCode : undefined)
}
