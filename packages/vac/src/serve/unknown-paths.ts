import { MethodNotAllowedError, quoteName, type RouteTable } from '@polyvac/core/plugin'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { NoSuchPathError } from '../errors.js'

/**
 * Answers requests below the prefix of a scope that no route matches: 405 with `Allow` for another method of a path,
 * otherwise 404 that names the route which is probably meant. The not-found handler of the application keeps all other
 * paths.
 */
export function refuseUnknownPaths (scope: FastifyInstance, table: RouteTable): void {
  scope.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] as string
    const methods = table.methodsOf(path).join(', ')
    if (methods === '') throw noSuchPath(request, table, scope.prefix)
    reply.header('allow', methods)
    throw new MethodNotAllowedError(request.method, methods)
  })
}

/** The error for a path without a thing; it names the route that is probably meant, or those below a prefix. */
export function noSuchPath (request: FastifyRequest, table: RouteTable, prefix: string): Error {
  const path = request.url.split('?', 1)[0] as string
  return new NoSuchPathError(request.method, path.slice(0, 200), hint(table, path, prefix))
}

function hint (table: RouteTable, path: string, prefix: string): string {
  const meant = table.meant(path)
  if (meant !== undefined) return `did you mean ${quoteName(meant)}?`
  const below = table.routes.filter(({ url }) => url.startsWith(prefix))
    .flatMap(({ url, methods }) => [...methods].filter(method => method !== 'HEAD').map(method => `${method} ${url}`))
  return `the routes here are ${below.join(', ')}`
}
