import { test, type Test } from 'tap'
import { createVacs } from '@polyvac/core'
import { steered } from '../../../test/a2a-agent/steered.mjs'
import { Cards, MAX_RENDERED_CARDS, MAX_RENDERED_CHARS } from '../src/cards/cards.js'
import type { A2aOptions } from '../src/index.js'
import { serve, type Served } from './fixtures/app.js'
import type { Json } from './fixtures/public.js'
import { message, result } from './fixtures/public.js'

const PATH = '/.well-known/agent-card.json'
const VACS = { vacs: { vacs: { docs: { display_name: 'The docs', description: 'Knows fruit.', agent: 'documents' }, other: {} } } }

async function agent (t: Test, plugin: Partial<A2aOptions> & { prefix?: string } = {}): Promise<Served> {
  return await serve(t, steered, { ...VACS, plugin: { publicUrl: 'https://agent.example/', ...plugin } })
}

const NEWER_ONLY = ['supportedInterfaces']
const OLDER_ONLY = ['url', 'protocolVersion', 'preferredTransport', 'additionalInterfaces', 'supportsAuthenticatedExtendedCard']

test('the card is that of the version that is asked for; who asks for none gets one that both read', async t => {
  const { app } = await agent(t)
  const card = async (version?: string): Promise<Json> => (await app.inject({ url: PATH, headers: version === undefined ? {} : { 'a2a-version': version } })).json()
  const newer = await card('1.0')
  t.match(newer, {
    name: 'Polyvac agent',
    supportedInterfaces: [
      { url: 'https://agent.example/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: 'https://agent.example/a2a/v1', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      { url: 'https://agent.example/a2a', protocolBinding: 'JSONRPC', protocolVersion: '0.3' }
    ],
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: false },
    defaultInputModes: ['text/plain'],
    skills: [{ id: 'vac_query_docs', name: 'Ask The docs', tags: ['query', 'docs', 'documents'] }]
  })
  for (const name of OLDER_ONLY) t.notOk(name in newer, name)
  const older = await card('0.3')
  t.match(older, { protocolVersion: '0.3.0', url: 'https://agent.example/a2a', preferredTransport: 'JSONRPC', capabilities: { streaming: true, stateTransitionHistory: false } })
  for (const name of NEWER_ONLY) t.notOk(name in older, name)
  const both = await card()
  for (const name of [...OLDER_ONLY, ...NEWER_ONLY]) t.ok(name in both, name)
  t.match((await app.inject({ url: PATH, headers: { 'a2a-version': '7.0' } })).json(), { error: { details: [{ reason: 'VERSION_NOT_SUPPORTED' }] } })
  const grpc = await agent(t, { grpcUrl: 'agent.example:50051' })
  t.strictSame(((await grpc.app.inject({ url: PATH, headers: { 'a2a-version': '1.0' } })).json() as Json).supportedInterfaces[2], { url: 'agent.example:50051', protocolBinding: 'GRPC', protocolVersion: '1.0' })
  t.notMatch((await grpc.app.inject({ url: PATH, headers: { 'a2a-version': '0.3' } })).body, 'GRPC', 'which does not speak 0.3')
  const strict = await agent(t, { unnamedCard: '1.0' })
  t.strictSame((await strict.app.inject(PATH)).json(), newer)
  t.match((await app.inject('/.well-known/agent.json')).json(), { capabilities: ['task_management', 'streaming', 'conversation', 'document_retrieval'] }, 'the card of the description is as it was')
})

