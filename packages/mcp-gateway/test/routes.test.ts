import { gzipSync } from 'node:zlib'
import { test } from 'tap'
import { realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folder, published, started, textOf } from './fixtures/app.js'
import { handWritten, type Exchange } from './fixtures/hand-written.js'

test('the tools of all servers are listed, and those of one', async t => {
  const dir = realpathSync(folder(t))
  const { get } = await started(t, [published('everything'), published('filesystem', dir), published('memory')])
  const { status, body } = await get('/mcp/tools')
  t.equal(status, 200)
  t.strictSame([...new Set(body.tools.map((tool: { server: string }) => tool.server))], ['everything', 'filesystem', 'memory'])
  for (const tool of body.tools) t.strictSame(Object.keys(tool), ['name', 'description', 'inputSchema', 'server'])
  const { body: one } = await get('/mcp/tools/memory')
  t.ok(one.tools.some((tool: { name: string }) => tool.name === 'create_entities'))
  t.ok(one.tools.every((tool: { server: string }) => tool.server === 'memory'))
})

test('a tool is called, and the whole result comes back', async t => {
  const dir = realpathSync(folder(t))
  writeFileSync(join(dir, 'tide.txt'), 'The tide turns at six.')
  const { call } = await started(t, [published('everything'), published('filesystem', dir), { ...published('memory'), env: { MEMORY_FILE_PATH: join(dir, 'memory.jsonl') } }])
  const echo = await call('everything', 'echo', { message: 'hello' })
  t.equal(echo.status, 200)
  t.match(echo.body, { result: { content: [{ type: 'text', text: 'Echo: hello' }] } })
  const structured = await call('everything', 'get-structured-content', { location: 'Chicago' })
  t.match(structured.body.result.structuredContent, { temperature: Number })
  const read = await call('filesystem', 'read_text_file', { path: join(dir, 'tide.txt') })
  t.equal(textOf(read), 'The tide turns at six.')
  await call('memory', 'create_entities', { entities: [{ name: 'Tide', entityType: 'thing', observations: ['turns'] }] })
  t.match(textOf(await call('memory', 'read_graph')), /Tide/)
})

test('resources are listed and read', async t => {
  const { get, app } = await started(t, [published('everything')])
  const { body } = await get('/mcp/resources?server=everything')
  t.ok(body.resources.length > 0)
  for (const resource of body.resources) t.strictSame(Object.keys(resource), ['uri', 'name', 'description', 'mimeType', 'server'])
  const { uri } = body.resources[0]
  const read = await app.inject({ method: 'POST', url: '/mcp/resources/read', payload: { server: 'everything', uri } })
  t.equal(read.statusCode, 200)
  t.type(read.json().contents[0].text, 'string')
  t.ok(read.json().contents[0].text.length > 0)
})

test('what does not exist is answered with 404 and the name most likely meant', async t => {
  const { call, get, app } = await started(t, [published('everything')])
  t.match(await call('everythin', 'echo'), { status: 404, body: { error: /did you mean "everything"/, code: 'MCP_SERVER_NOT_FOUND' } })
  t.match(await call('everything', 'ecko'), { status: 404, body: { error: /did you mean "echo"/, code: 'MCP_TOOL_NOT_FOUND', server: 'everything', tool: 'ecko' } })
  t.match(await get('/mcp/tools/nowhere'), { status: 404, body: { code: 'MCP_SERVER_NOT_FOUND', error: /configured: everything/ } })
  t.match(await get('/mcp/resources?server=nowhere'), { status: 404 })
  const read = await app.inject({ method: 'POST', url: '/mcp/resources/read', payload: { server: 'everything', uri: 'file:///etc/passwd' } })
  t.equal(read.statusCode, 404)
  t.match(read.json(), { code: 'MCP_RESOURCE_NOT_FOUND', server: 'everything' })
})

