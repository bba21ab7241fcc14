import { test } from 'tap'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import Fastify from 'fastify'
import { createGateway, mcpGatewayPlugin } from '../src/index.js'
import { everythingOverHttp, listening, MODERN, started, textOf, until } from './fixtures/app.js'

for (const [binding, path] of [['streamableHttp', '/mcp'], ['sse', '/sse']] as const) {
  test(`a server over HTTP (${binding}) is listed, called and read`, async t => {
    const { port } = await everythingOverHttp(t, binding)
    const { call, get } = await started(t, [{ name: 'everything', url: `http://127.0.0.1:${port}${path}` }])
    t.equal(textOf(await call('everything', 'echo', { message: 'over HTTP' })), 'Echo: over HTTP')
    t.ok((await get('/mcp/tools')).body.tools.length > 5)
    t.ok((await get('/mcp/resources')).body.resources.length > 0)
    t.match((await get('/mcp/servers')).body.servers, [{ transport: 'http', state: 'ready', server: { name: String } }])
    t.match(await call('everything', 'nothing-of-the-kind'), { status: 404 })
  })
}

test('a server of 2026-07-28 is reached over HTTP and stdio', async t => {
  const { port } = await listening(t, MODERN, ['--port=0'], /listening on (\d+)/)
  const { call, get, app } = await started(t, [{ name: 'http', url: `http://127.0.0.1:${port}/mcp` }, { name: 'stdio', command: process.execPath, args: [MODERN] }])
  for (const server of ['http', 'stdio']) {
    t.equal(textOf(await call(server, 'echo', { message: 'Grüße: ✓' })), 'Grüße: ✓', server)
    t.equal(textOf(await call(server, 'slow')), 'there', server)
    const asked = await call(server, 'city')
    t.match(asked, { status: 202, body: { status: 'input_required', inputRequests: { 'input-1': { method: 'elicitation/create', params: { message: 'Which city?' } } }, requestState: String } })
    const { statusCode, body } = await app.inject({
      method: 'POST', url: '/mcp/call', payload: { server, tool: 'city', arguments: {}, requestState: asked.body.requestState, inputResponses: { 'input-1': { action: 'accept', content: { city: 'Aarhus' } } } }
    })
    t.equal(statusCode, 200)
    t.match(body, /Aarhus/)
  }
  t.match((await get('/mcp/servers')).body.servers, [{ state: 'ready', server: { name: 'modern' } }, { state: 'ready', server: { name: 'modern' }, restarts: 1 }])
})

test('a server that was away is ready again when it is back', async t => {
  const first = await everythingOverHttp(t, 'streamableHttp')
  const { call, gateway } = await started(t, [{ name: 'everything', url: `http://127.0.0.1:${first.port}/mcp` }])
  t.equal((await call('everything', 'echo', { message: 'x' })).status, 200)
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  t.match(await call('everything', 'echo', { message: 'x' }), { status: 500, body: { error: String, server: 'everything' } })
  await until(() => gateway.get('everything').status().state !== 'ready')
  t.match(gateway.get('everything').status().error, /ECONNREFUSED|other side closed|closed/)
  await everythingOverHttp(t, 'streamableHttp', first.port)
  await until(async () => (await call('everything', 'echo', { message: 'x' })).status === 200)
})