test('a card that is known already is not sent again', async t => {
  const { app, vacs } = await agent(t)
  const first = await app.inject({ url: PATH, headers: { 'a2a-version': '1.0' } })
  t.match(first.headers, { etag: /^"[\w-]+"$/, 'last-modified': /GMT$/, vary: 'A2A-Version', 'cache-control': /^public, max-age=\d+$/, 'content-type': /^application\/json/ })
  const byRequest = await agent(t, { publicUrl: undefined })
  t.equal((await byRequest.app.inject(PATH)).headers['cache-control'], 'private, max-age=60', 'an address that a request named is for no other client')
  t.equal((await app.inject({ url: PATH, headers: { authorization: 'Bearer x' } })).headers['cache-control'], 'private, max-age=60')
  const etag = String(first.headers.etag)
  const status = async (headers: Record<string, string>): Promise<number> => (await app.inject({ url: PATH, headers: { 'a2a-version': '1.0', ...headers } })).statusCode
  t.equal(await status({ 'if-none-match': etag }), 304)
  t.equal(await status({ 'if-none-match': `"x", W/${etag}` }), 304)
  t.equal(await status({ 'if-none-match': '*' }), 304)
  t.equal(await status({ 'if-none-match': '"x"' }), 200)
  t.equal(await status({ 'if-modified-since': String(first.headers['last-modified']) }), 304)
  t.equal(await status({ 'a2a-version': '0.3', 'if-none-match': etag }), 200, 'each version has a tag of its own')
  await vacs.replace({ vacs: ['new'], streamInterpreter: steered })
  const after = await app.inject({ url: PATH, headers: { 'a2a-version': '1.0', 'if-none-match': etag } })
  t.match(after.json(), { skills: [{ id: 'vac_query_new' }, {}] }, 'other VACs are another card')
})

test('every VAC has a card, whose interfaces name it as their tenant', async t => {
  const { app } = await agent(t)
  const card = async (version: string): Promise<Json> => (await app.inject({ url: `/a2a/vacs/docs${PATH}`, headers: { 'a2a-version': version } })).json()
  t.match(await card('1.0'), { name: 'The docs', description: 'Knows fruit.', supportedInterfaces: [{ url: 'https://agent.example/a2a/vacs/docs', tenant: 'docs' }, { url: 'https://agent.example/a2a/v1', tenant: 'docs' }, {}], skills: [{ id: 'vac_query_docs' }, { id: 'vac_stream_docs' }] })
  t.match(await card('0.3'), { url: 'https://agent.example/a2a/vacs/docs' })
  const missing = await app.inject(`/a2a/vacs/nope${PATH}`)
  t.match([missing.statusCode, missing.json()], [404, { error: { code: 404, message: /ai-catalog/ } }])
  t.match((await app.inject('/.well-known/ai-catalog.json')).json(), {
    specVersion: '1.0',
    entries: [
      { identifier: 'urn:air:agent.example:a2a:docs', displayName: 'The docs', type: 'application/a2a-agent-card+json', url: `https://agent.example/a2a/vacs/docs${PATH}` },
      { displayName: 'other' }
    ]
  })
  const hidden = await agent(t, { vacNames: ['other'] })
  t.equal((await hidden.app.inject(`/a2a/vacs/docs${PATH}`)).statusCode, 404)
})

test('an answer without a card has Vary for caches, too', async t => {
  const { app } = await agent(t)
  for (const [url, version, statusCode] of [[PATH, '7.0', 400], [`/a2a/vacs/nope${PATH}`, '1.0', 404]] as const) {
    t.match(await app.inject({ url, headers: { 'a2a-version': version } }), { statusCode, headers: { vary: 'A2A-Version' } }, url)
  }
})

test('a card lists the HTTP binding where the name of the VAC is not a path of it', async t => {
  const names = ['docs', 'tasks', 'extendedAgentCard', 'message']
  const { app } = await serve(t, steered, { vacs: { vacs: names } })
  const headers = { 'a2a-version': '1.0' }
  for (const name of names) {
    const { supportedInterfaces } = (await app.inject({ url: `/a2a/vacs/${name}${PATH}`, headers })).json() as Json
    const { statusCode } = await app.inject({ method: 'POST', url: `/a2a/v1/${name}/message:send`, headers, payload: { message: message('echo') } })
    t.equal(supportedInterfaces.some(({ protocolBinding }: Json) => protocolBinding === 'HTTP+JSON'), name !== 'tasks', name)
    t.equal(statusCode, name === 'tasks' ? 404 : 200, `${name} is reached`)
  }
})

test('an extended card is for callers who say who they are', async t => {
  await t.rejects(agent(t, { extendedCard: card => card }), { code: 'A2A_PLUGIN_OPTIONS' })
  const served = await agent(t, { authenticate: ({ headers }) => headers.authorization === undefined ? undefined : { owner: headers.authorization }, extendedCard: (card, { owner }) => ({ ...card, description: `For ${owner}` }) })
  const headers = { authorization: 'alice' }
  t.match(await result(served, 'GetExtendedAgentCard', {}, { headers }), { description: 'For alice', capabilities: { extendedAgentCard: true }, securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } } })
  t.match(await result(served, 'agent/getAuthenticatedExtendedCard', {}, { headers, version: '' }), { description: 'For alice', supportsAuthenticatedExtendedCard: true, securitySchemes: { bearer: { type: 'http' } } })
  t.equal((await served.app.inject({ method: 'POST', url: '/a2a', payload: {} })).statusCode, 401)
  t.match((await served.app.inject(PATH)).json(), { securitySchemes: { bearer: { type: 'http', httpAuthSecurityScheme: {} } } }, 'the public card stays public')
})

