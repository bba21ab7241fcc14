import { test } from 'tap'
import { BOTH, initialize, LegacySession, messagesIn, modern, modernBody, modernHeaders, post, says, serve, sourceOf, Wire, type Reply } from './fixtures/wire.js'

const source = sourceOf({
  echo: { inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }, run: ({ text }) => says(String(text)) },
  region: { inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, size: { type: 'integer', 'x-mcp-header': 'Size' } } }, run: () => says('ok') },
  breaks: { run: () => { throw new Error('the password is swordfish') } },
  nothing: { run: () => undefined as never }
}, {
  resources: { list: () => [{ uri: 'a:1', name: 'one' }], read: uri => uri === 'a:1' ? { contents: [{ uri, text: '1' }] } : undefined },
  prompts: { list: () => [{ name: 'hello', arguments: [{ name: 'who', required: true }] }], get: (_name, { who }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `hello ${String(who)}` } }] }) }
})

const call = (args: unknown, name = 'echo'): Record<string, unknown> => ({ name, arguments: args })
const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

test('requests of revision 2026-07-28 are checked in the order of the specification', async t => {
  const app = await serve(t, { sources: [source], bodyLimit: 100_000 })
  const headers = modernHeaders('tools/call', { name: 'echo' })
  const good = (): Record<string, any> => modernBody('tools/call', call({ text: 'hi' }))
  const without = (key: string): Record<string, any> => {
    const body = good()
    delete body.params._meta[`io.modelcontextprotocol/${key}`]
    return body
  }
  const meta = (key: string, value: unknown): Record<string, any> => {
    const body = good()
    body.params._meta[`io.modelcontextprotocol/${key}`] = value
    return body
  }
  const drop = (...names: string[]): Record<string, string> => Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)))
  const cases: Array<[string, unknown, Record<string, string>, number, number, object?]> = [
    ['no JSON', '{', headers, 400, -32700],
    ['nothing', '', headers, 400, -32700],
    ['bytes that are not UTF-8', Buffer.from(JSON.stringify({ ...good(), params: { ...good().params, arguments: { text: 'café' } } }), 'latin1'), headers, 400, -32700],
    ['a forbidden key', '{"__proto__": {}}', headers, 400, -32700],
    ['an array', [good()], headers, 400, -32600],
    ['a text', '"hi"', headers, 400, -32600],
    ['null', 'null', headers, 400, -32600],
    ['no JSON-RPC', { ...good(), jsonrpc: '1.0' }, headers, 400, -32600],
    ['an id that is an object', { ...good(), id: {} }, headers, 400, -32600],
    ['an id that is null', { ...good(), id: null }, headers, 400, -32600],
    ['params that are a list', { ...good(), params: [] }, headers, 400, -32600],
    ['a response', { jsonrpc: '2.0', id: 1, result: {} }, headers, 400, -32600],
    ['too deep', `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${deep(70)}}}`, headers, 400, -32600],
    ['too large', { ...good(), more: 'x'.repeat(200_000) }, headers, 413, -32600],
    ['another type', 'hi', { ...headers, 'content-type': 'text/plain' }, 415, -32600],
    ['another Accept', good(), { ...headers, accept: 'text/html' }, 406, -32600],
    ['no version in the body', without('protocolVersion'), headers, 400, -32602],
    ['no capabilities', without('clientCapabilities'), headers, 400, -32602],
    ['capabilities that are a text', meta('clientCapabilities', 'all'), headers, 400, -32602],
    ['a capability that is a text', meta('clientCapabilities', { elicitation: 'yes' }), headers, 400, -32602],
    ['an unknown log level', meta('logLevel', 'loud'), headers, 400, -32602],
    ['no version header', good(), drop('mcp-protocol-version'), 400, -32020],
    ['another version header', good(), { ...headers, 'mcp-protocol-version': '2027-01-01' }, 400, -32020],
    ['no method header', good(), drop('mcp-method'), 400, -32020],
    ['another method header', good(), { ...headers, 'mcp-method': 'tools/list' }, 400, -32020],
    ['an unknown version', meta('protocolVersion', '2027-01-01'), { ...headers, 'mcp-protocol-version': '2027-01-01' }, 400, -32022, { supported: ['2026-07-28'], requested: '2027-01-01' }],
    ['a version of the era before', meta('protocolVersion', '2025-11-25'), { ...headers, 'mcp-protocol-version': '2025-11-25' }, 400, -32022],
    ['no name header', good(), drop('mcp-name'), 400, -32020],
    ['another name header', good(), { ...headers, 'mcp-name': 'other' }, 400, -32020],
    ['a name header of bad base64', good(), { ...headers, 'mcp-name': '=?base64?ZWNobw?=' }, 400, -32020],
    ['a name that is no text', modernBody('tools/call', { name: 7 }), drop('mcp-name'), 200, -32602],
    ['an unknown tool', modernBody('tools/call', call({}, 'ecko')), { ...headers, 'mcp-name': 'ecko' }, 200, -32602],
    ['arguments that are a list', modernBody('tools/call', call([])), headers, 200, -32602],
    ['an unknown cursor', modernBody('tools/list', { cursor: '' }), modernHeaders('tools/list', {}), 200, -32602],
    ['a cursor that is a number', modernBody('tools/list', { cursor: 5 }), modernHeaders('tools/list', {}), 200, -32602],
    ['an unknown resource', modernBody('resources/read', { uri: 'b:2' }), modernHeaders('resources/read', { uri: 'b:2' }), 200, -32602, { uri: 'b:2' }],
    ['an unknown prompt', modernBody('prompts/get', { name: 'bye' }), modernHeaders('prompts/get', { name: 'bye' }), 200, -32602],
    ['a prompt without its argument', modernBody('prompts/get', { name: 'hello' }), modernHeaders('prompts/get', { name: 'hello' }), 200, -32602],
    ['a prompt argument that is a number', modernBody('prompts/get', { name: 'hello', arguments: { who: 1 } }), modernHeaders('prompts/get', { name: 'hello' }), 200, -32602],
    ['a completion of nothing', modernBody('completion/complete', { ref: {}, argument: { name: 'a', value: 'b' } }), modernHeaders('completion/complete', {}), 200, -32602],
    ['a listen without a filter', modernBody('subscriptions/listen', {}), modernHeaders('subscriptions/listen', {}), 200, -32602],
    ['answers that are a list', modernBody('tools/call', { ...call({ text: 'hi' }), inputResponses: [] }), headers, 200, -32602],
    ['a state that was not made here', modernBody('tools/call', { ...call({ text: 'hi' }), requestState: 'v1.e30.AAAA' }), headers, 200, -32602],
    ['a method that objects have', modernBody('constructor', {}), { ...modernHeaders('constructor', {}), 'mcp-name': 'x' }, 404, -32601],
    ...['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'tasks/result', 'tasks/list', 'tasks/get', 'no/such'].map((method): [string, unknown, Record<string, string>, number, number] =>
      [method, modernBody(method, { taskId: 'x' }), modernHeaders(method, method === 'tasks/get' ? { taskId: 'x' } : {}), 404, -32601])
  ]
  for (const [what, body, sent, status, code, data] of cases) {
    const reply = await post(app, body, sent)
    t.equal(reply.status, status, `${what}: status`)
    t.equal(reply.json.error?.code, code, `${what}: ${reply.json.error?.message ?? reply.body}`)
    if (data !== undefined) t.match(reply.json.error?.data, data, what)
    t.notMatch(reply.body, /at .*\.(ts|js):\d+/, `${what}: no stack`)
  }
  t.match((await modern(app, 'tools/call', call({ text: 'hi' }))).json.result, { resultType: 'complete', content: [{ text: 'hi' }] })
  t.equal((await modern(app, 'tools/call', call({ text: 'hi' }), { headers: { 'mcp-name': '=?base64?ZWNobw==?=' } })).json.result?.isError, undefined)
})