/** A hand-written server over HTTP: what it is sent, and how it answers, is the test's. */
async function upstream (t: { teardown (work: () => void): void }, answer: (message: any, headers: IncomingHttpHeaders, res: Parameters<RequestListener>[1]) => boolean): Promise<string> {
  const server = createServer((req, res) => {
    let text = ''
    req.on('data', chunk => { text += chunk })
    req.on('end', () => {
      if (req.method !== 'POST') return res.writeHead(405).end()
      const message = JSON.parse(text)
      const send = (result: object, headers = {}): unknown => res.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
      if (answer(message, req.headers, res)) return
      if (message.method === 'initialize') return send({ protocolVersion: message.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'own', version: '1' } }, { 'mcp-session-id': `s${Math.random()}` })
      if (message.id === undefined) return res.writeHead(202).end()
      if (message.method === 'tools/list') return send({ tools: ['a', 'cut', 'big'].map(name => ({ name, inputSchema: { type: 'object' } })) })
      send({ content: [{ type: 'text', text: 'ok' }] })
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

test('a session that the server forgot is replaced once, and the call is sent again', async t => {
  let handshakes = 0
  let forget = false
  const url = await upstream(t, ({ method }, headers, res) => {
    if (method === 'initialize') { handshakes++; forget = false }
    if (method !== 'tools/call' || !forget) return false
    res.writeHead(404).end('no such session')
    return true
  })
  const { call } = await started(t, [{ name: 'own', url }])
  t.equal((await call('own', 'a')).status, 200)
  forget = true
  const answers = await Promise.all([call('own', 'a'), call('own', 'a'), call('own', 'a')])
  t.strictSame(answers.map(({ status }) => status), [200, 200, 200])
  t.equal(handshakes, 2)
})

const refusals: Record<string, (id: unknown) => { status: number, body: object | string, type?: string }> = Object.fromEntries([
  ['404 without an id', 404, null, 'Session not found'], ['404 with the id', 404, 'id', 'Session not found'], ['404 as an unknown method', 404, 'id', 'Method not found', -32601],
  ['404 of another word', 404, 'id', 'no'], ['410', 410, null, 'Session expired'], ['410 with the id', 410, 'id', 'gone'], ['400 without an id', 400, null, 'Bad Request: No valid session ID provided'],
  ['400 with the id', 400, 'id', 'Bad Request: Server not initialized'], ['400 of another word', 400, null, 'who are you'], ['403', 403, null, 'forbidden'], ['401', 401, null, 'Session expired'],
  ['500', 500, null, 'session store: no such key'], ['500 of another word', 500, 'id', 'boom'], ['503', 503, null, 'session is gone, initialize again'], ['200', 200, 'id', 'Session not found'],
  ['200 without an id', 200, null, 'Session not found'], ['200 of another word', 200, 'id', 'Unknown client', -32000], ['200 as an invalid request', 200, 'id', 'Invalid Request', -32600]
].map(([name, status, id, message, code = -32001]) => [name, (own: unknown) => ({ status, body: { jsonrpc: '2.0', id: id === 'id' ? own : null, error: { code, message } } })]))
Object.assign(refusals, {
  '404 as text': () => ({ status: 404, body: 'session not found', type: 'text/plain' }),
  '404 as an event': (id: unknown) => ({ status: 404, body: `data: {"jsonrpc":"2.0","id":${String(id)},"error":{"code":-32001,"message":"Session not found"}}\n\n`, type: 'text/event-stream' }),
  '404 with an id alone': (id: unknown) => ({ status: 404, body: { jsonrpc: '2.0', id } }),
  '404 without a body': () => ({ status: 404, body: '' }),
  '200 as an event without an id': () => ({ status: 200, body: 'data: {"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"}}\n\n', type: 'text/event-stream' }),
  '200 as text': () => ({ status: 200, body: 'session not found', type: 'text/plain' }),
  '202 without a body': () => ({ status: 202, body: '' })
})

test('a session that a server refuses in any form is replaced, and the call is sent again', async t => {
  const forgotten = new Set<string>()
  const seen: Record<string, string[]> = {}
  const servers = await Promise.all(Object.entries(refusals).map(async ([name, refuse]) => {
    const methods: string[] = seen[name] = []
    return {
      name,
      url: await upstream(t, ({ method, id }, headers, res) => {
        if (method === 'initialize') forgotten.delete(name)
        if (!forgotten.has(name)) return false
        methods.push(method)
        const { status, body, type = 'application/json' } = refuse(id)
        res.writeHead(status, { 'content-type': type }).end(typeof body === 'string' ? body : JSON.stringify(body))
        return true
      })
    }
  }))
  const { call, gateway } = await started(t, servers)
  for (const { name } of servers) t.equal((await call(name, 'a')).status, 200, name)
  for (const { name } of servers) forgotten.add(name)
  for (const { name } of servers) {
    t.equal((await call(name, 'a')).status, 200, name)
    t.match(gateway.get(name).status(), { state: 'ready', restarts: 1 }, name)
    // the server of the test supports only server/discover
    t.strictSame(seen[name]!.filter(method => method !== 'server/discover'), name.startsWith('404') ? ['tools/call'] : ['tools/call', 'ping'], name)
  }
})

test('a refusal that a ping does not meet is that of its call, and replaces no session', async t => {
  let handshakes = 0
  const answers: Record<string, [number, number, string]> = {
    a: [400, -32602, 'your session at the bank is closed'], cut: [200, -32603, 'Session not found'], big: [503, -32603, 'busy']
  }
  const url = await upstream(t, ({ method, id, params }, headers, res) => {
    if (method === 'initialize') handshakes++
    const [status, code, message] = method === 'ping' ? [400, -32601, 'no pings here'] : answers[params?.name] ?? []
    if (status === undefined) return false
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }))
    return true
  })
  const { call } = await started(t, [{ name: 'own', url }])
  for (const [tool, [, rpcCode, message]] of Object.entries(answers)) {
    t.match(await call('own', tool), { status: 500, body: { code: 'MCP_CALL_FAILED', error: message, details: { rpcCode } } }, message)
  }
  t.equal(handshakes, 1)
})

test('a session is replaced although the server answers pings outside of it', async t => {
  let isForgotten = false
  const url = await upstream(t, ({ method, id }, headers, res) => {
    if (method === 'initialize') isForgotten = false
    if (!isForgotten) return false
    const answer = method === 'ping' ? { result: {} } : { error: { code: -32603, message: `method ${method} is invalid during session initialization` } }
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
    return true
  })
  const { call, gateway } = await started(t, [{ name: 'own', url }])
  t.equal((await call('own', 'a')).status, 200)
  isForgotten = true
  t.equal((await call('own', 'a')).status, 200)
  t.match(gateway.get('own').status(), { state: 'ready', restarts: 1 })
})

test('a server that forgot the session while no call is made is connected again after a ping', async t => {
  let handshakes = 0
  const url = await upstream(t, ({ method, id }, headers, res) => {
    if (method === 'initialize') handshakes++
    if (method !== 'ping' || handshakes > 1) return false
    res.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32001, message: 'Session not found' } }))
    return true
  })
  const { gateway } = await started(t, [{ name: 'own', url }], { pingIntervalMs: 20 })
  await until(() => handshakes === 2 && gateway.get('own').status().state === 'ready')
  t.match(gateway.get('own').status(), { restarts: 1, crashLoop: false })
})

