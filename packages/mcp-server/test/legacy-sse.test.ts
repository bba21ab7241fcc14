import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CreateMessageRequestSchema, ElicitRequestSchema, ResourceUpdatedNotificationSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import type { FastifyInstance } from 'fastify'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { fixtureSource } from './conformance-fixture/source.mjs'
import { initialize, LegacySession, messagesIn, post, says, serve, sourceOf, Wire } from './fixtures/wire.js'

const watchers = new Set<() => void>()
const watched = sourceOf({
  touch: {
    run () {
      for (const changed of watchers) changed()
      return says('touched')
    }
  }
}, {
  resources: {
    list: () => [{ uri: 'test://touched', name: 'touched' }],
    read: () => undefined,
    subscribe (_uri, changed) {
      watchers.add(changed)
      return () => { watchers.delete(changed) }
    }
  }
})

const source = sourceOf({
  hello: { run: () => says('hello') },
  waits: {
    async run (_args, { signal }) {
      await new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }) })
      return says('stopped')
    }
  },
  long: { run: () => says('x'.repeat(2 * 1024 * 1024)) }
})

async function listening (t: Parameters<typeof serve>[0], options: Partial<Parameters<typeof serve>[1]> = {}): Promise<FastifyInstance> {
  const app = await serve(t, { sources: [source], ...options })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return app
}

/** The stream of a session, and the address that it names. */
async function open (app: FastifyInstance, headers: Record<string, string> = {}): Promise<{ wire: Wire, endpoint: string, send: (body: object) => Promise<{ status: number, text: string }> }> {
  const wire = new Wire(app, undefined, headers, 'GET')
  await wire.until('\n\n')
  const endpoint = /^event: endpoint\ndata: (.*)\n\n/.exec(wire.text)?.[1] ?? ''
  const send = async (body: object): Promise<{ status: number, text: string }> => {
    const { statusCode, body: text } = await app.inject({ method: 'POST', url: endpoint, headers, payload: body })
    return { status: statusCode, text }
  }
  return { wire, endpoint, send }
}

const toolCall = (id: number, name: string): object => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } })

test('the SDK\'s client for HTTP+SSE lists, calls, answers, cancels and gets notifications of changes', async t => {
  const app = await serve(t, { sources: [fixtureSource(), watched] })
  const client = new Client({ name: 'old', version: '1' }, { capabilities: { elicitation: {}, sampling: {} } })
  t.teardown(() => client.close())
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept' as const, content: { username: 'ann', email: 'ann@example.com' } }))
  client.setRequestHandler(CreateMessageRequestSchema, async () => ({ role: 'assistant' as const, content: { type: 'text' as const, text: 'Paris' }, model: 'test' }))
  await client.connect(new SSEClientTransport(new URL(`${await app.listen({ host: '127.0.0.1', port: 0 })}/mcp`)) as unknown as Transport)
  t.match((await client.listTools()).tools.map(({ name }) => name), ['test_simple_text'])
  const textOf = (result: unknown): string | undefined => (result as { content: Array<{ text?: string }> }).content[0]?.text
  t.equal(textOf(await client.callTool({ name: 'test_simple_text' })), 'This is a simple text response for testing.')
  const steps: number[] = []
  await client.callTool({ name: 'test_tool_with_progress' }, undefined, { onprogress: ({ progress }) => { steps.push(progress) } })
  t.strictSame(steps, [0, 50, 100])
  t.match(textOf(await client.callTool({ name: 'test_elicitation', arguments: { message: 'Who?' } })), /action=accept.*ann@example.com/)
  t.match(textOf(await client.callTool({ name: 'test_sampling', arguments: { prompt: 'Capital?' } })), /Paris/)
  t.match(await Promise.all(Array.from({ length: 20 }, (_, i) => client.callTool({ name: 'greet', arguments: { name: `n${i}` } }))), Array.from({ length: 20 }, (_, i) => ({ content: [{ text: new RegExp(`n${i}\\b`) }] })))
  await t.rejects(client.readResource({ uri: 'test://none' }), { code: -32002 })
  const changed = new Promise<void>(resolve => { client.setNotificationHandler(ToolListChangedNotificationSchema, () => { resolve() }) })
  await client.callTool({ name: 'test_trigger_tool_change' })
  await changed
  const updated = new Promise<void>(resolve => { client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => { resolve() }) })
  await client.subscribeResource({ uri: 'test://touched' })
  await client.callTool({ name: 'touch' })
  await updated
  const stop = new AbortController()
  const cancelled = client.callTool({ name: 'slow_compute', arguments: { seconds: 60 } }, undefined, { signal: stop.signal })
  setTimeout(() => { stop.abort('enough') }, 50)
  await t.rejects(cancelled, /enough/)
  t.equal(textOf(await client.callTool({ name: 'test_simple_text' })), 'This is a simple text response for testing.')
})

