import type { Principal } from '@polyvac/core'
import { mayUse } from '@polyvac/core/plugin'
import { createHost } from '@polyvac/host'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { Writable } from 'node:stream'
import { test, type Test } from 'tap'
import { published } from './fixtures/command.js'
import { forms, questions } from './probes/index.mjs'

const SCOPES: Readonly<Record<string, readonly string[] | undefined>> = {
  all: undefined,
  admin: ['admin'],
  docs: ['vac:docs'],
  every: ['vac:*'],
  tools: ['tool:files'],
  anyTool: ['tool:*'],
  echo: ['tool:files__echo'],
  mcp: ['vac:docs', 'tool:files__echo'],
  // of names that do not exist, near to those that do
  near: ['vac:docs', 'vac:secre', 'tool:files__echo', 'tool:files__get-su', 'tool:filex'],
  misspelt: ['tool:filex', 'tool:filex__echo'],
  none: [],
  openid: ['openid', 'vac:', 'tool:', 'VAC:docs', 'vac:doc']
}

test('one place decides about scopes', t => {
  const of = (name: string): Principal => ({ owner: 'a', scopes: SCOPES[name] })
  const vacs = (name: string): string => ['docs', 'secret'].filter(vac => mayUse(of(name), { vac })).join()
  t.strictSame(Object.keys(SCOPES).map(vacs), ['docs,secret', 'docs,secret', 'docs', 'docs,secret', '', '', '', 'docs', 'docs', '', '', ''])
  const tools = (name: string): string => [['files', 'echo'], ['files', 'add'], ['files'], ['other', 'echo']].filter(([server, tool]) => mayUse(of(name), { server: server!, tool })).map(pair => pair.join('.')).join()
  t.strictSame(Object.keys(SCOPES).map(tools), [
    'files.echo,files.add,files,other.echo', 'files.echo,files.add,files,other.echo', '', '', 'files.echo,files.add,files', 'files.echo,files.add,files,other.echo', 'files.echo', 'files.echo', 'files.echo', '', '', ''
  ])
  t.strictSame(Object.keys(SCOPES).map(name => mayUse(of(name), { someOf: 'files' })), [true, true, false, false, true, true, true, true, true, false, false, false])
  t.ok(mayUse(undefined, { vac: 'docs' }) && mayUse(undefined, { server: 'files', tool: 'echo' }), 'without authentication')
  t.end()
})

async function serve (t: Test) {
  const lines: string[] = []
  const [command, ...args] = published('everything', 'stdio')
  const app = await createHost({
    vacs: { docs: { display_name: 'Docs' }, secret: { display_name: 'Hidden' } },
    stream_interpreter: question => `heard ${question}`,
    enable_a2a_agent: true,
    enable_mcp_server: true,
    tasks: { store: 'memory' },
    mcp_servers: { files: { command, args } },
    authenticate: ({ headers: { authorization: name = '' } }) => name in SCOPES ? { owner: name, scopes: SCOPES[name] } : undefined,
    server: { logger: { level: 'warn', stream: new Writable({ write (line, _encoding, done) { lines.push(String(line)); done() } }) } }
  })
  t.teardown(() => app.close())
  await app.ready()
  await app.polyvac.gateway?.settled()
  const send = async (caller: string, options: InjectOptions): Promise<LightMyRequestResponse> =>
    await app.inject({ ...options, headers: { ...options.headers, authorization: caller } })
  const post = async (caller: string, url: string, payload: object, headers = {}): Promise<LightMyRequestResponse> =>
    await send(caller, { method: 'POST', url, payload, headers })
  const mcp = async (caller: string, method: string, params: object = {}): Promise<Record<string, any>> => {
    const headers = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...'name' in params && { 'mcp-name': String(params.name) }, ...'uri' in params && { 'mcp-name': String(params.uri) } }
    const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} }
    const { body } = await post(caller, '/mcp', { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }, headers)
    return JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? body) as Record<string, any>
  }
  const get = async (caller: string, url: string, headers = {}) => await send(caller, { url, headers })
  return { get, post, mcp, lines }
}

