import Fastify from 'fastify'
import { test } from 'tap'
import { mcpServerPlugin, type ToolSource } from '../src/index.js'

const echo: ToolSource = {
  list: () => [{ name: 'echo', description: 'Says it again.', inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } }],
  call: (_name, { text }) => ({ content: [{ type: 'text', text }] })
}

test('a tool of a source is listed and called', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(mcpServerPlugin, { sources: [echo] })
  let session: string | undefined
  const ask = async (method: string, params: object): Promise<Record<string, unknown>> => {
    const headers = { accept: 'application/json, text/event-stream', ...session !== undefined && { 'mcp-session-id': session } }
    const response = await app.inject({ method: 'POST', url: '/mcp', headers, payload: { jsonrpc: '2.0', id: 1, method, params } })
    session ??= response.headers['mcp-session-id'] as string
    return (JSON.parse(response.body) as { result: Record<string, unknown> }).result
  }
  t.match(await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }), { protocolVersion: '2025-06-18' })
  t.match(await ask('tools/list', {}), { tools: [{ name: 'echo' }] })
  t.strictSame(await ask('tools/call', { name: 'echo', arguments: { text: 'hi' } }), { content: [{ type: 'text', text: 'hi' }] })
})
