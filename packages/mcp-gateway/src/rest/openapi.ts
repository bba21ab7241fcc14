import type { Item } from '../protocol/lists.js'
import type { ServerItem } from '../servers.js'
import { CLIENT_INFO } from '../protocol/revision.js'

type Json = Record<string, unknown>

const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` })

/** An OpenAPI 3.1 document of the current tools: the body of POST /mcp/call, with one schema for each tool. */
export function toolsDocument (tools: readonly ServerItem[], prefix: string): Json {
  const schemas: Json = {
    Error: {
      type: 'object',
      required: ['error', 'code'],
      properties: { error: { type: 'string' }, code: { type: 'string' }, server: { type: 'string' }, tool: { type: 'string' }, details: {} }
    }
  }
  const taken = new Set<string>()
  const bodies = tools.map(({ server, item }) => {
    const name = component(`${server}__${String(item.name)}`, taken)
    schemas[name] = callSchema(server, item)
    return name
  })
  const answer = (description: string, schema: Json): Json => ({ description, content: { 'application/json': { schema } } })
  return {
    openapi: '3.1.0',
    info: { title: 'MCP tools', version: CLIENT_INFO.version, description: 'Every tool of the configured MCP servers, called by POST /mcp/call' },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    paths: {
      [`${prefix}/mcp/call`]: {
        post: {
          operationId: 'callTool',
          summary: 'Call a tool',
          requestBody: { required: true, content: { 'application/json': { schema: bodies.length === 0 ? false : { oneOf: bodies.map(ref) } } } },
          responses: {
            200: answer('the whole result', { type: 'object', required: ['result'], properties: { result: { type: 'object' } } }),
            202: answer('the tool asks for input; call again with requestState and inputResponses', { type: 'object', required: ['status', 'inputRequests', 'requestState'] }),
            400: answer('the body or the arguments are wrong', ref('Error')),
            404: answer('there is no such server or tool', ref('Error')),
            500: answer('the call failed', ref('Error'))
          }
        }
      }
    },
    components: { schemas }
  }
}

function callSchema (server: string, { name, title, description, inputSchema }: Item): Json {
  return {
    type: 'object',
    ...typeof title === 'string' && { title },
    ...typeof description === 'string' && { description },
    required: ['server', 'tool', 'arguments'],
    // `$id` makes it a separate document: references in the tool's schema are relative to that
    properties: { server: { const: server }, tool: { const: name }, arguments: { $id: `urn:mcp:${encodeURIComponent(server)}:${encodeURIComponent(String(name))}`, ...inputSchema as Json } }
  }
}

/** A name that OpenAPI permits for a component; a number distinguishes equal names. */
function component (name: string, taken: Set<string>): string {
  const base = name.replace(/[^A-Za-z0-9._-]/g, '_')
  let unique = base
  for (let i = 2; taken.has(unique); i++) unique = `${base}_${i}`
  taken.add(unique)
  return unique
}
