import { test } from 'tap'
import { watchLoop } from '../../../test/fixtures/loop-watch.js'
import { readList } from '../src/protocol/lists.js'
import { ToolCatalog } from '../src/session/tool-catalog.js'
import { definitionsOf } from '../src/tool-source/definitions.js'
import { ToolChanges } from '../src/upstream/tool-changes.js'
import { bad, published, started, textOf, until } from './fixtures/app.js'

const names = (body: { tools: Array<{ name: string }> }): string[] => body.tools.map(({ name }) => name)

test('all pages of a list are read and sorted', async t => {
  const { get } = await started(t, [bad({ tools: 500, page: 7 })])
  const { body } = await get('/mcp/tools/bad')
  t.ok(names(body).length > 500)
  t.strictSame(names(body), [...names(body)].sort())
})

test('a list that pages in a circle ends', async t => {
  const { get } = await started(t, [bad({ circle: true })])
  t.ok(names((await get('/mcp/tools')).body).includes('echo'))
})

test('a server that is silent is left out of the list of all, soon', async t => {
  const { get, gateway } = await started(t, [bad({ silent: true }), published('memory')], { listWaitMs: 500 })
  await until(() => gateway.get('memory').status().state === 'ready')
  const { status, body } = await get('/mcp/tools')
  t.equal(status, 200)
  t.ok(names(body).includes('read_graph'))
  t.equal(gateway.get('bad').status().state, 'starting', 'the list did not wait for it')
})

test('ten thousand tools are listed', async t => {
  const { get } = await started(t, [bad({ tools: 10_000, page: 1_000 })])
  t.ok(names((await get('/mcp/tools')).body).length > 10_000)
})

test('twenty thousand tools of one page keep the event loop for no long step', async t => {
  const inputSchema = { type: 'object', properties: Object.fromEntries(['path', 'mode', 'text'].map(name => [name, { type: 'string', description: 'what it is' }])) }
  const tools = Array.from({ length: 20_000 }, (_, i) => ({ name: `tool_${i}`, description: 'Reads a file, and returns what is in it.', inputSchema }))
  const { review } = new ToolChanges('files', false, { warn () {} } as never)
  const list = await watchLoop(() => readList('tools', async () => ({ tools })), { what: 'reading the list' })
  t.equal(list.items.length, 20_000)
  const { items } = await watchLoop(() => new ToolCatalog(list, { review }), { what: 'the catalog of the list' })
  const offered = await watchLoop(() => definitionsOf('tools', { items: items.map(item => ({ server: 'files', item })), resources: async () => [] }), { what: 'offering the list' })
  t.equal(offered.at(-1)?.definition.name, `files__${String(items.at(-1)?.name)}`)
})

test('a tool that appears is called and listed at once; one that goes is not found', async t => {
  const { get, call } = await started(t, [bad()])
  t.match(await call('bad', 'newcomer'), { status: 404 })
  await call('bad', 'change', { add: ['newcomer'] })
  t.equal(textOf(await call('bad', 'newcomer')), 'new')
  t.ok(names((await get('/mcp/tools')).body).includes('newcomer'))
  await call('bad', 'change')
  t.notOk(names((await get('/mcp/tools')).body).includes('newcomer'))
  t.match(await call('bad', 'newcomer'), { status: 404 })
})

test('a list is requested once, until its server notifies of a change', async t => {
  const { gateway } = await started(t, [bad()])
  const first = await gateway.get('bad').list('tools')
  t.equal(await gateway.get('bad').list('tools'), first)
  let changes = 0
  gateway.onChange(kinds => { if (kinds.includes('tools')) changes++ })
  await gateway.call('bad', 'change', {})
  await until(() => changes === 1)
  t.not(await gateway.get('bad').list('tools'), first)
})

test('a list of a server without notifications is read again when it expires', async t => {
  const { gateway } = await started(t, [bad({ 'tells-changes': 'no' })], { listTtlMs: 1 })
  const first = await gateway.get('bad').list('tools')
  await until(async () => await gateway.get('bad').list('tools') !== first)
})

test('allow and deny decide what is offered, listed and called', async t => {
  const { get, call } = await started(t, [bad({}, { allow: ['echo', 'fail', 'env'], deny: ['env'] })])
  t.strictSame(names((await get('/mcp/tools')).body), ['echo', 'fail'])
  t.match(await call('bad', 'env'), { status: 404, body: { code: 'MCP_TOOL_NOT_FOUND' } })
  t.match(await call('bad', 'hang'), { status: 404 })
  t.equal((await call('bad', 'echo', { message: 'x' })).status, 200)
})