test('a message of 2024-11-05 is accepted with 202 and answered on the stream of its session', async t => {
  const app = await listening(t)
  const { wire, endpoint, send } = await open(app)
  t.match(endpoint, /^\/mcp\?sse_session=[\w-]{36}$/)
  t.strictSame(await send(initialize('2024-11-05')), { status: 202, text: '' })
  t.equal((await send({ jsonrpc: '2.0', method: 'notifications/initialized' })).status, 202)
  t.equal((await send(toolCall(1, 'hello'))).status, 202)
  t.equal((await send(toolCall(2, 'none'))).status, 202)
  t.equal((await send({ jsonrpc: '2.0', id: 3, method: 'none' })).status, 202)
  t.equal((await send({ jsonrpc: '2.0', id: 4, method: 'initialize' })).status, 202)
  await wire.until('"id":4')
  t.match(messagesIn(wire.text.slice(wire.text.indexOf('\n\n') + 2)), [
    { id: 0, result: { protocolVersion: '2024-11-05' } }, { id: 1, result: says('hello') }, { id: 2, error: { code: -32602 } }, { id: 3, error: { code: -32601 } }, { id: 4, error: { code: -32602 } }
  ].sort((a, b) => wire.text.indexOf(`"id":${a.id}`) - wire.text.indexOf(`"id":${b.id}`)))
  t.match(await send([toolCall(5, 'hello')]), { status: 400, text: /-32600/ })
  t.match(await send({ hello: 'you' }), { status: 400, text: /-32600/ })
  wire.leave()
})

test('the session and its calls end with its stream', async t => {
  const app = await listening(t, { limits: { maxStreams: 1 } })
  const { wire, send } = await open(app)
  await send(toolCall(1, 'waits'))
  t.equal((await new Wire(app, undefined, {}, 'GET').head).statusCode, 503, 'all places for streams are taken')
  wire.leave()
  const refused = await until(async () => {
    const { status } = await send({ jsonrpc: '2.0', id: 2, method: 'ping' })
    return status !== 202 && status
  }, 'the session has ended')
  t.equal(refused, 404)
  const next = await open(app)
  t.not(next.endpoint, '', 'its place is free')
  await next.send(toolCall(1, 'waits'))
  await app.close()
  await next.wire.ended
  t.match(next.wire.text, /"id":1/, 'what was in progress is answered')
})

test('a session over HTTP+SSE counts as a session, belongs to its caller, and cannot be used over Streamable HTTP', async t => {
  const app = await listening(t, { limits: { maxSessions: 1 }, authenticate: ({ headers }) => ({ owner: headers.authorization ?? 'nobody' }) })
  const { wire, endpoint, send } = await open(app, { authorization: 'ann' })
  const foreign = await app.inject({ method: 'POST', url: endpoint, headers: { authorization: 'bob' }, payload: toolCall(1, 'hello') })
  t.equal(foreign.statusCode, 404)
  t.equal((await post(app, initialize('2025-11-25'))).status, 503, 'the one place is in use')
  wire.leave()
  await until(() => wire.request.destroyed, 'the client has disconnected')
  const session = await until(async () => {
    const opened = await LegacySession.open(app, { headers: { authorization: 'ann' } })
    return opened.id !== undefined && opened
  }, 'a session can be opened')
  t.equal((await send(initialize('2024-11-05'))).status, 404)
  const crossed = await app.inject({ method: 'POST', url: `/mcp?sse_session=${session.id}`, headers: { authorization: 'ann' }, payload: toolCall(1, 'hello') })
  t.equal(crossed.statusCode, 404, 'a session of the other transport has no such stream')
})

