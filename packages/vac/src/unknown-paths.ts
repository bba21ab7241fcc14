import type { Vac } from '@polyvac/core'
import { MethodNotAllowedError, quoteName, VacNotFoundError, vacRemedy, type ExposedVacs, type RouteTable } from '@polyvac/core/plugin'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { NoSuchPathError } from './errors.js'

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

function noSuchPath (request: FastifyRequest, table: RouteTable, prefix: string): Error {
  const path = request.url.split('?', 1)[0] as string
  return new NoSuchPathError(request.method, path.slice(0, 200), hint(table, path, prefix))
}

/** The VAC that a part of a path, or a body, names. @throws VAC_NOT_FOUND, or NOT_FOUND for an empty part of a path */
export type VacOf = (request: FastifyRequest, name: string) => Vac

/**
 * An empty name is that of a path with a slash at the end, or with two.
 * @param listedAt the request that lists the names
 */
export function findVac (table: RouteTable, vacsOf: (request: FastifyRequest) => ExposedVacs, listedAt?: string): VacOf {
  return (request, name) => {
    if (name === '') throw noSuchPath(request, table, request.routeOptions.url?.split('/:', 1)[0] ?? '')
    const vacs = vacsOf(request)
    if (!vacs.has(name)) throw new VacNotFoundError(quoteName(name), vacRemedy(name, vacs.list().map(({ name }) => name), listedAt))
    return vacs.get(name)
  }
}

function hint (table: RouteTable, path: string, prefix: string): string {
  const meant = table.meant(path)
  if (meant !== undefined) return `did you mean ${quoteName(meant)}?`
  const below = table.routes.filter(({ url }) => url.startsWith(prefix))
    .flatMap(({ url, methods }) => [...methods].filter(method => method !== 'HEAD').map(method => `${method} ${url}`))
  return `the routes here are ${below.join(', ')}`
}
