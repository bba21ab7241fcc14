import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'

type Json = Record<string, unknown>

/** Collects the routes that are registered after it, and serves them as OpenAPI 3.1 at GET /openapi.json. */
export async function registerOpenApi (app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Polyvac', version, description: 'Agents over direct HTTP, the OpenAI-compatible API, A2A and MCP' }
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
  return hoistSchemas(app.swagger() as unknown as Json)
}

/** Moves schemas with a `title` to `components`: generated clients then have one type for each, not one per use. */
export function hoistSchemas (document: Json): Json {
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