test('a body of the wrong shape is answered with 400, every problem by its path', async t => {
  const { app } = await started(t, [published('everything')])
  const post = async (payload: unknown, url = '/mcp/call'): Promise<{ status: number, body: any }> => {
    const res = await app.inject({ method: 'POST', url, headers: { 'content-type': 'application/json' }, payload: typeof payload === 'string' ? payload : JSON.stringify(payload) })
    return { status: res.statusCode, body: res.json() }
  }
  t.match(await post({}), { status: 400, body: { error: /body\/server: is missing; body\/tool: is missing/, code: 'BAD_REQUEST' } })
  t.match(await post({ server: 'everything', tool: 7, arguments: [] }), { status: 400, body: { error: /body\/tool: .*body\/arguments: / } })
  t.match(await post({ server: 'everything' }, '/mcp/resources/read'), { status: 400, body: { error: /body\/uri: is missing/ } })
  t.match(await post('{"server":'), { status: 400, body: { error: String, code: 'INVALID_JSON' } })
  const packed = await app.inject({ method: 'POST', url: '/mcp/call', headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' }, payload: gzipSync('{}') })
  t.match([packed.statusCode, packed.json()], [415, { error: /Content-Encoding: gzip/, code: 'UNSUPPORTED_MEDIA_TYPE' }])
  t.match(await post({ server: 'everything', tool: 'echo', arguments: {} }), { status: 400, body: { error: /arguments\/message: is missing/, code: 'MCP_INVALID_ARGUMENTS', server: 'everything', tool: 'echo' } })
  t.match(await post({ server: 'everything', tool: 'echo', arguments: { message: 5 } }), { status: 400, body: { error: /arguments\/message: must be string/ } })
})

test('_meta of a body reaches the server with a call, a resource and a prompt, without the keys of a connection', async t => {
  const seen: unknown[] = []
  const { url } = await handWritten(t, ({ message: { method, params }, result }: Exchange) => {
    if (method !== 'tools/call' && method !== 'resources/read' && method !== 'prompts/get') return false
    seen.push(params._meta)
    result({ content: [], contents: [], messages: [] })
    return true
  }, { isModern: false })
  const { app } = await started(t, [{ name: 'own', url }])
  const _meta = { 'com.example/tenant': 'acme', progressToken: 'mine', 'io.modelcontextprotocol/clientInfo': { name: 'x' }, traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'no\nheader' }
  for (const [path, body] of [['call', { tool: 'tool' }], ['resources/read', { uri: 'own://a' }], ['prompts/get', { prompt: 'prompt' }]] as const) {
    const { statusCode, body: text } = await app.inject({ method: 'POST', url: `/mcp/${path}`, payload: { server: 'own', ...body, _meta } })
    t.equal(statusCode, 200, text)
  }
  for (const meta of seen as Array<Record<string, unknown>>) {
    const { progressToken, ...others } = meta
    t.strictSame(others, { 'com.example/tenant': 'acme', traceparent: _meta.traceparent, tracestate: _meta.tracestate })
    t.type(progressToken, 'number')
  }
  t.equal(seen.length, 3)
  t.equal((await app.inject({ method: 'POST', url: '/mcp/call', payload: { server: 'own', tool: 'tool', _meta: 'x' } })).statusCode, 400)
})

test('null stands for what a caller leaves out, and a tool without parameters needs no body', async t => {
  const server = await handWritten(t, ({ message: { method, params }, result }) => {
    if (method === 'tools/list') result({ tools: [{ name: 'tool', inputSchema: { type: 'object', properties: { plain: { type: 'string' }, list: { type: ['string', 'null'] }, nullable: { type: 'string', nullable: true } } } }] })
    else if (method === 'tools/call') result({ content: [{ type: 'text', text: JSON.stringify(params.arguments) }] })
    else if (method === 'prompts/get') result({ messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify(params.arguments) } }] })
    else if (method === 'resources/read') result({ contents: [{ uri: params.uri, text: 'x' }] })
    else return false
    return true
  })
  const { app } = await started(t, { up: { url: server.url } })
  const post = async (url: string, payload?: object | string, headers: Record<string, string> = {}): Promise<[number, string]> => {
    const { statusCode, body } = await app.inject({ method: 'POST', url, headers, ...payload !== undefined && { payload } })
    const { result, messages, contents, code } = JSON.parse(body)
    return [statusCode, code ?? (result?.content ?? messages?.map((message: { content: object }) => message.content) ?? contents)[0].text]
  }
  const nothing = { capabilities: null, requestState: null, inputResponses: null, _meta: null }
  t.strictSame(await post('/mcp/call', { server: 'up', tool: 'tool', arguments: null, ...nothing }), [200, '{}'])
  t.strictSame(await post('/mcp/call', { server: 'up', tool: 'tool', arguments: { plain: null, list: null, nullable: null } }), [200, '{"list":null,"nullable":null}'])
  t.strictSame(await post('/mcp/call', { server: 'up', tool: null }), [400, 'BAD_REQUEST'])
  const json = { 'content-type': 'application/json' }
  for (const [payload, headers] of [[undefined, {}], [undefined, json], ['', json], ['null', json], ['{}', json], ['{"plain":null}', json]] as const) {
    t.strictSame(await post('/mcp/tools/up/tool', payload, headers), [200, '{}'], JSON.stringify([payload, headers]))
  }
  t.strictSame(await post('/mcp/tools/up/tool', { list: null, nullable: null, plain: null }), [200, '{"list":null,"nullable":null}'])
  for (const payload of ['[]', '"x"', '5', '{']) t.equal((await post('/mcp/tools/up/tool', payload, json))[0], 400, payload)
  t.strictSame(await post('/mcp/prompts/get', { server: 'up', prompt: 'prompt', arguments: null, _meta: null }), [200, '{}'])
  t.strictSame(await post('/mcp/prompts/get', { server: 'up', prompt: 'prompt', arguments: { a: null, b: 'x' } }), [200, '{"b":"x"}'])
  t.strictSame(await post('/mcp/prompts/get', { server: 'up', prompt: 'prompt', arguments: { a: 5 } }), [400, 'BAD_REQUEST'])
  t.strictSame(await post('/mcp/resources/read', { server: 'up', uri: 'own://a', _meta: null }), [200, 'x'])
  t.strictSame(await post('/mcp/call', ''), [400, 'BAD_REQUEST'])
})
