import { MethodNotAllowedError, quoteName, type RouteTable } from '@polyvac/core/plugin'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { NoSuchPathError } from '../errors.js'

/**
 * The routes of an application, by its server and the prefix: Fastify has one not-found handler for a prefix.
 * @keyed none: the keys are servers, and prefixes of the code
 */
const known = new WeakMap<object, Map<string, Set<RouteTable>>>()

/**
 * Answers requests below the prefix of a scope that no route matches: 405 with `Allow` for another method of a path,
 * otherwise 404 that names the route which is probably meant. The not-found handler of the application keeps all other
 * paths. Scopes with the same prefix, also those of other plugins, share the handler of the first one.
 */
export function refuseUnknownPaths (scope: FastifyInstance, table: RouteTable): void {
  const all = tablesOf(scope)
  const hasHandler = all.size > 0
  all.add(table)
  if (hasHandler) return
  scope.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] as string
    const methods = [...new Set([...all].flatMap(other => other.methodsOf(path)))].join(', ')
    if (methods === '') throw noSuchPath(request, all, scope.prefix)
    reply.header('allow', methods)
    throw new MethodNotAllowedError(request.method, methods)
  })
}

/** The error for a path without a thing; it names the route that is probably meant, or those below a prefix. */
export function noSuchPath (request: FastifyRequest, tables: Iterable<RouteTable>, prefix: string): Error {
  const path = request.url.split('?', 1)[0] as string
  return new NoSuchPathError(request.method, path.slice(0, 200), hint([...tables], path, prefix))
}

function hint (tables: readonly RouteTable[], path: string, prefix: string): string {
  const meant = tables.map(table => table.meant(path)).find(path => path !== undefined)
  if (meant !== undefined) return `did you mean ${quoteName(meant)}?`
  const below = tables.flatMap(({ routes }) => routes).filter(({ url }) => url.startsWith(prefix))
    .flatMap(({ url, methods }) => [...methods].filter(method => method !== 'HEAD').map(method => `${method} ${url}`))
  return `the routes here are ${below.join(', ')}`
}

function tablesOf ({ server, prefix }: FastifyInstance): Set<RouteTable> {
  const byPrefix = known.get(server) ?? new Map<string, Set<RouteTable>>()
  known.set(server, byPrefix)
  const all = byPrefix.get(prefix) ?? new Set()
  byPrefix.set(prefix, all)
  return all
}