test('a call that is in progress when its session is replaced gets its answer', async t => {
  let handshakes = 0
  let finish: (() => void) | undefined
  const url = await upstream(t, ({ method, id, params }, headers, res) => {
    if (method === 'initialize') handshakes++
    if (params?.name === 'cut') {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write(': begun\n\n')
      finish = () => { res.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'late' }] } })}\n\n`) }
      return true
    }
    if (method !== 'tools/call' || handshakes > 1) return false
    res.writeHead(404).end()
    return true
  })
  const { call } = await started(t, [{ name: 'own', url }])
  const slow = call('own', 'cut')
  await until(() => finish !== undefined)
  t.equal((await call('own', 'a')).status, 200)
  finish!()
  t.equal(textOf(await slow), 'late')
})

test('over HTTP with SSE a refused message is the end of the session as well', async t => {
  let session = 0
  let forgets = false
  const streams = new Map<string, Parameters<RequestListener>[1]>()
  const server = createServer((req, res) => {
    let text = ''
    req.on('data', chunk => { text += chunk })
    req.on('end', () => {
      if (req.method === 'GET' && req.url === '/sse') {
        streams.set(`/messages/${++session}`, res)
        return res.writeHead(200, { 'content-type': 'text/event-stream' }).write(`event: endpoint\ndata: /messages/${session}\n\n`)
      }
      const stream = streams.get(req.url!)
      if (stream === undefined || (forgets && session === 1)) return res.writeHead(stream === undefined ? 405 : 404).end('no session')
      const { id, method, params } = JSON.parse(text)
      res.writeHead(202).end()
      const result = method === 'initialize' ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'own', version: '1' } } : method === 'tools/list' ? { tools: [{ name: 'a', inputSchema: { type: 'object' } }] } : { content: [{ type: 'text', text: 'ok' }] }
      if (id !== undefined) stream.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const { call } = await started(t, [{ name: 'own', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sse` }])
  t.equal((await call('own', 'a')).status, 200)
  forgets = true
  t.equal((await call('own', 'a')).status, 200)
  t.equal(session, 2)
})

