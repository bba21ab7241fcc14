import { mcpGatewayPlugin } from '@polyvac/mcp-gateway'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { fileURLToPath } from 'node:url'
import { EVERYTHING } from './mcp-peers.mjs'

const BIG = fileURLToPath(new URL('../../packages/mcp-gateway/test/fixtures/bad-server.mjs', import.meta.url))

const Call = Type.Object({ server: Type.String(), tool: Type.String(), arguments: Type.Record(Type.String(), Type.Unknown()) })
const Result = Type.Object({ result: Type.Object({ content: Type.Array(Type.Object({ type: Type.String(), text: Type.String() })) }) })

/** The comparison: a bare Fastify route for the same bytes, with validation and serialisation, without a server. */
export async function bareCallApp () {
  const app = Fastify()
  app.post('/mcp/call', { schema: { body: Call, response: { 200: Result } } }, async ({ body }) => ({ result: { content: [{ type: 'text', text: `Echo: ${body.arguments.message}` }] } }))
  return app
}

/** The gateway as an application registers it, with the published test server, and one that returns large results. */
export async function gatewayApp () {
  const app = Fastify()
  await app.register(mcpGatewayPlugin, {
    servers: [
      { name: 'everything', command: process.execPath, args: [EVERYTHING], inherit_env: [] },
      { name: 'large', command: process.execPath, args: [BIG], inherit_env: [] }
    ]
  })
  return app
}