test('lists show what a caller may use, and the rest is answered like an unknown name', async t => {
  const { get, post, mcp, lines } = await serve(t)
  const names = async (url: string, key: string, caller: string): Promise<string> =>
    (await get(caller, url)).json()[key].map((item: { name?: string, id?: string }) => item.id ?? item.name).join()
  const expected: Record<string, string> = { all: 'docs,secret', admin: 'docs,secret', docs: 'docs', every: 'docs,secret', none: '', openid: '', echo: '' }
  for (const [caller, vacs] of Object.entries(expected)) {
    t.equal(await names('/vac', 'vacs', caller), vacs, `/vac for ${caller}`)
    t.equal(await names('/openai/v1/models', 'data', caller), vacs, `models for ${caller}`)
    const { skills } = (await get(caller, '/.well-known/agent-card.json')).json()
    t.equal(skills.filter(({ id }: { id: string }) => id.startsWith('vac_query_')).map(({ id }: { id: string }) => id.slice(10)).join(), vacs, `card for ${caller}`)
    const { skills: older } = (await get(caller, '/.well-known/agent.json')).json()
    t.equal(older.some(({ name }: { name: string }) => name.endsWith('_secret')), vacs.includes('secret'), `card of the description for ${caller}`)
    const { result: { tools } } = await mcp(caller, 'tools/list')
    const listed = (tools as Array<{ name: string }>).map(({ name }) => name)
    t.equal(listed.filter(name => name.startsWith('vac_query_')).map(name => name.slice(10)).join(), vacs, `tools/list for ${caller}`)
    t.equal(listed.includes('list_available_vacs'), vacs !== '')
    t.equal(listed.includes('files__echo'), ['all', 'admin', 'echo'].includes(caller))
    const { result: { resources } } = await mcp(caller, 'resources/list')
    t.equal(resources.filter(({ uri }: { uri: string }) => /^polyvac:\/\/vacs\/[^/]+$/.test(uri)).map(({ uri }: { uri: string }) => uri.slice(15)).join(), vacs)
  }
  const count = async (caller: string): Promise<number[]> => await Promise.all([
    ['/mcp/tools', 'tools'], ['/mcp/resources', 'resources'], ['/mcp/prompts', 'prompts'], ['/mcp/servers', 'servers']
  ].map(async ([url, key]) => (await get(caller, url!)).json()[key!].length))
  const all = await count('all')
  t.ok(all.every(length => length > 0), String(all))
  t.strictSame(await count('tools'), all)
  t.strictSame(await count('anyTool'), all)
  t.strictSame(await count('echo'), [1, 0, 0, 1])
  t.strictSame(await count('docs'), [0, 0, 0, 0])
  t.strictSame(Object.keys((await get('echo', '/mcp/openapi.json')).json().components.schemas), ['Error', 'Result', 'InputRequired', 'files__echo_arguments'])

  // each pair has one name that exists and is hidden, and one that does not exist; both have the same length
  const strip = (text: string): string => text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID').replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME').replaceAll('secret', 'NAME').replaceAll('nobody', 'NAME')
    .replaceAll('get-sum', 'TOOL').replaceAll('get-nix', 'TOOL').replaceAll('files', 'SERVER').replaceAll('filex', 'SERVER')
  const same = async (what: string, ask: (name: 'secret' | 'nobody') => Promise<unknown>): Promise<void> => {
    const [hidden, unknown] = [JSON.stringify(await ask('secret')), JSON.stringify(await ask('nobody'))]
    t.equal(strip(hidden), strip(unknown), what)
  }
  const shown = ({ statusCode, headers: { date: _date, 'x-request-id': _id, ...headers }, body }: LightMyRequestResponse) => ({ statusCode, headers, body })
  for (const [what, ask, probe] of forms()) {
    const answer = async (name: string): Promise<LightMyRequestResponse> => {
      const { path, body, headers } = ask('hi', name)
      return await post('docs', path, body, headers)
    }
    await same(what, async name => shown(await answer(name)))
    t.equal(probe.textOf((await answer('docs')).body), 'heard hi', `${what}: a VAC that the caller may use`)
  }
  await same('a model', async name => shown(await get('docs', `/openai/v1/models/${name}`)))
  await same('a card', async name => shown(await get('docs', `/a2a/vacs/${name}/.well-known/agent-card.json`)))
  const params = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } }
  await same('A2A 1.0, tenant', async name => shown(await post('docs', `/a2a/vacs/${name}`, { jsonrpc: '2.0', id: 1, method: 'SendMessage', params }, { 'a2a-version': '1.0' })))
  await same('get_vac_info', async name => await mcp('docs', 'tools/call', { name: 'get_vac_info', arguments: { vector_name: name } }))
  await same('resources/read', async name => await mcp('docs', 'resources/read', { uri: `polyvac://vacs/${name}` }))
  const tool = (name: string): string => name === 'secret' ? 'get-sum' : 'get-nix'
  await same('tools/call at a server', async name => await mcp('echo', 'tools/call', { name: `files__${tool(name)}`, arguments: {} }))
  await same('POST /mcp/call', async name => shown(await post('echo', '/mcp/call', { server: 'files', tool: tool(name), arguments: {} })))
  const server = (name: string): string => name === 'secret' ? 'files' : 'filex'
  await same('a hidden server', async name => shown(await post('docs', '/mcp/call', { server: server(name), tool: 'echo', arguments: {} })))
  await same('tools of a hidden server', async name => shown(await get('docs', `/mcp/tools/${server(name)}`)))
  await same('a resource of a hidden server', async name => shown(await post('docs', '/mcp/resources/read', { server: server(name), uri: 'demo://x' })))
  await same('a prompt of a hidden server', async name => shown(await post('docs', '/mcp/prompts/get', { server: server(name), prompt: 'x' })))
  t.match((await post('echo', '/mcp/resources/read', { server: 'files', uri: 'demo://x' })).json(), { code: 'MCP_RESOURCE_NOT_FOUND' })
  t.match((await post('echo', '/mcp/prompts/get', { server: 'files', prompt: 'simple-prompt' })).json(), { code: 'MCP_PROMPT_NOT_FOUND' })

  t.match((await post('echo', '/mcp/call', { server: 'files', tool: 'echo', arguments: { message: 'x' } })).json(), { result: { content: [{ text: /x/ }] } })
  t.match(await mcp('echo', 'tools/call', { name: 'files__echo', arguments: { message: 'x' } }), { result: { content: [{ text: /x/ }] } })
  await mcp('none', 'tools/call', { name: 'vac_query_secret', arguments: { query: 'x' } })
  await mcp('openid', 'prompts/get', { name: 'files__simple-prompt' })
  await mcp('every', 'tools/call', { name: 'files__nothing', arguments: {} })
  const { result: { resources: allResources } } = await mcp('all', 'resources/list')
  const [{ uri }] = allResources.filter(({ uri }: { uri: string }) => !uri.startsWith('polyvac:'))
  t.match(await mcp('near', 'resources/read', { uri }), { error: { code: -32602, message: /^unknown resource/ } })
  const audit = lines.map(line => JSON.parse(line)).filter(({ audit }) => audit === 'refused')
  t.match(audit.find(({ owner }) => owner === 'near'), { reason: 'SCOPE', what: 'resources:files' })
  t.match(audit.find(({ owner }) => owner === 'docs'), { reason: 'SCOPE', what: 'vac:secret' })
  t.match(audit.find(({ owner }) => owner === 'echo'), { reason: 'SCOPE', what: 'tool:files__get-sum' })
  t.match(audit.find(({ owner }) => owner === 'none'), { reason: 'SCOPE', what: 'tool:vac_query_secret' })
  t.match(audit.find(({ owner }) => owner === 'openid'), { reason: 'SCOPE', what: 'prompt:files__simple-prompt' })
  t.notOk(audit.find(({ owner }) => owner === 'every'), 'an unknown name is no refusal')
})