test('headers of the configuration are sent, those of the caller are not, and no redirect to another origin is followed', async t => {
  const seen: IncomingHttpHeaders[] = []
  const elsewhere = await upstream(t, (message, headers) => { seen.push({ ...headers, elsewhere: 'yes' }); return false })
  const url = await upstream(t, ({ method }, headers, res) => {
    seen.push(headers)
    if (method !== 'tools/call') return false
    res.writeHead(307, { location: elsewhere }).end()
    return true
  })
  const { app, gateway } = await started(t, [{ name: 'own', url, headers: { authorization: 'Bearer of-the-configuration' } }])
  const { statusCode, body } = await app.inject({ method: 'POST', url: '/mcp/call', headers: { authorization: 'Bearer of-the-caller', cookie: 'c=1' }, payload: { server: 'own', tool: 'a', arguments: {} } })
  t.equal(statusCode, 500)
  t.notMatch(body, /of-the-configuration/)
  t.ok(seen.length >= 3)
  for (const headers of seen) {
    t.equal(headers.authorization, 'Bearer of-the-configuration')
    t.notOk(headers.cookie)
    t.notOk(headers.elsewhere)
  }
  t.equal(gateway.get('own').status().state, 'ready')
})

test('a stream that is cut, and a message past the limit, fail their call at once and no other', async t => {
  const url = await upstream(t, ({ method, id, params }, headers, res) => {
    if (method !== 'tools/call' || params.name === 'a') return false
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    if (params.name === 'cut') {
      res.write(': nothing yet\n\n')
      setTimeout(() => res.destroy(), 50)
    } else res.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'x'.repeat(300_000) }] } })}\n\n`)
    return true
  })
  const { call } = await started(t, [{ name: 'own', url }], { maxMessageBytes: 100_000 })
  const [cut, big, fine] = await Promise.all([call('own', 'cut'), call('own', 'big'), call('own', 'a')])
  t.match(cut, { status: 500, body: { code: 'MCP_CALL_FAILED', error: /ended the stream without an answer/ } })
  t.match(big, { status: 500, body: { code: 'MCP_MESSAGE_TOO_LARGE' } })
  t.equal(fine.status, 200)
})

test('the status of a server that refuses its credentials is reported, and the server is tried again', async t => {
  const url = await upstream(t, (message, headers, res) => { res.writeHead(401, { 'www-authenticate': 'Bearer' }).end('{"error":"who are you"}'); return true })
  const { call, gateway } = await started(t, [{ name: 'own', url, headers: { authorization: 'Bearer my-wrong-token' } }])
  await until(() => gateway.get('own').status().attempt > 1)
  const answer = await call('own', 'a')
  t.match(answer, { status: 500, body: { code: 'MCP_SERVER_NOT_READY', error: /who are you|401/ } })
  t.notMatch(JSON.stringify([answer, gateway.status()]), /my-wrong-token/)
})

test('a server takes OAuth client credentials from the configuration', async t => {
  let grants = 0
  const issuer = createServer((req, res) => {
    const base = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`
    const json = (body: object): unknown => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (req.url === '/.well-known/oauth-authorization-server') return json({ issuer: base, token_endpoint: `${base}/token`, authorization_endpoint: `${base}/authorize`, response_types_supported: ['code'], grant_types_supported: ['client_credentials'], token_endpoint_auth_methods_supported: ['client_secret_basic'] })
    if (req.url !== '/token' || req.headers.authorization !== `Basic ${Buffer.from('me:hush-hush').toString('base64')}`) return res.writeHead(404).end()
    grants++
    json({ access_token: 'granted', token_type: 'bearer', expires_in: 3600 })
  }).listen(0, '127.0.0.1')
  await once(issuer, 'listening')
  t.teardown(() => { issuer.closeAllConnections(); issuer.close() })
  const base = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`
  const server = createServer((req, res) => {
    if (req.url?.startsWith('/.well-known/oauth-protected-resource') === true) {
      return res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ resource: own, authorization_servers: [base] }))
    }
    if (req.headers.authorization !== 'Bearer granted') return res.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${new URL('/.well-known/oauth-protected-resource', own).href}"` }).end()
    if (req.method !== 'POST') return res.writeHead(405).end()
    let text = ''
    req.on('data', chunk => { text += chunk })
    req.on('end', () => {
      const { id, method, params } = JSON.parse(text)
      if (id === undefined) return res.writeHead(202).end()
      const result = method === 'initialize'
        ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'own', version: '1' } }
        : method === 'tools/list' ? { tools: [{ name: 'a', inputSchema: { type: 'object' } }] } : { content: [{ type: 'text', text: 'welcome' }] }
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const { call } = await started(t, [{ name: 'own', url: own, oauth: { client_id: 'me', client_secret: 'hush-hush', issuer: base } }])
  t.equal(textOf(await call('own', 'a')), 'welcome')
  t.equal(grants, 1)
})

