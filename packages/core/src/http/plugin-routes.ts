import type { FastifyInstance, FastifyRequest, FastifySchema, RouteOptions } from 'fastify'
import { jsonSerializer } from './app-responses.js'
import { MethodNotAllowedError } from '../basics/errors.js'
import { schemaValidator } from './validation.js'

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

/** Keeps a route out of the document of @fastify/swagger. */
export const HIDDEN = openApiSchema({ hide: true })

function hideRoutes (scope: FastifyInstance): void {
  scope.addHook('onRoute', route => { route.schema = { ...route.schema, ...HIDDEN } })
}

/**
 * Prepares the scope of a plugin for the schemas of its routes: the compilers are those of this package, since those of
 * the application may be for schemas of another kind, as those of zod are. A transform of @fastify/swagger for such
 * schemas throws on JSON Schema; the routes leave it out where the application has another compiler than Fastify. Call
 * it before the scope gets routes.
 * @param openapi false: the document leaves them out
 */
export function describeRoutes (scope: FastifyInstance, openapi: boolean): void {
  if (!openapi) hideRoutes(scope)
  const app = Object.getPrototypeOf(scope) as FastifyInstance
  const hasCompiler = app.validatorCompiler !== undefined
  scope.setValidatorCompiler(schemaValidator)
  scope.setSerializerCompiler(jsonSerializer)
  scope.addHook('onRoute', route => {
    if ('swaggerTransform' in (route.config ?? {})) return
    // read when the document is made: the application may set its compiler after the plugin
    extendConfig(route, { swaggerTransform: { get: () => hasCompiler || !takesJsonSchema(app) ? false : undefined } })
  })
}

/** Adds properties to the config of a route, whose object several routes may share; a spread would read the getters. */
function extendConfig (route: RouteOptions, properties: PropertyDescriptorMap): void {
  const config: object = Object.defineProperties({}, { ...Object.getOwnPropertyDescriptors(route.config ?? {}), ...properties })
  route.config = config as NonNullable<typeof route.config>
}

/** Whether the validator compiler of the application takes JSON Schema, as that of Fastify does. */
function takesJsonSchema ({ validatorCompiler }: FastifyInstance): boolean {
  try {
    return validatorCompiler?.({ schema: { type: 'object' }, method: 'POST', url: '/', httpPart: 'body' })({}) !== false
  } catch {
    return false
  }
}

/** Names the protocol of the routes of a scope, for `protocolOf`. Call it before they are added. */
export function labelRoutes (scope: FastifyInstance, protocol: string): void {
  scope.addHook('onRoute', route => { extendConfig(route, { protocol: { value: protocol, enumerable: true } }) })
}

/** The protocol of the route of a request; undefined for a route of the application, and where no route matches. */
export function protocolOf ({ routeOptions: { config } }: Pick<FastifyRequest, 'routeOptions'>): string | undefined {
  return (config as { protocol?: string } | undefined)?.protocol
}

/**
 * Collects the routes of a scope from now on. The function that it returns is called after them: it refuses the other
 * methods of their paths with 405 and `Allow` (RFC 9110, section 15.5.6), in the format of the scope's error handler.
 * The path `/` is left to the application.
 * @param refusal makes the error; default METHOD_NOT_ALLOWED
 */
export function refuseOtherMethods (scope: FastifyInstance,
  refusal = (method: string, allow: string): Error => new MethodNotAllowedError(method, allow)): () => void {
  // @keyed none: the keys are paths of the routes of the code
  const paths = new Map<string, Set<string>>()
  let isComplete = false
  scope.addHook('onRoute', ({ routePath, method }) => {
    if (isComplete || routePath === '/') return
    const methods = paths.get(routePath) ?? new Set()
    paths.set(routePath, methods)
    for (const name of [method].flat()) methods.add(name)
  })
  return () => {
    isComplete = true
    for (const [url, methods] of paths) {
      // the application may have another method of this path already
      const others = METHODS.filter(method => !scope.hasRoute({ method, url: scope.prefix + url }))
      const allow = [...methods].sort().join(', ')
      if (others.length === 0) continue
      scope.route({
        method: others,
        url,
        schema: HIDDEN,
        exposeHeadRoute: false,
        // after the hooks of the application, before the body is read
        preParsing: async ({ method }) => { throw Object.assign(refusal(method, allow), { headers: { allow } }) },
        handler: () => {}
      })
    }
  }
}

// @keyed none: the values are methods of the routes of the code
interface KnownRoute { readonly url: string, readonly methods: Set<string>, readonly pattern: RegExp }

/** The routes that a scope gets after this, for answers to requests that none of them matches. */
export class RouteTable {
  // @keyed none: the keys are patterns of the routes of the code
  readonly #routes = new Map<string, KnownRoute>()

  constructor (scope: FastifyInstance) {
    scope.addHook('onRoute', ({ url, method }) => {
      // a route of all paths, such as the one of CORS preflights, does not make each path exist
      if (/^\/?\*$/.test(url)) return
      const route = this.#routes.get(url) ?? { url, methods: new Set<string>(), pattern: toPattern(url) }
      for (const name of [method].flat()) route.methods.add(name)
      this.#routes.set(url, route)
    })
  }

  get routes (): readonly KnownRoute[] { return [...this.#routes.values()] }

  /**
   * The path of a route that a client meant which joined its base URL wrongly: with a slash at the end, with two
   * slashes, or with the base twice. Undefined where no route has it.
   */
  meant (path: string): string | undefined {
    const bare = path.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '').replace(/((?:\/openai)?\/v1)\1+(?=\/|$)/, '$1')
    return bare !== path && this.methodsOf(bare).length > 0 ? bare : undefined
  }

  /** The methods of a path; none if no route matches it. */
  methodsOf (path: string): string[] {
    const matching = this.routes.filter(({ pattern }) => pattern.test(path))
    return [...new Set(matching.flatMap(({ methods }) => [...methods]))]
  }
}

/** A pattern of the router as an expression: `:name` is one segment, `*` is the rest. */
function toPattern (url: string): RegExp {
  const parts = url.split(/(:\w+|\*)/).map(part =>
    part === '*' ? '.*' : part.startsWith(':') ? '[^/]+' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('')}$`)
}