test('a refusal that is only over MCP writes an audit line, and its answer is that for an unknown name', async t => {
  const { mcp, lines } = await serve(t)
  const audit = (): object[] => lines.map(line => JSON.parse(line)).filter(({ audit, owner }) => audit === 'refused' && owner === 'mcp')
  const answer = async (name: string): Promise<string> => JSON.stringify(await mcp('mcp', 'tools/call', { name, arguments: {} })).replaceAll(name, 'NAME')
  const unknown = await answer('files__get-nix')
  t.match(unknown, /unknown tool/)
  t.strictSame(audit(), [], 'an unknown name is not a refusal')
  t.equal(await answer('files__get-sum'), unknown)
  t.match(audit(), [{ reason: 'SCOPE', owner: 'mcp', what: 'tool:files__get-sum' }])
  t.notMatch(lines.join(''), /audit.*authorization/)
})

test('no suggestion names what a caller may not use', async t => {
  const { get, post, mcp } = await serve(t)
  const asked: ReadonlyArray<readonly [hidden: RegExp, ask: (caller: string) => Promise<unknown>]> = [
    ...questions('x', 'secre').map(([, { path, body, headers }]) => [/secret/, async (caller: string) => (await post(caller, path, body, headers)).body] as const),
    [/get-sum/, async caller => await mcp(caller, 'tools/call', { name: 'files__get-su', arguments: {} })],
    [/get-sum/, async caller => (await post(caller, '/mcp/call', { server: 'files', tool: 'get-su', arguments: {} })).body],
    [/simple-prompt/, async caller => await mcp(caller, 'prompts/get', { name: 'files__simple-promp' })],
    [/simple-prompt/, async caller => (await post(caller, '/mcp/prompts/get', { server: 'files', prompt: 'simple-promp' })).body]
  ]
  const ofServers: typeof asked = [
    [/files/, async caller => (await post(caller, '/mcp/call', { server: 'filex', tool: 'echo', arguments: {} })).body],
    [/files/, async caller => (await get(caller, '/mcp/tools/filex')).body],
    [/files/, async caller => (await get(caller, '/mcp/resources?server=filex')).body],
    [/files/, async caller => (await post(caller, '/mcp/resources/read', { server: 'filex', uri: 'demo://x' })).body],
    [/files/, async caller => (await post(caller, '/mcp/prompts/get', { server: 'filex', prompt: 'simple-prompt' })).body]
  ]
  for (const [i, [hidden, ask]] of [...asked, ...ofServers].entries()) {
    const caller = i < asked.length ? 'near' : 'misspelt'
    t.match(JSON.stringify(await ask('all')), hidden, `${i}: a caller who may use it`)
    t.notMatch(JSON.stringify(await ask(caller)), hidden, `${i}: ${caller}`)
  }
})
