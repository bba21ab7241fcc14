import { serverToolName, yieldToEventLoop, toolName } from '@polyvac/core/plugin'
import type { FastifyRequest } from 'fastify'
import type { Item } from '../protocol/lists.js'
import { CLIENT_INFO } from '../protocol/revision.js'
import type { ServerItem } from '../servers.js'
import { addArguments, refTo } from './openapi-schema.js'
import type { Json } from './schema-index.js'

/** Tools that one turn of the event loop handles, in about 5 ms. */
const TURN_TOOLS = 50

const ERROR = 'Error'
const RESULT = 'Result'
const INPUT_REQUIRED = 'InputRequired'

const answer = (description: string, schema: string): Json => ({ description, content: { 'application/json': { schema: refTo(schema) } } })

const RESPONSES = {
  200: answer('the whole result', RESULT),
  202: answer('the tool asks for input: POST /mcp/call with the same server, tool and arguments, and with requestState and inputResponses', INPUT_REQUIRED),
  400: answer('the arguments are wrong', ERROR),
  404: answer('the gateway has no server or tool of this name', ERROR),
  500: answer('the call failed', ERROR)
}

export interface DocumentOptions {
  /** The absolute address before the paths. */
  readonly url: string
  /** The only server of the document; undefined for all servers. */
  readonly server?: string | undefined
}

/** An OpenAPI 3.1 document with one operation for each tool; its arguments are the body. */
export async function toolsDocument (tools: readonly ServerItem[], { url, server: only }: DocumentOptions): Promise<Json> {
  // @keyed names of tools | holds: their schemas | whose: the servers | bound: the lists, at most MAX_LIST_CHARS each |
  //   share: of no owner: it ends with the response | test: packages/mcp-gateway/test/hostile-lists.test.ts: ten
  //   thousand tools are listed, and a list without end or of too many bytes ends with the reason
  const schemas: Json = Object.assign(Object.create(null) as Json, {
    [ERROR]: {
      type: 'object',
      required: ['error', 'code'],
      properties: { error: { type: 'string' }, code: { type: 'string' }, server: { type: 'string' }, tool: { type: 'string' }, details: {} }
    },
    [RESULT]: { type: 'object', required: ['result'], properties: { result: { type: 'object', properties: {} } } },
    [INPUT_REQUIRED]: {
      type: 'object',
      required: ['status', 'inputRequests', 'requestState'],
      properties: { status: { const: 'input_required' }, inputRequests: { type: 'object', properties: {} }, requestState: { type: 'string' } }
    }
  })
  const paths: Json = {}
  for (const [i, { server, item: { name, title, description, inputSchema } }] of tools.entries()) {
    const tool = String(name)
    const operationId = only === undefined ? serverToolName(server, tool) : toolName(tool)
    const path = `/mcp/tools/${encodeURIComponent(server)}/${pathName(tool)}`
    // a tool may have the name that stands for another one in its path: the path calls that tool
    if (Object.hasOwn(paths, path) && tool !== toolName(tool)) continue
    const component = addArguments(schemas, `${operationId}_arguments`, inputSchema)
    paths[path] = {
      post: {
        operationId,
        summary: typeof title === 'string' && title !== '' ? title : tool,
        ...typeof description === 'string' && { description },
        requestBody: { required: true, content: { 'application/json': { schema: refTo(component) } } },
        responses: RESPONSES
      }
    }
    if (i % TURN_TOOLS === TURN_TOOLS - 1) await yieldToEventLoop()
  }
  return {
    openapi: '3.1.0',
    info: {
      title: only === undefined ? 'MCP tools' : `MCP tools of ${only}`,
      version: CLIENT_INFO.version,
      description: only === undefined ? 'The tools of the configured MCP servers' : `The tools of the MCP server ${only}`
    },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    servers: [{ url }],
    paths,
    components: { schemas }
  }
}

/** The name of a tool in a path. A slash or another character that proxies refuse or decode is replaced. */
function pathName (tool: string): string {
  return encodeURIComponent(toolName(tool))
}

/** The tool that a path names: by its own name, or by that of `pathName`. Otherwise the name itself. */
export function toolOfPath (named: string, tools: readonly Item[]): string {
  const names = tools.map(({ name }) => String(name))
  return names.includes(named) ? named : names.find(name => toolName(name) === named) ?? named
}

/**
 * The absolute address before the paths of the routes: `publicUrl`, or the one under which the request came. An
 * application may rewrite the path of a request.
 */
export function baseUrl ({ protocol, host, originalUrl }: FastifyRequest, prefix: string, publicUrl: string | undefined): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '')
  const [path = ''] = originalUrl.split('?', 1)
  const end = path.lastIndexOf('/mcp/openapi')
  return `${protocol}://${host}${path.startsWith('/') && end >= 0 ? path.slice(0, end) : prefix}`.replace(/\/+$/, '')
}
