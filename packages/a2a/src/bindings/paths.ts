import type { FastifyInstance, HTTPMethods } from 'fastify'
import { makeMethodNotAllowed } from '../errors.js'

/** OPTIONS is left to the application, which answers CORS with it; HEAD comes with GET. */
const METHODS: HTTPMethods[] = ['DELETE', 'GET', 'PATCH', 'POST', 'PUT']

/** Keeps a route out of the OpenAPI document of @fastify/swagger. */
export const HIDDEN: object = { hide: true }

/**
 * Collects the routes of a scope from now on. The returned function adds a route for every other method of their paths:
 * it answers 405 with `Allow` (RFC 9110, section 15.5.6), in the format of the scope's error handler. The root is left
 * to the application.
 */
export function refuseOtherMethods (scope: FastifyInstance): () => void {
  const paths = new Map<string, Set<string>>()
  let isCollecting = true
  scope.addHook('onRoute', ({ routePath, method }) => {
    if (!isCollecting || routePath === '/') return
    const methods = paths.get(routePath) ?? new Set()
    paths.set(routePath, methods)
    for (const name of [method].flat()) methods.add(name)
  })
  return () => {
    isCollecting = false
    for (const [url, methods] of paths) {
      const allow = [...methods].sort().join(', ')
      scope.route({
        method: METHODS.filter(name => !methods.has(name)),
        url,
        schema: HIDDEN,
        // after the hooks of the application that refuse requests, and before the body is read
        async preParsing ({ method }) { throw makeMethodNotAllowed(allow, method) },
        handler: () => {}
      })
    }
  }
}

/** A path without and with a slash at its end; one path where the application ignores the slash. */
export function withSlash (app: FastifyInstance, url: string): string[] {
  const { routerOptions, ignoreTrailingSlash } = app.initialConfig
  return routerOptions?.ignoreTrailingSlash ?? ignoreTrailingSlash ?? false ? [url] : [url, `${url}/`]
}