test('two servers may have tools of one name', async t => {
  const { get, call } = await started(t, [bad({ one: true }), bad({ two: true }, { name: 'worse' })])
  const { body } = await get('/mcp/tools')
  t.strictSame(body.tools.filter((tool: { name: string }) => tool.name === 'echo').map((tool: { server: string }) => tool.server), ['bad', 'worse'])
  t.equal(textOf(await call('bad', 'argv')), '["--one"]')
  t.equal(textOf(await call('worse', 'argv')), '["--two"]')
})

test('a list has an ETag, and is not sent again while it is the same', async t => {
  const { app, call } = await started(t, [bad(), published('everything')])
  for (const url of ['/mcp/tools', '/mcp/tools/bad', '/mcp/resources', '/mcp/resources/templates', '/mcp/prompts']) {
    const first = await app.inject({ url })
    t.match(first.headers, { etag: /^"[\w-]{22}"$/, 'cache-control': 'no-cache', 'content-type': /^application\/json/ })
    const again = await app.inject({ url, headers: { 'if-none-match': `"other", W/${first.headers.etag as string}` } })
    t.equal(again.statusCode, 304)
    t.equal(again.body, '')
  }
  const { headers } = await app.inject({ url: '/mcp/tools' })
  await call('bad', 'change', { add: ['newcomer'] })
  t.equal((await app.inject({ url: '/mcp/tools', headers: { 'if-none-match': headers.etag as string } })).statusCode, 200)
})

test('prompts and resource templates are listed; a prompt is filled in', async t => {
  const { app, get } = await started(t, [published('everything')])
  t.match((await get('/mcp/resources/templates')).body.resourceTemplates[0], { uriTemplate: /\{/, server: 'everything' })
  const { prompts } = (await get('/mcp/prompts')).body
  t.match(prompts.find((prompt: { name: string }) => prompt.name === 'args-prompt'), { arguments: [{ name: 'city', required: true }, {}], server: 'everything' })
  const post = async (payload: object): Promise<{ json (): unknown }> => await app.inject({ method: 'POST', url: '/mcp/prompts/get', payload })
  const filled = await post({ server: 'everything', prompt: 'args-prompt', arguments: { city: 'Aarhus' } })
  t.match(filled.json(), { messages: [{ role: 'user', content: { type: 'text', text: /Aarhus/ } }] })
  t.match((await post({ server: 'everything', prompt: 'arg-prompt' })).json(), { code: 'MCP_PROMPT_NOT_FOUND', error: /did you mean "args-prompt"/ })
})

test('resources are listed with all fields, their contents with text, and binary contents with base64', async t => {
  const { app, get } = await started(t, [bad()])
  t.strictSame((await get('/mcp/resources')).body, {
    resources: [
      { uri: 'bad://a', name: 'a', description: 'letter a', mimeType: 'text/plain', server: 'bad' },
      { uri: 'bad://b', name: 'b', description: '', mimeType: '', server: 'bad' }
    ]
  })
  const read = async (uri: string): Promise<any> => (await app.inject({ method: 'POST', url: '/mcp/resources/read', payload: { server: 'bad', uri } })).json()
  t.strictSame(await read('bad://a'), { contents: [{ uri: 'bad://a', mimeType: 'text/plain', text: 'A' }, { uri: 'bad://a', mimeType: 'image/png', text: '', blob: 'iVBORw==' }] })
  t.match(await read('bad://c'), { code: 'MCP_RESOURCE_NOT_FOUND', error: /bad:\/\/c/ })
})

test('arguments are checked in the dialect of their schema', async t => {
  const { call } = await started(t, [bad()])
  const at = '2026-01-01T00:00:00Z'
  t.equal((await call('bad', '2020', { pair: ['a', 1], at })).status, 200)
  t.match(await call('bad', '2020', { pair: ['a', 1, 2], at: 'noon' }), { status: 400, body: { code: 'MCP_INVALID_ARGUMENTS', error: /arguments\/pair.*arguments\/at/ } })
  t.match(await call('bad', '2020', { pair: ['a'] }), { status: 400 })
  t.match(await call('bad', 'draft7', { pair: [1] }), { status: 400 })
  t.equal((await call('bad', 'draft7', { pair: ['a', 1] })).status, 200)
  t.match(await call('bad', 'recursive', { node: { child: { child: { n: 'x' } } } }), { status: 400, body: { error: /arguments\/node\/child\/child\/n/ } })
  t.equal((await call('bad', 'remote', { any: 1 })).status, 200, 'a schema that lies elsewhere is not fetched')
  t.match(await call('bad', 'echo', { message: 'x', times: 0, colour: 'red' }), { status: 400, body: { error: /colour: is not known/ } })
})