test('a stream that is not read takes no more requests, and loses no response', async t => {
  const app = await listening(t)
  const { wire, send } = await open(app)
  const response = await wire.head
  response.pause()
  let id = 0
  await until(async () => {
    const { status } = await send(toolCall(++id, 'long'))
    // the time in which the response is written
    if (status === 202) await delay(20)
    return status !== 202
  }, 'the stream takes no more requests')
  response.resume()
  await wire.until(`"id":${id - 1}`)
  await until(async () => (await send(toolCall(++id, 'hello'))).status !== 503, 'the stream takes requests again')
  await wire.until(`"id":${id}`)
  wire.leave()
})

test('a GET of a later transport does not open HTTP+SSE', async t => {
  const stateless = await listening(t, { sessions: false })
  t.equal((await new Wire(stateless, undefined, {}, 'GET').head).statusCode, 405)
  t.match(await post(stateless, toolCall(1, 'hello')), { status: 200 })
  const app = await listening(t)
  for (const headers of [{ 'mcp-protocol-version': '1999-01-01' }, { 'last-event-id': '1_1' }] as Array<Record<string, string>>) t.equal((await new Wire(app, undefined, headers, 'GET').head).statusCode, 400)
  t.equal((await new Wire(app, undefined, { 'mcp-session-id': 'none' }, 'GET').head).statusCode, 404)
  t.equal((await new Wire(app, undefined, { host: 'evil.example' }, 'GET').head).statusCode, 403)
  t.equal((await new Wire(app, undefined, { origin: 'http://evil.example' }, 'GET').head).statusCode, 403)
})

test('a GET that names its revision, as that of @ai-sdk/mcp does, opens the stream', async t => {
  const app = await listening(t)
  for (const version of ['2024-11-05', '2025-06-18', '2025-11-25']) {
    const headers = { 'mcp-protocol-version': version }
    const { wire, endpoint, send } = await open(app, headers)
    t.match(endpoint, /sse_session=/, version)
    await send(initialize(version))
    await send(toolCall(1, 'hello'))
    await wire.until('"id":1')
    t.match(wire.text, `"protocolVersion":"${version}"`)
    wire.leave()
  }
  for (const [headers, status] of [[{ 'mcp-protocol-version': '1999-01-01' }, 400], [{ 'mcp-protocol-version': '2026-07-28' }, 405], [{ 'mcp-protocol-version': '2025-06-18', 'last-event-id': '1_1' }, 400]] as const) {
    t.equal((await new Wire(app, undefined, headers as Record<string, string>, 'GET').head).statusCode, status)
  }
})

test('the response follows progress with a pause, also a failure; without progress at once', async t => {
  const counts = sourceOf({
    counts: { run: async (_args, context) => { await context.progress({ progress: 1 }); return says('counted') } },
    fails: { run: async (_args, context) => { await context.progress({ progress: 1 }); throw Object.assign(new Error('no'), { rpcError: { code: -32602, message: 'no' } }) } }
  })
  const app = await listening(t, { sources: [source, counts] })
  const { wire, send } = await open(app)
  await send(initialize('2024-11-05'))
  const pauses: number[] = []
  const { setTimeout: real } = globalThis
  t.teardown(() => { globalThis.setTimeout = real })
  globalThis.setTimeout = ((work: () => void, ms: number) => { pauses.push(ms); return real(work, ms) }) as typeof setTimeout
  const hasPaused = (): boolean => pauses.some(ms => ms > 5 && ms <= 10)
  let id = 0
  const call = async (name: string, meta: object): Promise<void> => {
    await send({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params: { name, _meta: meta } })
    await wire.until(`"id":${id},`)
  }
  await call('hello', { progressToken: 1 })
  await call('counts', {})
  t.notOk(hasPaused())
  for (const name of ['counts', 'fails']) {
    pauses.length = 0
    // on a busy machine 10 ms may have passed already
    for (let i = 0; i < 30 && !hasPaused(); i++) await call(name, { progressToken: 1 })
    t.ok(hasPaused(), name)
  }
  wire.leave()
})