test('a call that times out closes its connection, also if the stream could be resumed', async t => {
  const open = new Set<unknown>()
  let resumed = 0
  const url = await upstream(t, ({ method, params }, headers, res) => {
    if (headers['last-event-id'] !== undefined) resumed++
    if (method !== 'tools/call') return false
    open.add(res)
    res.once('close', () => open.delete(res))
    if (params.name === 'cut') return true
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write('retry: 10\nid: 1\ndata:\n\n')
    return true
  })
  const { gateway } = await started(t, [{ name: 'own', url, timeout: 0.2 }])
  const calls = ['cut', 'a', 'a'].map(async tool => await gateway.call('own', tool, {}))
  for (const call of calls) await t.rejects(call, { code: 'MCP_CALL_TIMEOUT' })
  await until(() => open.size === 0)
  // a stream that is resumed would be so after 10 ms
  await delay(150)
  t.equal(resumed, 0)
})

test('a response that is cut short fails only its call', async t => {
  const url = await upstream(t, ({ method, params, id }, headers, res) => {
    if (method !== 'tools/call') return false
    if (params.name === 'cut') {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 })
      res.write('{"jsonrpc"')
      setTimeout(() => res.destroy(), 50)
    } else setTimeout(() => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })), 300)
    return true
  })
  const { call, gateway } = await started(t, [{ name: 'own', url }])
  const [cut, ...others] = await Promise.all(['cut', 'a', 'a', 'a'].map(tool => call('own', tool)))
  t.match(cut, { status: 500, body: { code: 'MCP_CALL_FAILED' } })
  t.strictSame(others.map(({ status }) => status), [200, 200, 200])
  t.equal(gateway.get('own').status().restarts, 0)
})

