import swagger from '@fastify/swagger'
import type { Authenticate } from '@polyvac/core'
import type { FastifyInstance } from 'fastify'

type Json = Record<string, unknown>

/** Routes that need no credentials. */
const OPEN = /^\/(?:health$|vac\/[^/]+\/sources\/|\.well-known\/|a2a\/vacs\/[^/]+\/\.well-known\/|playground)/

/** Collects the routes that are registered after it, and serves them as OpenAPI 3.1 at GET /openapi.json. */
export async function registerOpenApi (app: FastifyInstance, version: string, authenticate: Authenticate | undefined): Promise<void> {
  const bearerFormat = authenticate?.scheme?.bearerFormat
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Polyvac', version, description: 'Agents over direct HTTP, the OpenAI-compatible API, A2A and MCP' },
      ...authenticate !== undefined && {
        components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer', ...bearerFormat !== undefined && { bearerFormat } } } },
        security: [{ bearer: [] }]
      }
    }
  })
  let text: string | undefined
  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) => {
    text ??= JSON.stringify(openApiOf(app))
    return reply.type('application/json; charset=utf-8').send(text)
  })
}

/** The OpenAPI document of an app that is ready. */
export function openApiOf (app: FastifyInstance): Json {
  const document = hoistSchemas(app.swagger() as unknown as Json)
  const paths = Object.entries(document.paths as Record<string, Record<string, Json>>).map(nameRest)
  for (const [path, operations] of paths) {
    if (!OPEN.test(path)) continue
    for (const operation of Object.values(operations)) if (document.security !== undefined) operation.security = []
  }
  return { ...document, paths: Object.fromEntries(paths) }
}

/** The rest of a path is `*` for Fastify; generated clients need a name. */
function nameRest ([path, operations]: [string, Record<string, Json>]): [string, Record<string, Json>] {
  if (!path.endsWith('{*}')) return [path, operations]
  for (const { parameters = [] } of Object.values(operations)) {
    for (const parameter of parameters as Json[]) if (parameter.name === '*') parameter.name = 'id'
  }
  return [path.replace('{*}', '{id}'), operations]
}

/** Moves schemas with a `title` to `components`: generated clients then have one type for each, not one per use. */
function hoistSchemas (document: Json): Json {
  // @keyed none: the keys are titles of schemas of the code
  const schemas: Json = {}
  const hoist = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(hoist)
    if (typeof value !== 'object' || value === null) return value
    const hoisted = Object.fromEntries(Object.entries(value).map(([key, child]) => [key, hoist(child)]))
    const { title } = hoisted
    if (typeof title !== 'string') return hoisted
    schemas[title] = hoisted
    return { $ref: `#/components/schemas/${title}` }
  }
  return { ...document, paths: hoist(document.paths), components: { ...document.components as Json | undefined, schemas } }
}
