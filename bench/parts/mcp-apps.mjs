import { randomUUID } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import { createGateway } from '@polyvac/mcp-gateway'
import { mcpServerPlugin, defineTools } from '@polyvac/mcp-server'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { EVERYTHING, PEERS_FOLDER } from './mcp-peers.mjs'

const Input = Type.Object({ message: Type.String() })
const echo = message => `Echo: ${message}`

const Call = Type.Object({
  jsonrpc: Type.Literal('2.0'),
  id: Type.Union([Type.String(), Type.Integer()]),
  method: Type.Literal('tools/call'),
  params: Type.Object({ name: Type.String(), arguments: Input }, { additionalProperties: true })
})
const Result = Type.Object({
  jsonrpc: Type.String(),
  id: Type.Union([Type.String(), Type.Integer()]),
  result: Type.Object({ content: Type.Array(Type.Object({ type: Type.String(), text: Type.String() })) })
})

/** The comparison: a bare Fastify route for the same bytes, with Fastify's own validation and serialisation. */
export async function bareMcpApp () {
  const app = Fastify()
  app.post('/mcp', { schema: { body: Call, response: { 200: Result } } }, async ({ body: { id, params } }) =>
    ({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: echo(params.arguments.message) }] } }))
  return app
}

/** The plugin as an application registers it, with its own tool. */
export async function mcpApp ({ sessions }) {
  const app = Fastify()
  const tools = defineTools([{ name: 'echo', description: 'Repeats the message.', inputSchema: Input, handler: ({ message }) => echo(message) }])
  await app.register(mcpServerPlugin, { sources: [tools], sessions })
  return app
}

/** The tools of the published test server, over stdio, through the plugin. */
export async function mcpGatewayApp () {
  const app = Fastify()
  const gateway = createGateway({ servers: [{ name: 'everything', command: process.execPath, args: [EVERYTHING], inherit_env: [] }] })
  await app.register(mcpServerPlugin, { sources: [gateway.toolSource()] })
  gateway.start()
  app.addHook('preClose', () => gateway.close())
  return app
}

/** The same tool with the SDK's own server. */
function sdkServer () {
  const server = new Server({ name: 'bench', version: '1' }, { capabilities: { tools: {} } })
  const { type, properties, required } = Input
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ name: 'echo', inputSchema: { type, properties, required } }] }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({ content: [{ type: 'text', text: echo(params.arguments.message) }] }))
  return server
}

/** The SDK's Streamable HTTP transport under Fastify, one session per client, as in its examples. */
export async function sdkApp () {
  const app = Fastify()
  const transports = new Map()
  app.post('/mcp', async (request, reply) => {
    let transport = transports.get(request.headers['mcp-session-id'])
    if (transport === undefined) {
      transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized: id => { transports.set(id, transport) } })
      await sdkServer().connect(transport)
    }
    reply.hijack()
    await transport.handleRequest(request.raw, reply.raw, request.body)
  })
  return app
}

/** fastify-mcp, with sessions. */
export async function fastifyMcpApp () {
  const { streamableHttp, Sessions } = await import(pathToFileURL(`${PEERS_FOLDER}/node_modules/fastify-mcp/dist/index.js`).href)
  const app = Fastify()
  await app.register(streamableHttp, { stateful: true, mcpEndpoint: '/mcp', sessions: new Sessions(), createServer: sdkServer })
  return app
}