test('the HTTP status of a refusal is reported with the remedy, at the start and for a call', async t => {
  const locked = await upstream(t, (message, headers, res) => { res.writeHead(401).end(); return true })
  const url = await upstream(t, ({ method }, headers, res) => {
    if (method !== 'tools/call') return false
    res.writeHead(429).end('slow down')
    return true
  })
  const { call, gateway } = await started(t, [{ name: 'own', url }, { name: 'locked', url: locked }])
  t.match(await call('own', 'a'), { status: 500, body: { code: 'MCP_CALL_FAILED', error: /HTTP status 429: slow down/ } })
  await until(() => gateway.get('locked').status().error !== undefined)
  t.match(gateway.get('locked').status().error, /HTTP status 401; check `headers` or `oauth` of its entry/)
})

test('an option that is unknown, or out of its bounds, is refused by name', async t => {
  for (const callTimeoutMs of [0, -5, NaN, Infinity, 1.5, 3e9, '60000']) {
    t.throws(() => createGateway({ servers: [], callTimeoutMs: callTimeoutMs as number }), { code: 'MCP_GATEWAY_OPTIONS', message: /callTimeoutMs must be a whole number/ })
  }
  for (const maxInFlight of [0, 0.5, NaN]) t.throws(() => createGateway({ servers: [], maxInFlight }), { code: 'MCP_GATEWAY_OPTIONS', message: /maxInFlight/ })
  t.throws(() => createGateway({ servers: [], callTimeout: 5 } as never), { code: 'MCP_GATEWAY_OPTIONS', message: /no option "callTimeout"; did you mean "callTimeoutMs"/ })
  t.throws(() => createGateway({ servers: null as never }), { code: 'MCP_GATEWAY_OPTIONS', message: /servers must be a list of MCP servers/ })
  t.throws(() => createGateway({} as never), { code: 'MCP_GATEWAY_OPTIONS', message: /needs the option `servers`/ })
  t.throws(() => createGateway({ servers: [], inheritEnv: 'some' as never }), { code: 'MCP_GATEWAY_OPTIONS', message: /inheritEnv must be "all" or "none"/ })
  t.throws(() => createGateway({ servers: [], stateKey: 'short' }).toolSource(), { code: 'INVALID_STATE_KEY', message: /has 5/ })
  for (const options of [{ servers: [], bodyLimit: 0 }, { servers: [], bodyLimitt: 5 }, { gateway: {} }, {}, { servers: [], gateway: createGateway({ servers: [] }) }]) {
    await t.rejects(async () => await Fastify().register(mcpGatewayPlugin, options as never), { code: 'MCP_GATEWAY_OPTIONS' })
  }
})

test('headers with the name of a secret, marked headers and credentials of the URL are removed from what a server sends, other headers stay', async t => {
  const url = await upstream(t, ({ id, method }, headers, res) => {
    if (method !== 'tools/call') return false
    const seen = { ...headers, url: 'of-the-url', basic: 'Basic bWU6b2YtdGhlLXVybA==' }
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: JSON.stringify(seen) }] } }))
    return true
  })
  const address = new URL(url)
  address.searchParams.set('api_key', 'of-the-url')
  const headers = { Authorization: 'Bearer of-the-header', 'X-Api-Key': 'key-of-header', 'X-Team': 'team-of-header', 'X-Region': 'eu-central-1' }
  const { call } = await started(t, [{ name: 'own', url: address.href, headers, secret_headers: ['x-team'] }])
  const { body } = await call('own', 'a')
  t.match(JSON.parse(body.result.content[0].text), { authorization: '[redacted]', 'x-api-key': '[redacted]', 'x-team': '[redacted]', 'x-region': 'eu-central-1', url: '[redacted]' })
  await t.rejects(started(t, [{ name: 'own', url, headers, secret_headers: ['X-Taem'] }]), /secret_headers names "X-Taem", which is not one of its headers/)
})