test('under a prefix the root of the scope takes JSON-RPC, at the root of a host only with `rootRpc`', async t => {
  const call = { method: 'POST', payload: { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 'x' } } } as const
  const prefixed = await agent(t, { prefix: '/agents' })
  t.match((await prefixed.app.inject({ ...call, url: '/agents' })).json(), { error: { code: -32001 } })
  const plain = await agent(t)
  t.equal((await plain.app.inject({ ...call, url: '/' })).statusCode, 404)
  const rooted = await agent(t, { rootRpc: true })
  t.match((await rooted.app.inject({ ...call, url: '/' })).json(), { error: { code: -32001 } })
})

test('no more cards are kept than the bound', async t => {
  const vacs = createVacs({ vacs: ['docs'], streamInterpreter: steered })
  const cards = new Cards({ exposed: vacs, keys: undefined, version: '1', streaming: true, push: false, extendedCard: false, authenticated: false, extensions: [], inputModes: [] })
  const first = cards.render('1.0', 'http://0')
  t.equal(cards.render('1.0', 'http://0'), first, 'made once')
  for (let n = 1; n < MAX_RENDERED_CARDS; n++) cards.render('1.0', `http://${n}`)
  t.equal(cards.render('1.0', 'http://0'), first)
  cards.render('1.0', `http://${MAX_RENDERED_CARDS}`)
  t.not(cards.render('1.0', 'http://0'), first, 'past the bound they are made anew')
})

test('no more text of cards is kept than the bound, however long the addresses are', async t => {
  const vacs = createVacs({ vacs: ['docs'], streamInterpreter: steered })
  const cards = new Cards({ exposed: vacs, keys: undefined, version: '1', streaming: true, push: false, extendedCard: false, authenticated: false, extensions: [], inputModes: [] })
  const long = (n: number): string => `http://${'a'.repeat(16_000)}${n}`
  const first = cards.render('both', long(0))
  let chars = (await first)?.text.length ?? 0
  const count = Math.floor(MAX_RENDERED_CHARS / chars)
  t.ok(count < MAX_RENDERED_CARDS)
  for (let n = 1; n < count - 1; n++) chars += (await cards.render('both', long(n)))?.text.length ?? 0
  t.equal(cards.render('both', long(0)), first, `${chars} characters are kept`)
  for (let n = count; n < count + 3; n++) await cards.render('both', long(n))
  t.not(cards.render('both', long(0)), first, 'past the bound they are made anew')
})

test('identifiers of the catalog have neither a port nor other colons, and an MCP server is an entry', async t => {
  const { app } = await agent(t, { publicUrl: undefined, mcpPath: '/mcp' })
  for (const [host, publisher, dns] of [['localhost:8080', 'localhost', 'localhost'], ['agents.example:443', 'agents.example', 'example.agents'], ['[::1]:9000', '%3A%3A1', '%3A%3A1'], ['127.0.0.1', '127.0.0.1', '1.0.0.127']] as const) {
    const { entries } = (await app.inject({ url: '/.well-known/ai-catalog.json', headers: { host } })).json() as { entries: Json[] }
    for (const { identifier } of entries) t.match(identifier, /^urn:air:[^:]+:(a2a|mcp):[^:]+$/, host)
    t.equal(entries[0]!.identifier, `urn:air:${publisher}:a2a:docs`)
    t.match(entries.at(-1), { identifier: new RegExp(`^urn:air:${publisher}:mcp:`), type: 'application/mcp-server-card+json', data: { name: new RegExp(`^${dns}/[^/]+$`), version: String, remotes: [{ type: 'streamable-http', url: /\/mcp$/ }] } })
  }
  const without = await agent(t)
  t.notMatch((await without.app.inject('/.well-known/ai-catalog.json')).body, 'mcp-server-card')
})