test('headers must repeat the arguments that the schema marks', async t => {
  const app = await serve(t, { sources: [source] })
  const ask = async (args: object, headers: Record<string, string>): Promise<number | undefined> => (await modern(app, 'tools/call', call(args, 'region'), { headers })).json.error?.code
  t.equal(await ask({ region: 'eu', size: 3 }, { 'mcp-param-region': 'eu', 'mcp-param-size': '3' }), undefined)
  t.equal(await ask({ region: 'eu ' }, { 'mcp-param-region': '=?base64?ZXUg?=' }), undefined)
  t.equal(await ask({}, {}), undefined)
  t.equal(await ask({ region: null }, {}), undefined)
  t.equal(await ask({ region: 'eu' }, {}), -32020)
  t.equal(await ask({ region: 'eu' }, { 'mcp-param-region': 'us' }), -32020)
  t.equal(await ask({ size: 3 }, { 'mcp-param-size': '4' }), -32020)
  t.equal(await ask({}, { 'mcp-param-region': 'eu' }), -32020)
})

test('requests of a session are refused with the code of their revision', async t => {
  const app = await serve(t, { sources: [source] })
  const session = await LegacySession.open(app)
  const old = await LegacySession.open(app, { revision: '2025-03-26' })
  const ask = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params })
  const cases: Array<[string, unknown, Record<string, string>, number, number]> = [
    ['no session', ask('tools/list', {}), {}, 400, -32600],
    ['an unknown session', ask('tools/list', {}), { 'mcp-session-id': 'x' }, 404, -32600],
    ['an unknown version', ask('tools/list', {}), { ...session.headers, 'mcp-protocol-version': '2025-01-01' }, 400, -32600],
    ['a batch', [ask('ping', {})], session.headers, 400, -32600],
    ['an empty batch', [], old.headers, 400, -32600],
    ['a batch that is too long', Array.from({ length: 51 }, () => ask('ping', {})), old.headers, 400, -32600],
    ['initialize in a batch', [initialize('2025-03-26')], old.headers, 400, -32600],
    ['a batch with a number in it', [ask('ping', {}), 7], old.headers, 400, -32600],
    ['a method that is a number', { jsonrpc: '2.0', id: 1, method: 5 }, session.headers, 400, -32600],
    ['initialize without params', ask('initialize', {}), {}, 200, -32602],
    ['an unknown method', ask('no/such', {}), session.headers, 200, -32601],
    ['discovery without its envelope', ask('server/discover', {}), session.headers, 200, -32601],
    ['an unknown tool', ask('tools/call', call({}, 'ecko')), session.headers, 200, -32602],
    ['bad arguments before 2025-11-25', ask('tools/call', call({})), old.headers, 200, -32602],
    ['an unknown resource', ask('resources/read', { uri: 'b:2' }), session.headers, 200, -32002],
    ['an unknown level', ask('logging/setLevel', { level: 'loud' }), session.headers, 200, -32602],
    ['a subscription to a number', ask('resources/subscribe', { uri: 5 }), session.headers, 200, -32602]
  ]
  for (const [what, body, headers, status, code] of cases) {
    const reply = await post(app, body, headers)
    t.equal(reply.status, status, `${what}: status`)
    t.equal(reply.json.error?.code, code, `${what}: ${reply.json.error?.message ?? reply.body}`)
  }
  t.match((await session.request('tools/call', call({}))).json.result, { isError: true, content: [{ text: /arguments\/text: is missing/ }] })
})

