import { Client as ModernClient, type Transport as ModernTransport } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { test, type Test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { mcpServerPlugin, defineTools, serveStdio, type McpServerOptions } from '../src/index.js'

const me = { name: 'test', version: '1' }
const hung = { now: 0 }

const tools = defineTools([
  { name: 'echo', inputSchema: Type.Object({ text: Type.String() }), handler: ({ text }) => text },
  { name: 'count', inputSchema: Type.Object({}), handler: async (_args, { progress }) => { for (let i = 1; i <= 3; i++) await progress({ progress: i }); return 'counted' } },
  { name: 'ask', inputSchema: Type.Object({}), handler: async (_args, { ask }) => JSON.stringify(await ask({ who: { method: 'elicitation/create', params: { message: 'Who?', requestedSchema: { type: 'object', properties: {} } } } })) },
  { name: 'region', inputSchema: Type.Object({ region: Type.String({ 'x-mcp-header': 'Region' }) }), handler: ({ region }) => region },
  { name: 'hang', inputSchema: Type.Object({}), handler: async (_args, { signal }) => { hung.now++; return await new Promise((_resolve, reject) => { signal.addEventListener('abort', () => { hung.now--; reject(new Error('left')) }) }) } },
  { name: 'drop', inputSchema: Type.Object({}), handler: async (_args, context) => { context.disconnect(10); await new Promise(resolve => setTimeout(resolve, 50)); return 'after the break' } }
])

/** An app whose standard input and output are in the test's hands. */
async function served (t: Test, options: Partial<McpServerOptions> = {}) {
  const app = Fastify({ forceCloseConnections: true })
  await app.register(mcpServerPlugin, { sources: [tools], ...options })
  await app.ready()
  const [input, output] = [new PassThrough(), new PassThrough()]
  const server = serveStdio(app, { input, output })
  t.teardown(async () => { server.close(); await app.close() })
  let rest = ''
  const transport = (): Transport & ModernTransport => {
    const self: Transport = {
      async start () {
        output.on('data', (chunk: Buffer) => {
          const lines = (rest + chunk.toString()).split('\n')
          rest = lines.pop() ?? ''
          for (const line of lines) self.onmessage?.(JSON.parse(line) as JSONRPCMessage)
        })
      },
      async send (message) { input.write(`${JSON.stringify(message)}\n`) },
      async close () { self.onclose?.() }
    }
    return self as Transport & ModernTransport
  }
  return { app, input, output, server, transport }
}

async function said (output: PassThrough): Promise<Record<string, any>> {
  const [chunk] = await once(output, 'data') as [Buffer]
  return JSON.parse(chunk.toString()) as Record<string, any>
}

const clients = {
  async '2025-11-25' (transport: Transport) {
    const client = new Client(me, { capabilities: { elicitation: {} } })
    const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js')
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ada' } }))
    await client.connect(transport)
    return { call: async (name: string, args: object, options?: object) => await client.callTool({ name, arguments: args as never }, undefined, options), list: async () => (await client.listTools()).tools }
  },
  async '2026-07-28' (transport: ModernTransport) {
    const client = new ModernClient(me, { capabilities: { elicitation: {} }, versionNegotiation: { mode: 'auto' } })
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }))
    await client.connect(transport)
    return { call: async (name: string, args: object, options?: object) => await client.callTool({ name, arguments: args as never }, options), list: async () => (await client.listTools()).tools }
  }
}

