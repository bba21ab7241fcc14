import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type Test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { started } from './fixtures/app.js'
import { handWritten } from './fixtures/hand-written.js'

interface Request { readonly req: IncomingMessage, readonly res: ServerResponse, readonly message: any }

/** A server of 2025-11-25 with a session; `answer` returns true for what it has answered. */
async function legacy (t: Test, answer: (request: Request) => boolean): Promise<{ url: string, seen: Request[] }> {
  const seen: Request[] = []
  const server = createServer((req, res) => {
    let text = ''
    req.on('data', chunk => { text += chunk })
    req.on('end', () => {
      const message = text === '' ? {} : JSON.parse(text)
      const request = { req, res, message }
      seen.push(request)
      const { id, method, params } = message
      const send = (result: object): unknown => res.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'the-session' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      if (answer(request)) return
      if (req.method === 'DELETE') return res.writeHead(204).end()
      if (req.method !== 'POST') return res.writeHead(405).end()
      if (req.headers['mcp-protocol-version'] === '2026-07-28') return res.writeHead(400).end()
      if (method === 'initialize') return send({ protocolVersion: params.protocolVersion, capabilities: { tools: { listChanged: true }, resources: { subscribe: true } }, serverInfo: { name: 'own', version: '1' } })
      if (id === undefined) return res.writeHead(202).end()
      send(method === 'tools/list' ? { tools: [{ name: 'tool', inputSchema: { type: 'object' } }] } : { content: [{ type: 'text', text: 'ok' }] })
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, seen }
}

test('requests carry the session and the revision, and the session is ended with DELETE', async t => {
  const { url, seen } = await legacy(t, () => false)
  const { call, app } = await started(t, [{ name: 'own', url }])
  t.equal((await call('own', 'tool')).status, 200)
  await app.close()
  const after = seen.slice(seen.findIndex(({ message }) => message.method === 'initialize') + 1)
  t.strictSame(after.map(({ req, message }) => message.method ?? req.method), ['notifications/initialized', 'GET', 'tools/list', 'tools/call', 'DELETE'])
  for (const { req: { headers } } of after) t.match(headers, { 'mcp-session-id': 'the-session', 'mcp-protocol-version': '2025-11-25' })
})

test('the stream for messages without a request is resumed with the id of its last event', async t => {
  const gets: Array<{ last: unknown, at: number }> = []
  const { url } = await legacy(t, ({ req, res }) => {
    if (req.method !== 'GET') return false
    gets.push({ last: req.headers['last-event-id'], at: performance.now() })
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    const event = `id: e${gets.length}\ndata: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })}\n\n`
    if (gets.length < 3) res.end(`retry: 50\n${event}`)
    else res.write(event)
    return true
  })
  const { gateway } = await started(t, [{ name: 'own', url }])
  let changes = 0
  gateway.onChange(kinds => { if (kinds.join() === 'tools') changes++ })
  await until(() => changes === 3, 'three changes are reported')
  t.strictSame(gets.map(({ last }) => last), [undefined, 'e1', 'e2'])
  t.ok(gets[2]!.at - gets[1]!.at >= 45, 'after the delay that the server names')
})

test('a redirect within the server is followed with the same method and body', async t => {
  const { url, seen } = await legacy(t, ({ req, res }) => {
    if (req.url !== '/mcp') return false
    res.writeHead(307, { location: '/moved/mcp' }).end()
    return true
  })
  const { call } = await started(t, [{ name: 'own', url }])
  t.equal((await call('own', 'tool')).status, 200)
  const calls = seen.filter(({ message }) => message.method === 'tools/call')
  t.strictSame(calls.map(({ req, message }) => [req.method, req.url, message.params.name]), [['POST', '/mcp', 'tool'], ['POST', '/moved/mcp', 'tool']])
})

test('a redirect that leads in a circle fails', async t => {
  const { url, seen } = await legacy(t, ({ message, res }) => {
    if (message.method !== 'tools/call') return false
    res.writeHead(308, { location: '/mcp' }).end()
    return true
  })
  const { call } = await started(t, [{ name: 'own', url }])
  t.match(await call('own', 'tool'), { status: 500, body: { code: 'MCP_CALL_FAILED', error: /HTTP status 308/ } })
  t.ok(seen.filter(({ message }) => message.method === 'tools/call').length < 10)
})

for (const isModern of [true, false]) {
  test(`a call of ${isModern ? '2026-07-28 is cancelled only by its closed connection' : '2025-11-25 is cancelled by a notification'}`, async t => {
    const methods: string[] = []
    let closed = 0
    const { url } = await handWritten(t, ({ message: { method, id }, res }) => {
      methods.push(method ?? 'response')
      if (method !== 'tools/call') return false
      res.once('close', () => { if (!res.writableFinished) closed++ })
      return id !== undefined
    }, { isModern })
    const { gateway } = await started(t, [{ name: 'own', url }])
    const stop = new AbortController()
    const call = gateway.call('own', 'tool', {}, { signal: stop.signal })
    await until(() => methods.includes('tools/call'), 'the server has the call')
    stop.abort(new Error('enough'))
    await t.rejects(call, { message: 'enough' })
    await until(() => closed === 1, 'the connection is closed')
    await gateway.call('own', 'tool', {}, { signal: AbortSignal.timeout(50) }).catch(() => {})
    if (!isModern) await until(() => methods.includes('notifications/cancelled'), 'the server has the notification')
    t.equal(methods.includes('notifications/cancelled'), !isModern)
  })
}

test('a request of the server is answered, a ping with an empty result, and one that it cancels not at all', async t => {
  const answers: any[] = []
  const { url } = await handWritten(t, ({ message, event, res }) => {
    const { id, method } = message
    if (method === undefined) {
      answers.push(message)
      return false
    }
    if (method !== 'tools/call') return false
    event({ id: 'p', method: 'ping' })
    event({ id: 'u', method: 'unknown/method' })
    event({ id: 'c', method: 'elicitation/create', params: { message: 'Which?' } })
    event({ method: 'notifications/cancelled', params: { requestId: 'c' } })
    until(() => answers.length === 2, 'two requests are answered').then(() => { event({ id, result: { content: [] } }); res.end() }, t.threw)
    return true
  }, { isModern: false })
  const { gateway } = await started(t, [{ name: 'own', url }])
  let isCancelled = false
  await gateway.call('own', 'tool', {}, {
    ask: async (_question, signal) => await new Promise(resolve => signal.addEventListener('abort', () => { isCancelled = true; resolve({}) }))
  })
  t.ok(isCancelled)
  t.match(answers, [{ id: 'p', result: {} }, { id: 'u', error: { code: -32601 } }])
  t.equal(answers.length, 2)
})