test('a tool that throws gives a result with isError, and its cause stays in the log', async t => {
  const lines: string[] = []
  const app = await serve(t, { sources: [source] }, { logger: { level: 'error', stream: { write: (line: string) => { lines.push(line) } } } })
  const session = await LegacySession.open(app)
  for (const name of ['breaks', 'nothing']) {
    const replies: Reply[] = [await session.request('tools/call', call({}, name)), await modern(app, 'tools/call', call({}, name))]
    for (const { status, json, body } of replies) {
      t.equal(status, 200)
      t.equal(json.result?.isError, true)
      t.notMatch(body, /swordfish/)
    }
  }
  t.match(lines.join(''), /swordfish/)
})

test('other HTTP methods, and a GET that does not accept events, are refused', async t => {
  const app = await serve(t, { sources: [source] })
  const session = await LegacySession.open(app)
  const ask = async (method: 'GET' | 'DELETE', headers: Record<string, string>): Promise<number> => (await app.inject({ method, url: '/mcp', headers })).statusCode
  t.equal(await ask('GET', { ...session.headers, accept: 'application/json' }), 406)
  t.equal(await ask('GET', { accept: 'text/event-stream', 'mcp-protocol-version': '1999-01-01' }), 400)
  t.equal(await ask('GET', { accept: 'text/event-stream', 'mcp-session-id': 'x' }), 404)
  t.equal(await ask('GET', { ...session.headers, accept: 'text/event-stream', 'last-event-id': 'zz_9' }), 400)
  t.equal(await ask('GET', { accept: 'text/event-stream', 'mcp-protocol-version': '2026-07-28' }), 405)
  t.equal(await ask('DELETE', { 'mcp-protocol-version': '2026-07-28' }), 405)
  t.equal(await ask('DELETE', { 'mcp-session-id': 'x' }), 404)
  for (const method of ['PUT', 'PATCH'] as const) t.match(await app.inject({ method, url: '/mcp', payload: {} }), { statusCode: 405, headers: { allow: 'POST' } })
  const stateless = await serve(t, { sources: [source], sessions: false })
  t.equal((await stateless.inject({ method: 'GET', url: '/mcp', headers: { accept: BOTH } })).statusCode, 405)
  t.equal((await stateless.inject({ method: 'DELETE', url: '/mcp' })).statusCode, 405)
})

