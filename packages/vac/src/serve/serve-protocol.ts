import { labelRoutes, passErrors, streamRoute } from '@polyvac/core/plugin'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { BodyWithHeaders, type AskReply, type FollowReply, type ProtocolRoute } from '../protocol.js'
import { followRun } from './durable-answer.js'
import { failureHandler } from './failures.js'
import { meterAnswer } from './metered-answer.js'
import { searchVac } from './search-vac.js'
import type { Served } from './served.js'
import { ServedRequest } from './served-request.js'
import { refuseUnknownPaths } from './unknown-paths.js'

/**
 * Serves the routes of a protocol below its prefix.
 * @param routes those of the protocol with its options
 */
export async function serveProtocol (host: FastifyInstance, served: Served, routes: readonly ProtocolRoute[]): Promise<void> {
  const { protocol, table, errorHandler } = served
  const { name, prefix, appErrors = false, requestIdHeader } = protocol
  const scopeOfProtocol = async (scope: FastifyInstance): Promise<void> => {
    labelRoutes(scope, name)
    const isApps = appErrors && errorHandler === 'app'
    scope.setErrorHandler(isApps ? passErrors() : failureHandler(protocol))
    refuseUnknownPaths(scope, table)
    if (requestIdHeader !== undefined) scope.addHook('onRequest', async (request, reply) => { reply.header(requestIdHeader, request.id) })
    for (const route of routes) addRoute(scope, served, isApps ? withoutErrors(route) : route)
  }
  // for printPlugins()
  Object.defineProperty(scopeOfProtocol, 'name', { value: name })
  await host.register(scopeOfProtocol, { prefix })
}

/** Without the schemas of errors: the application answers them, and Fastify would call their serializer for others. */
function withoutErrors<Route extends ProtocolRoute> (route: Route): Route {
  const response = Object.fromEntries(Object.entries(route.schema.response).filter(([status]) => !/^[45]xx$/.test(status)))
  return { ...route, schema: { ...route.schema, response } }
}

/** For @fastify/compress, which buffers text; it passes event streams on. */
const uncompressed = { compress: false } as const

const openRoute = { config: { isOpen: true } as object } as const

/** Whether the route of a request needs no caller. */
export function isOpen ({ routeOptions: { config } }: FastifyRequest): boolean {
  return (config as { isOpen?: boolean } | undefined)?.isOpen === true
}

function addRoute (scope: FastifyInstance, served: Served, route: ProtocolRoute): void {
  const { method, path: url, schema } = route
  const streams = 'streams' in route ? route.streams : undefined
  scope.route({
    method,
    url,
    schema,
    ...method === 'POST' && { bodyLimit: served.bodyLimit },
    ...streams !== undefined && streamRoute,
    ...'isOpen' in route && openRoute,
    ...streams === 'text' && uncompressed,
    handler: handlerOf(served, route)
  })
}

function handlerOf (served: Served, route: ProtocolRoute): RouteHandlerMethod {
  if ('read' in route) {
    return async (request, reply) => {
      const body = await route.read(new ServedRequest(served, request))
      if (body === undefined) return reply.code(204).send()
      if (route.status !== undefined) reply.code(route.status)
      if (!(body instanceof BodyWithHeaders)) return body
      reply.headers(body.headers)
      return body.body
    }
  }
  if ('follow' in route) return async (request, reply) => await sendReply(served, request, reply, await route.follow(new ServedRequest(served, request)))
  if ('search' in route) return async (request, reply) => await searchVac(served, request, reply, route.search(new ServedRequest(served, request)))
  // a short call has no more promises than it needs; Fastify takes what is thrown here as it takes a rejection
  return (request, reply) => {
    const asked = route.ask(new ServedRequest(served, request))
    return asked instanceof Promise ? asked.then(asked => sendReply(served, request, reply, asked)) : sendReply(served, request, reply, asked)
  }
}

function sendReply (served: Served, request: FastifyRequest, reply: FastifyReply, given: AskReply | FollowReply): unknown {
  if (given === undefined) return reply.code(204).send()
  if ('question' in given) return meterAnswer(served, request, reply, given)
  if ('format' in given) return followRun(served, request, reply, given)
  if (given instanceof BodyWithHeaders) reply.headers(given.headers)
  return Promise.resolve(given.body)
}