for (const [revision, connect] of Object.entries(clients)) {
  test(`clients of ${revision} list, call, answer, read progress and cancel over standard input and output`, async t => {
    const { transport } = await served(t)
    const client = await connect(transport())
    t.ok((await client.list()).some(({ name }) => name === 'echo'))
    t.match(await client.call('echo', { text: 'hällo' }), { content: [{ text: 'hällo' }] })
    t.match(await client.call('region', { region: 'nørre' }), { content: [{ text: 'nørre' }] }, 'what HTTP repeats as headers is not asked for here')
    t.match(await client.call('ask', {}), { content: [{ text: /Ada/ }] })
    const steps: number[] = []
    t.match(await client.call('count', {}, { onprogress: ({ progress }: { progress: number }) => { steps.push(progress) } }), { content: [{ text: 'counted' }] })
    t.strictSame(steps, [1, 2, 3])
    const stop = new AbortController()
    const hanging: Promise<unknown> = client.call('hang', {}, { signal: stop.signal })
    await until(() => hung.now > 0, 'the tool runs')
    stop.abort(new Error('enough'))
    await t.rejects(hanging)
    await until(() => hung.now === 0, 'the tool has ended')
    t.match(await client.call('drop', {}), { content: [{ text: 'after the break' }] }, 'an answer whose stream is cut on purpose arrives')
    t.match(await client.call('echo', { text: 'still there' }), { content: [{ text: 'still there' }] })
  })
}

test('an invalid line is answered with an error, and the next one is served', async t => {
  const { input, output } = await served(t)
  for (const [line, error] of [
    ['{"jsonrpc"', { id: null, error: { code: -32700 } }],
    [`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"text":"${'x'.repeat(4 * 1024 * 1024)}"}}`, { id: 7, error: { code: -32600, message: /at most 4194304/ } }],
    ['{"jsonrpc":"2.0","id":8,"method":"tools/list"}', { id: 8, error: { message: /send initialize first/ } }],
    ['{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}', { id: 0, result: { protocolVersion: '2025-06-18' } }],
    ['{"jsonrpc":"2.0","id":"nine","method":"no/such"}', { id: 'nine', error: { code: -32601 } }]
  ] as const) {
    const answer = said(output)
    input.write(`${line}\n`)
    t.match(await answer, { jsonrpc: '2.0', ...error }, line.slice(0, 40))
  }
})

test('requests before the end of the input are answered, then `done` resolves', async t => {
  const { input, output, server } = await served(t)
  const lines: string[] = []
  output.on('data', (chunk: Buffer) => { lines.push(...chunk.toString().trim().split('\n')) })
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }
  for (let id = 1; id <= 3; id++) input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo', arguments: { text: `t${id}` }, _meta: meta } })}\r\n\n`)
  input.end()
  await server.done
  t.strictSame(lines.map(line => (JSON.parse(line) as { id: number }).id).sort(), [1, 2, 3])
})

test('the headers are sent with each message, and a refusal is an error response', async t => {
  const authenticate: McpServerOptions['authenticate'] = ({ headers }) => headers.authorization === 'Bearer ada' ? { owner: 'ada' } : undefined
  const { app, input, output } = await served(t, { authenticate })
  const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}\n'
  const refused = said(output)
  input.write(list)
  t.match(await refused, { id: 1, error: { message: /is not authenticated/ } })
  const [other, answers] = [new PassThrough(), new PassThrough()]
  const server = serveStdio(app, { input: other, output: answers, headers: { authorization: 'Bearer ada' } })
  const answered = said(answers)
  other.write(list)
  t.match(await answered, { id: 1, result: { tools: [{ name: 'echo' }] } })
  server.close()
})

test('other connections are not mistaken for standard input', async t => {
  const { app } = await served(t)
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }
  const { statusCode, body } = await app.inject({
    method: 'POST',
    url: '/mcp',
    headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'region' },
    payload: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'region', arguments: { region: 'x' }, _meta: meta } }
  })
  t.equal(statusCode, 400)
  t.match(JSON.parse(body), { error: { code: -32020 } })
})

const modernMeta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }

test('a name that is too long for a header is served', async t => {
  const { input, output } = await served(t)
  input.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'n'.repeat(20_000), _meta: modernMeta } })}\n`)
  t.match(await said(output), { id: 1, error: { code: -32602, message: /^unknown tool: "nnn/ } })
  input.write(`${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'echo', arguments: { text: 'ü' }, _meta: { ...modernMeta, 'io.modelcontextprotocol/protocolVersion': '2099-01-01\r\n' } } })}\n`)
  t.match(await said(output), { id: 2, error: { code: -32022 } })
})

test('an invalid message is answered with the id null, and the last line may lack its line feed', async t => {
  const { input, output, server } = await served(t)
  for (const line of ['null', '5', '"x"', '{}', '[]', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', '{"jsonrpc":"2.0","id":{},"method":"ping"}']) {
    input.write(`${line}\n`)
    t.match(await said(output), { id: null, error: { code: -32600 } }, line)
  }
  input.end(JSON.stringify({ jsonrpc: '2.0', id: 'last', method: 'tools/call', params: { name: 'echo', arguments: { text: 'end' }, _meta: modernMeta } }))
  t.match(await said(output), { id: 'last', result: { content: [{ text: 'end' }] } })
  await server.done
})

test('responses wait for a slow reader with one listener', async t => {
  const { input, output } = await served(t)
  const warnings: Error[] = []
  const warned = (warning: Error): void => { warnings.push(warning) }
  process.on('warning', warned)
  t.teardown(() => { process.off('warning', warned) })
  const text = 'x'.repeat(20_000)
  for (let id = 0; id < 50; id++) input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo', arguments: { text }, _meta: modernMeta } })}\n`)
  await until(() => output.writableLength > 0, 'the reader is behind')
  // the time in which the other responses begin to wait
  await delay(200)
  let all = ''
  for await (const chunk of output) if ((all += String(chunk)).split('\n').length === 51) break
  t.strictSame(all.trim().split('\n').map(line => (JSON.parse(line) as { id: number }).id).sort((a, b) => a - b), Array.from({ length: 50 }, (_, i) => i))
  t.strictSame(warnings.map(({ message }) => message), [])
})

test('a ping before initialize is answered, and other requests name what comes first', async t => {
  const { input, output } = await served(t)
  const ask = async (message: object): Promise<Record<string, any>> => {
    const reply = said(output)
    input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    return await reply
  }
  t.strictSame(await ask({ id: 'a', method: 'ping' }), { jsonrpc: '2.0', id: 'a', result: {} })
  t.strictSame(await ask({ id: 2, method: 'ping', params: { _meta: { progressToken: 1 } } }), { jsonrpc: '2.0', id: 2, result: {} })
  t.match(await ask({ id: 3, method: 'tools/list' }), { id: 3, error: { message: 'the session has not begun; send initialize first' } })
  t.match(await ask({ id: 4, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: me } }), { id: 4, result: { protocolVersion: '2025-11-25' } })
  t.strictSame(await ask({ id: 5, method: 'ping' }), { jsonrpc: '2.0', id: 5, result: {} })
})

test('the response follows progress with a pause, since clients drop progress that they read with it', async t => {
  const { input, output } = await served(t)
  const lines: Array<Record<string, any>> = []
  output.on('data', (chunk: Buffer) => { lines.push(...chunk.toString().trim().split('\n').map(line => JSON.parse(line) as Record<string, any>)) })
  const call = (id: number, name: string, args: object = {}): void => {
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, _meta: { progressToken: id } } })}\n`)
  }
  const answered = (id: number): boolean => lines.some(line => line.id === id)
  input.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: me } })}\n`)
  await until(() => answered(1), 'the session has begun')
  const pauses: number[] = []
  const { setTimeout: real } = globalThis
  t.teardown(() => { globalThis.setTimeout = real })
  globalThis.setTimeout = ((work: () => void, ms: number) => { pauses.push(ms); return real(work, ms) }) as typeof setTimeout
  call(2, 'echo', { text: 'hi' })
  await until(() => answered(2), 'a call without progress is answered')
  t.notOk(pauses.some(ms => ms > 0 && ms <= 10), 'without progress there is no pause')
  // on a busy machine 10 ms may have passed already
  for (let id = 3; id < 30 && !pauses.some(ms => ms > 0 && ms <= 10); id++) {
    call(id, 'count')
    await until(() => answered(id), 'a call with progress is answered')
  }
  t.ok(pauses.some(ms => ms > 5 && ms <= 10), 'with progress there is one')
})
