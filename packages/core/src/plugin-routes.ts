import type { FastifyInstance, FastifySchema } from 'fastify'
import { MethodNotAllowedError } from './errors.js'

/** Methods that are refused where a path does not have them. OPTIONS belongs to the application, as CORS does. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

interface OpenApiFields {
  readonly operationId?: string
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly hide?: boolean
}

/** Fields of a route's schema that Fastify does not know and @fastify/swagger reads. */
export function openApiSchema (fields: OpenApiFields): FastifySchema {
  return fields as FastifySchema
}

/** For `openapi: false` of a plugin: leaves the routes of its scope out of the document of @fastify/swagger. */
export function hideRoutes (scope: FastifyInstance): void {
  scope.addHook('onRoute', route => { route.schema = openApiSchema({ ...route.schema, hide: true }) })
}

/**
 * Prepares a plugin's scope before its routes. The function that it returns is called after them: it refuses the other
 * methods of their paths with 405 and `Allow`.
 * @param openapi whether OpenAPI documents of the application have the routes
 */
export function pluginRoutes (scope: FastifyInstance, openapi: boolean): () => void {
  const paths = new Map<string, Set<string>>()
  let isComplete = false
  if (!openapi) hideRoutes(scope)
  scope.addHook('onRoute', route => {
    if (isComplete) return
    const path = route.url.slice(scope.prefix.length)
    const methods = paths.get(path) ?? new Set()
    paths.set(path, methods)
    for (const method of [route.method].flat()) methods.add(method)
  })
  return () => {
    isComplete = true
    for (const [url, methods] of paths) {
      const others = METHODS.filter(method => !methods.has(method))
      const allow = [...methods].sort().join(', ')
      if (others.length === 0) continue
      scope.route({
        method: others,
        url,
        schema: openApiSchema({ hide: true }),
        exposeHeadRoute: false,
        // after the hooks of the application, before the body is read
        preParsing: async ({ method }) => { throw Object.assign(new MethodNotAllowedError(method, allow), { headers: { allow } }) },
        handler: () => {}
      })
    }
  }
}