const asking = sourceOf({
  steps: {
    async run (_args, context) {
      await context.progress({ progress: 1 })
      return says('done')
    }
  },
  ask: {
    async run (_args, context) {
      const { name } = await context.ask({ name: { method: 'elicitation/create', params: { message: 'Name?', requestedSchema: { type: 'object', properties: {} } } } })
      return says(JSON.stringify(name))
    }
  }
})

test('a progress token is a string or a number; others are ignored', async t => {
  const app = await serve(t, { sources: [asking] })
  const session = await LegacySession.open(app)
  const tokens = ['', 'p', 0, 1.5, null, true, [], { a: 1 }]
  const told = await Promise.all(tokens.map(async progressToken => messagesIn((await session.request('tools/call', { name: 'steps', _meta: { progressToken } })).body.replace(/^\{.*/, '')).flatMap(({ params }) => params === undefined ? [] : [params.progressToken])))
  t.strictSame(told, [[''], ['p'], [0], [1.5], [], [], [], []])
})

test('an id that JSON.parse rounds is refused', async t => {
  const app = await serve(t, { sources: [asking] })
  const session = await LegacySession.open(app)
  t.match(await post(app, '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', session.headers), { status: 400, json: { id: null, error: { code: -32600, message: /id/ } } })
  t.match(await post(app, '{"jsonrpc":"2.0","id":9007199254740991,"method":"ping"}', session.headers), { status: 200, json: { id: 9007199254740991 } })
})

test('a capability that is not an object counts as not declared', async t => {
  const app = await serve(t, { sources: [asking] })
  for (const elicitation of [null, 5, 'yes', []]) {
    const session = await LegacySession.open(app, { capabilities: { elicitation } })
    t.match((await session.request('tools/call', { name: 'ask' })).json.result, { isError: true, content: [{ text: /did not declare/ }] }, JSON.stringify(elicitation))
  }
})

test('an answer of the wrong form fails the tool as a refusal', async t => {
  const app = await serve(t, { sources: [asking] })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const session = await LegacySession.open(app, { capabilities: { elicitation: {} } })
  for (const result of [{}, { action: 'perhaps' }, { action: 'accept', content: 'Ann' }]) {
    const wire = new Wire(app, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask' } }, session.headers)
    await wire.until('elicitation/create')
    await post(app, { jsonrpc: '2.0', id: messagesIn(wire.text).at(-1)?.id, result }, session.headers)
    await wire.ended
    t.match(messagesIn(wire.text).at(-1), { result: { isError: true, content: [{ text: /has the wrong form/ }] } }, JSON.stringify(result))
  }
})
