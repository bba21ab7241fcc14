import { Validator } from '@seriousme/openapi-schema-validator'
import { test, type Test } from 'tap'
import { existsSync } from 'node:fs'
import { copyFile, cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { ConfigError, type Authenticate } from '@polyvac/core'
import type { WeightedMemory } from '@polyvac/documents'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { createHost, HostConfigFile, openApiOf, parseConfig, readConfig, type HostOptions } from '../src/index.js'
import { missingProtocols, registerProtocols, type LoadPlugin } from '../src/protocols.js'
import { registerReadiness } from '../src/routes/readiness.js'
import { toSettings } from '../src/host-options.js'
import { embeddingServer } from '../../../test/fixtures/embedding-server.js'
import { until } from '../../../test/fixtures/until.js'

const fixtures = fileURLToPath(new URL('fixtures', import.meta.url))
const ask = async (app: FastifyInstance, vac: string, question = 'hello') =>
  (await app.inject({ method: 'POST', url: `/vac/${vac}`, payload: { user_input: question } })).json() as { answer: string, [key: string]: unknown }

/** A host that is closed with the test, over a copy of the fixtures, so that indexes and changes leave no trace. */
async function host (t: Test, options: (folder: string) => HostOptions = folder => ({ config: join(folder, 'vac_config.yaml') }), prepare?: (folder: string) => Promise<void>) {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-host-'))
  await cp(fixtures, folder, { recursive: true })
  await prepare?.(folder)
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const app = await createHost({ watchDocuments: false, ...options(folder) })
  t.teardown(() => app.close())
  return { app, folder }
}

/** The sources of all packages. */
async function filesIn (root: string): Promise<string[]> {
  const folders = ['packages', 'apps'].map(folder => join(root, folder))
  const names = (await Promise.all(folders.map(async folder => (await readdir(folder)).map(name => join(folder, name, 'src'))))).flat().filter(existsSync)
  return (await Promise.all(names.map(async name => (await readdir(name, { recursive: true })).filter(file => file.endsWith('.ts')).map(file => join(name, file))))).flat()
}

test('a configuration file becomes a service: module interpreters, VACs with different interpreters, documents', async t => {
  const { app } = await host(t)
  t.match(await ask(app, 'own'), { answer: 'static hello', main: true })
  t.match((await app.inject({ method: 'POST', url: '/vac/streaming/own', payload: { user_input: 'hello', stream_only: true } })).body, 'streamed hello')
  const answer = await ask(app, 'tides', 'When does a spring tide occur?')
  t.match(answer.answer, /twice each month.*\[1\]/)
  t.match(answer.source_documents, [{ page_content: /spring tide/i, metadata: { source: 'tides.md', heading: /Spring tides/, lines: /^\d+/, score: Number } }])
  t.strictSame((await app.inject('/vac')).json().vacs.map(({ name, memory }: { name: string, memory: boolean }) => [name, memory]), [['own', false], ['tides', true]])
})

test('in code the switches have the same names, accept functions, and take precedence over the file', async t => {
  const { app } = await host(t, folder => ({ config: join(folder, 'vac_config.yaml'), stream_interpreter: question => `code ${question}` }))
  t.equal((await ask(app, 'own')).answer, 'code hello', 'neither interpreter of the file is left')
  const { app: bare } = await host(t, () => ({ vacs: ['a'], stream_interpreter: () => 'stream', vac_interpreter: () => 'static' }))
  t.equal((await ask(bare, 'a')).answer, 'static')
  t.equal(bare.polyvac.config, undefined)
})

test('async_stream: false runs interpreter modules in threads', async t => {
  const { app } = await host(t, folder => ({ config: join(folder, 'vac_config.yaml'), async_stream: false }))
  t.match(await ask(app, 'own'), { answer: 'static hello', main: false })
  t.match(await ask(app, 'tides', 'When does a spring tide occur?'), { answer: /twice/ }, 'built-in interpreters stay')
  await t.rejects(createHost({ vacs: ['a'], stream_interpreter: () => 'x', async_stream: false }), { code: 'WORKER_FUNCTION', message: /module path/ })
})

test('embed of a VAC, or of one of its folders, finds documents by their meaning; results report when it fails', async t => {
  const server = await embeddingServer(t)
  const openai = `openai: { base_url: '${server.url}', model: chat-model }`
  const seen: number[] = []
  const { app } = await host(t, folder => ({
    config: parseConfig(`kind: vacConfig\nvac:\n  all:\n    embed: test-embed\n    ${openai}\n    memory: [{ a: { vectorstore: folder, path: ./docs } }]\n` +
      `  one:\n    ${openai}\n    memory: [{ a: { vectorstore: folder, path: ./docs, embed: auto } }]\n  none:\n    ${openai}\n    memory: [{ a: { vectorstore: folder, path: ./docs } }]\n`,
    join(folder, 'vac_config.yaml')),
    onIndexing: ({ embedded }) => { if (embedded !== undefined) seen.push(embedded) }
  }))
  const folders = app.polyvac.assembly.folders
  t.notOk(folders.get('none')?.[0]?.stats().embedded)
  const isDone = (name: string): boolean => { const [folder] = folders.get(name) ?? []; return folder?.stats().ready === true && folder.stats().embedded === folder.stats().passages }
  await until(() => isDone('all') && isDone('one'), 'the passages of both VACs are embedded')
  t.ok(seen.length > 0, 'a terminal can show the progress')
  t.strictSame([...server.models], ['test-embed'], '`openai.model` writes texts')
  const search = async (vac: string) => (await app.inject(`/vac/${vac}/search?q=When+does+a+spring+tide+occur&similarity_threshold=0`)).json()
  for (const vac of ['all', 'one']) t.match(await search(vac), { results: [{ metadata: { source: 'tides.md', likeness: Number } }], degraded: undefined }, vac)
  server.state = 'down'
  t.match((await app.inject('/vac/all/search?q=neap+tide&similarity_threshold=0')).json(), { results: [{ metadata: { source: 'tides.md' } }], degraded: /^embeddings: / })
  t.match(await ask(app, 'all', 'When does a neap tide occur?'), { metadata: { degraded: /^embeddings: / } })
  t.match(await search('none'), { degraded: undefined, results: [{ metadata: { likeness: undefined } }] })
})

test('/ready reports passages that wait for a dead embedding server, with its message, and stays 200', async t => {
  const server = await embeddingServer(t)
  server.state = 'down'
  const { app } = await host(t, folder => ({
    config: parseConfig(`kind: vacConfig\nvac:\n  all:\n    embed: test-embed\n    openai: { base_url: ${server.url} }\n    memory: [{ a: { vectorstore: folder, path: ./docs } }]\n`, join(folder, 'vac_config.yaml'))
  }))
  const ready = await until(async () => {
    const response = await app.inject('/ready')
    return response.statusCode === 200 && response.json().reasons.length > 0 && response.json()
  }, 'the embedding has failed')
  t.match(ready, { status: 'ready', reasons: [{ part: 'vac.all', reason: /^its documents are indexed by words, and \d+ passages wait for an embedding: (?:connection|the)/ }] })
})

test('a memory may be a module of the application, and several stores are searched together', async t => {
  const { app } = await host(t, folder => ({
    config: parseConfig('kind: vacConfig\nvac:\n  both:\n    interpreter: echo\n    memory:\n      - a: { vectorstore: ./memory.mjs, shelf: A }\n      - b: { vectorstore: ./memory.mjs, shelf: B }\n      - c: { vectorstore: folder, path: ./docs }\n', join(folder, 'vac_config.yaml'))
  }))
  const { memory } = app.polyvac.vacs.get('both')
  t.strictSame((await memory?.search({ query: 'q', threshold: 0.5 }))?.map(({ content }) => content), ['A: q', 'B: q'])
  t.match(await (memory as WeightedMemory).terms('neap tide'), { terms: [{ stems: ['neap'], weight: Number }, { stems: ['tide'] }], languages: ['en'] }, 'words weigh as in the folder')
  t.match(await memory?.list?.(), [{ uri: 'tides.md' }])
  t.match(await memory?.read?.('tides.md'), /# Tide tables/)
  t.equal(await memory?.read?.('../vac_config.yaml'), undefined)
})

test('protocols that are switched off, or not installed, answer 501', async t => {
  const { app } = await host(t)
  for (const [method, url] of [['GET', '/.well-known/agent.json'], ['POST', '/a2a/tasks/send'], ['POST', '/a2a/tasks/sendSubscribe'], ['POST', '/a2a/tasks/get'], ['POST', '/a2a/tasks/cancel'], ['POST', '/a2a/tasks/pushNotification/set']] as const) {
    const response = await app.inject({ method, url })
    t.equal(response.statusCode, 501, url)
    t.strictSame(response.json(), { error: { code: 'A2A_NOT_ENABLED', message: 'A2A agent not enabled: set enable_a2a_agent' } })
  }
  for (const method of ['GET', 'POST', 'DELETE'] as const) t.match((await app.inject({ method, url: '/mcp' })).json(), { error: { code: 'MCP_SERVER_NOT_ENABLED' } })
  t.equal((await app.inject('/mcp/tools')).statusCode, 404, 'without mcp_servers there is no gateway')
})

test('service.protocols switches protocols off, which answer 501 in their format, and gives options to the others', async t => {
  const service = (protocols: object) => parseConfig(JSON.stringify({ kind: 'vacConfig', service: { stream_interpreter: 'echo', protocols, tasks: { store: 'memory' } }, vac: { a: {} } }), '/x/vac_config.yaml')
  const hostWith = async (protocols: object) => (await host(t, () => ({ config: service(protocols) }))).app
  const chat = { model: 'a', messages: [{ role: 'user', content: 'x' }] }
  const direct = { method: 'POST', url: '/vac/a', payload: { user_input: 'x' } } as const
  const openai = { method: 'POST', url: '/openai/v1/chat/completions', payload: chat } as const

  const response = { method: 'POST', url: '/openai/v1/responses', payload: { model: 'a', input: 'x' } } as const

  const withoutOpenai = await hostWith({ openai: false, responses: false, ai_sdk: false, direct: true })
  t.strictSame(withoutOpenai.polyvac.vacProtocols, ['direct', 'ag_ui'])
  t.equal((await withoutOpenai.inject('/ag-ui/info')).json().agents.a.name, 'a')
  t.equal((await withoutOpenai.inject(direct)).statusCode, 200)
  const message = 'openai not enabled: set service.protocols.openai'
  for (const request of [openai, { ...openai, url: '/openai/v1/chat/completions/a' }, '/openai/v1/models', '/openai/v1/models/a'] as const) {
    const refused = await withoutOpenai.inject(request)
    t.equal(refused.statusCode, 501)
    t.strictSame(refused.json(), { error: { message, type: 'server_error', param: null, code: 'protocol_not_enabled' } })
  }
  const refusal = { error: { message: /^responses not enabled: set service.protocols.responses \(request .+\)$/, type: 'server_error', param: '', code: 'protocol_not_enabled' } }
  for (const request of [
    response, '/openai/v1/responses/resp_1', '/openai/v1/responses/resp_1/input_items', { ...response, url: '/openai/v1/responses/resp_1/cancel', payload: {} }, { method: 'DELETE', url: '/openai/v1/responses/resp_1' }
  ] as const) {
    const { statusCode, body } = await withoutOpenai.inject(request)
    t.match([statusCode, JSON.parse(body)], [501, refusal])
  }
  for (const request of [{ method: 'POST', url: '/ai/a', payload: { prompt: 'x' } }, '/ai/a/chat/stream', { method: 'POST', url: '/ai/a/chat/stop' }, { method: 'DELETE', url: '/ai/a/chat/stream' }] as const) {
    const { statusCode, headers, body } = await withoutOpenai.inject(request)
    t.match([statusCode, headers['content-type'], body], [501, /^text\/plain/, /^ai_sdk not enabled: set service.protocols.ai_sdk \(request id .+\)$/])
  }
  t.notMatch(Object.keys(((await withoutOpenai.inject('/openapi.json')).json() as { paths: object }).paths).join(), /openai/)
  t.match((await withoutOpenai.inject({ url: '/', headers: { accept: 'text/html' } })).body, /\/vac\/a/)
  t.notMatch((await withoutOpenai.inject({ url: '/', headers: { accept: 'text/html' } })).body, /openai/)

  const withoutDirect = await hostWith({ direct: false, openai: { keep_alive: 0 } })
  t.equal((await withoutDirect.inject(openai)).statusCode, 200)
  for (const request of [direct, '/vac', '/vac/a/search?q=x', { ...direct, url: '/vac/streaming/a/sse' }] as const) {
    const refused = await withoutDirect.inject(request)
    t.match([refused.statusCode, refused.json()], [501, { error: { code: 'PROTOCOL_NOT_ENABLED', message: 'direct not enabled: set service.protocols.direct', requestId: /./ } }])
  }
  for (const protocols of [{}, { responses: { keep_alive: 7 } }, { openai: false }]) {
    const app = await hostWith(protocols)
    t.match((await app.inject(response)).json(), { object: 'response', status: 'completed', store: true, output: [{ content: [{ text: 'x' }] }] })
    t.match((await app.inject({ method: 'POST', url: '/ai/a', payload: { prompt: 'x' } })).body, /"type":"finish"/)
    t.match((await app.inject({ url: '/', headers: { accept: 'text/html' } })).body, /OPENAI_BASE_URL/)
    t.ok('/ai/{vector_name}/{id}/stop' in (await app.inject('/openapi.json')).json().paths)
    t.ok('/openai/v1/responses/{response_id}/cancel' in (await app.inject('/openapi.json')).json().paths)
  }
  const withoutAgUi = await hostWith({ ag_ui: false })
  for (const request of ['/ag-ui/info', '/ag-ui/a?threadId=t', ...['/ag-ui', '/ag-ui/a', '/ag-ui/agent/a/run', '/ag-ui/agent/a/connect', '/ag-ui/agent/a/stop/t'].map(url => ({ method: 'POST', url, payload: {} } as const))]) {
    const refused = await withoutAgUi.inject(request)
    t.match([refused.statusCode, refused.json()], [501, { error: { code: 'PROTOCOL_NOT_ENABLED', message: 'ag_ui not enabled: set service.protocols.ag_ui' } }])
  }
  t.notMatch((await withoutDirect.inject({ url: '/', headers: { accept: 'text/html' } })).body, /\/vac\//)
  t.match((await (await hostWith({ openai: {} })).inject(openai)).statusCode, 200)

  for (const [protocols, problem] of [
    [{ opnai: true }, /service\.protocols: there is no protocol "opnai"; did you mean "openai"\?/], [{ toString: false }, /no protocol "toString"; there are: direct, openai, responses, ai_sdk, ag_ui/],
    [{ openai: { keep_alive: -1 } }, /service\.protocols: openai\/keep_alive: expected number/], [{ direct: { keep_alive: '7' } }, /direct\/keep_alive/], [{ direct: { version: 6 } }, /direct\/version/],
    [{ ag_ui: { questions: 'card' } }, /ag_ui\/questions/], [{ ag_ui: { unread_timeout: 0 } }, /ag_ui\/unread_timeout/]
  ] as const) {
    t.throws(() => service(protocols), { code: 'CONFIG_INVALID', message: problem, problems: [{ line: 1, column: 73 }] })
    await t.rejects(async () => await createHost({ vacs: ['a'], protocols }), { code: 'HOST_OPTIONS', message: problem })
  }
  for (const protocols of [null, [], 'openai', { openai: null }, { openai: 1 }, { openai: [] }]) t.throws(() => service(protocols as object), { code: 'CONFIG_INVALID' }, JSON.stringify(protocols))
  await t.rejects(async () => await createHost({ vacs: ['a'], protocols: ['openai'] as never }), { code: 'HOST_OPTIONS', message: /protocols must be what `service.protocols`/ })
})

test('a switch loads its plugin; a missing one is logged as an error, and the rest of the service works', async t => {
  const logged: string[] = []
  const logger = { level: 'error', stream: { write: (line: string) => { logged.push(line) } } }
  const { app } = await host(t, () => ({ vacs: ['a'], stream_interpreter: () => 'x', server: { logger } }))
  const switches = { enable_a2a_agent: true, a2a_vac_names: ['a'], enable_mcp_server: true, mcp_servers: [{ name: 'x', command: 'y' }] }
  const settings = toSettings({ vacs: ['a'], ...switches }, undefined)
  const given: unknown[] = []
  const load: LoadPlugin = async name => name === '@polyvac/a2a'
    ? { default: async (scope, options) => { given.push(options); scope.get('/loaded', async () => 'yes') } }
    : undefined
  const { default: Fastify } = await import('fastify')
  const other = Fastify({ logger })
  t.teardown(() => other.close())
  const store = sqliteTaskStore({ path: ':memory:' })
  await registerProtocols(other, { vacs: app.polyvac.vacs, settings, authenticate: undefined, tasks: async () => ({ store, keysFile: undefined }) }, load)
  const missing = missingProtocols(settings, ['@polyvac/a2a'])
  registerReadiness(other, { assembly: () => app.polyvac.assembly, isDraining: () => false, tasks: () => undefined, gateway: undefined, missing: () => missing })
  const missingPeer = new Error('A2A_GRPC_MISSING')
  const withGrpc: LoadPlugin = async name => name === '@polyvac/a2a/grpc' ? { a2aGrpc: async () => { throw missingPeer } } as never : await load(name)
  const grpc = Fastify()
  await t.rejects(registerProtocols(grpc, { vacs: app.polyvac.vacs, settings: toSettings({ vacs: ['a'], enable_a2a_agent: true, a2a: { grpc: { port: 0 } } }, undefined), authenticate: undefined, tasks: async () => ({ store, keysFile: undefined }) }, withGrpc), missingPeer, 'a port that nobody would answer at is no start')
  t.equal((await other.inject('/loaded')).body, 'yes')
  t.match(given, [{ vacs: app.polyvac.vacs, vacNames: ['a'], tasks: store }])
  t.equal((await other.inject({ method: 'POST', url: '/a2a/tasks/send' })).statusCode, 404, 'its routes are the plugin\'s own')
  t.equal((await other.inject('/mcp')).statusCode, 501)
  t.match((await other.inject('/mcp/tools')).json(), { error: { code: 'MCP_GATEWAY_NOT_ENABLED' } })
  t.match(logged.join(''), /enable_mcp_server is set, but the package @polyvac\/mcp-server is not installed/)
  t.match((await other.inject('/ready')).json(), { status: 'ready', reasons: [{ part: 'enable_mcp_server', reason: /@polyvac\/mcp-server is not installed/ }, { part: 'mcp_servers' }] })
})

test('the MCP server gets the times of tasks that the configuration names', async t => {
  const store = sqliteTaskStore({ path: ':memory:' })
  for (const [tasks, limits] of [[undefined, {}], [{ input_ttl: '1d' }, { taskInputMs: 86_400_000 }], [{ ttl: '30d', input_ttl: '5m', run_timeout: '2h' }, { taskTtlMs: 2_592_000_000, taskInputMs: 300_000, taskTimeoutMs: 7_200_000 }]] as const) {
    let given: unknown
    const load: LoadPlugin = async name => name === '@polyvac/mcp-server' ? { default: async (_app: unknown, options: unknown) => { given = options }, vacTools: () => ({}), vacResources: () => ({}) } as never : {} as never
    const { default: Fastify } = await import('fastify')
    const app = Fastify()
    t.teardown(() => app.close())
    const settings = toSettings({ vacs: ['a'], stream_interpreter: () => 'x', enable_mcp_server: true, ...tasks !== undefined && { tasks } }, undefined)
    const { polyvac: { vacs } } = (await host(t)).app
    await registerProtocols(app, { vacs, settings, authenticate: undefined, tasks: async () => ({ store, ttlMs: tasks !== undefined && 'ttl' in tasks ? 2_592_000_000 : undefined }) } as never, load)
    t.strictSame((given as { limits: unknown }).limits, limits)
  }
})

test('a host whose switches are all on starts, whatever is installed', async t => {
  const { app } = await host(t, () => ({ vacs: ['a'], stream_interpreter: () => 'x', tasks: { store: 'memory' }, enable_a2a_agent: true, enable_mcp_server: true, mcp_servers: [{ name: 'x', command: 'no-such-command' }] }))
  t.equal((await ask(app, 'a')).answer, 'x')
})

test('another host name that resolves to loopback is refused, unless it is the public one', async t => {
  const { app } = await host(t, () => ({ vacs: ['a'], stream_interpreter: () => 'x', public_url: 'https://agents.example.org/base' }))
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const status = async (name: string) => await new Promise((resolve, reject) => {
    request(`${url}/health`, { headers: { host: name }, agent: false }, response => { response.resume(); resolve(response.statusCode) }).on('error', reject).end()
  })
  for (const [name, wanted] of [['127.0.0.1:8080', 200], ['localhost', 200], ['[::1]:80', 200], ['agents.example.org', 200], ['evil.example', 403], ['127.0.0.1.evil.example:8080', 403]] as const) {
    t.equal(await status(name), wanted, name)
  }
})

test('an unknown route is answered with 404 and an ordinary error body', async t => {
  const { app } = await host(t, () => ({ vacs: ['a'], stream_interpreter: () => 'x' }))
  const response = await app.inject('/nothing')
  t.match([response.statusCode, response.json()], [404, { error: { code: 'NOT_FOUND', message: /GET \/nothing/, requestId: /./ } }])
})

test('health is always reported, readiness with its reasons', async t => {
  const { app } = await host(t)
  t.strictSame((await app.inject('/health')).json(), { status: 'healthy' })
  for (const folder of [...app.polyvac.assembly.folders.values()].flat()) await folder.ready
  t.strictSame((await app.inject('/ready')).json(), { status: 'ready', reasons: [] })
  await app.polyvac.drain(0)
  const ready = await app.inject('/ready')
  t.equal(ready.statusCode, 503)
  t.match(ready.json(), { status: 'not ready', reasons: [{ part: 'host' }] })
  const refused = await app.inject({ method: 'POST', url: '/vac/own', payload: { user_input: 'x' } })
  t.match([refused.statusCode, refused.headers['retry-after'], refused.json().error.code], [503, '1', 'SHUTTING_DOWN'])
  const { app: agent } = await host(t, () => ({ vacs: ['a'], stream_interpreter: () => 'x', enable_a2a_agent: true }))
  await agent.polyvac.drain(0)
  const rpc = await agent.inject({ method: 'POST', url: '/a2a/tasks/send', payload: { jsonrpc: '2.0', id: 7, method: 'tasks/send', params: {} } })
  t.match([rpc.statusCode, rpc.json()], [503, { jsonrpc: '2.0', id: 7, error: { code: -32603, data: { code: 'SHUTTING_DOWN' } } }], 'each wire in its own shape')
})

test('readiness shows problems of the configuration only to administrators', async t => {
  const problem = { file: '/x/vac_config.yaml', line: 3, column: 5, message: 'unknown key "agnet"', hint: 'did you mean "agent"?', text: 'source' }
  const { text, ...shown } = problem
  const authenticate: Authenticate = ({ headers: { authorization } }) =>
    authorization === undefined ? undefined : { owner: authorization, scopes: authorization === 'root' ? ['admin'] : [] }
  for (const [options, headers, isShown] of [
    [{}, {}, true], [{}, { 'x-forwarded-for': '192.0.2.1' }, false],
    [{ authenticate }, {}, false], [{ authenticate }, { authorization: 'ada' }, false], [{ authenticate }, { authorization: 'root' }, true]
  ] as const) {
    const { app } = await host(t, () => ({ vacs: ['a'], stream_interpreter: () => 'x', ...options }))
    app.polyvac.refuse(new ConfigError([problem]))
    const { status, reasons, configuration } = (await app.inject({ url: '/ready', headers })).json()
    t.match([status, reasons], ['ready', [{ part: 'configuration', reason: /was refused/ }]], 'everybody learns that a file was refused')
    t.strictSame(configuration, isShown ? [shown] : undefined)
  }
})

test('readiness names documents that are still being indexed', async t => {
  const { app } = await host(t)
  const first = await app.inject('/ready')
  if (first.statusCode === 503) t.match(first.json().reasons, [{ part: 'vac.tides', reason: /being indexed/ }])
  await ask(app, 'tides', 'spring tide')
  t.equal((await app.inject('/ready')).statusCode, 200)
})

test('a reload applies a valid configuration and keeps the old one where it is invalid', async t => {
  const { app, folder } = await host(t)
  const file = join(folder, 'vac_config.yaml')
  const before = app.polyvac.assembly.folders.get('tides')?.[0]
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace('own: { display_name: Own }', 'renamed: { display_name: Own }'))
  await app.polyvac.reload(await readConfig(file))
  t.strictSame(app.polyvac.vacs.names, ['renamed', 'tides'])
  t.equal(app.polyvac.assembly.folders.get('tides')?.[0], before, 'an unchanged folder is not opened anew')
  t.match(await ask(app, 'tides', 'When does a spring tide occur?'), { answer: /twice/ })

  await writeFile(file, text.replace('./docs', './nowhere'))
  await t.rejects(readConfig(file).then(config => app.polyvac.reload(config)), { message: /nowhere/ })
  t.strictSame(app.polyvac.vacs.names, ['renamed', 'tides'], 'the old one stays')
  t.match(await ask(app, 'tides', 'When does a spring tide occur?'), { answer: /twice/ })

  await copyFile(join(folder, 'interpreter.mjs'), join(folder, 'other.mjs'))
  await writeFile(join(folder, 'other.mjs'), 'export default () => "changed"')
  await writeFile(file, 'kind: vacConfig\nservice: { stream_interpreter: ./other.mjs, enable_a2a_agent: true }\nvac: { own: {} }\n')
  await app.polyvac.reload(await readConfig(file))
  t.equal((await ask(app, 'own')).answer, 'changed')
  t.equal(app.polyvac.assembly.folders.size, 0)
  await writeFile(join(folder, 'other.mjs'), 'export default () => "changed again"')
  await app.polyvac.reload(await readConfig(file))
  t.equal((await ask(app, 'own')).answer, 'changed again', 'a changed module is loaded anew')
})

test('an answer in progress survives a reload that removes its interpreter', async t => {
  const { app, folder } = await host(t, folder => ({ config: join(folder, 'vac_config.yaml'), async_stream: false }))
  // the interpreter runs in a worker thread: files are what it shares with the test
  await writeFile(join(folder, 'interpreter.mjs'), `import { existsSync, writeFileSync } from 'node:fs'
export default async function * () {
  yield "begun "
  writeFileSync(new URL('begun', import.meta.url), '')
  while (!existsSync(new URL('go-on', import.meta.url))) await new Promise(resolve => setTimeout(resolve, 10))
  yield "and ended"
}`)
  await app.polyvac.reload(await readConfig(join(folder, 'vac_config.yaml')))
  const running = ask(app, 'own')
  await until(() => existsSync(join(folder, 'begun')), 'the interpreter runs')
  await writeFile(join(folder, 'vac_config.yaml'), 'kind: vacConfig\nservice: { stream_interpreter: echo }\nvac: { own: {} }\n')
  await app.polyvac.reload(await readConfig(join(folder, 'vac_config.yaml')))
  t.equal((await ask(app, 'own', 'new')).answer, 'new')
  await writeFile(join(folder, 'go-on'), '')
  t.match(await running, { answer: 'begun and ended' })
})

test('an invalid request is refused with an ordinary error body', async t => {
  const { app } = await host(t, () => ({ vacs: ['a'], stream_interpreter: () => 'x' }))
  const url = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
  const raw = async (text: string): Promise<[number, string]> => await new Promise((resolve, reject) => {
    let got = ''
    connect(Number(url.port), '127.0.0.1').on('data', piece => { got += String(piece) }).on('error', reject)
      .on('close', () => { resolve([Number(got.split(' ')[1]), (JSON.parse(got.slice(got.indexOf('\r\n\r\n'))) as { error: { code: string } }).error.code]) }).write(text)
  })
  t.strictSame(await raw('nonsense\r\n\r\n'), [400, 'BAD_HTTP'])
  t.strictSame(await raw(`GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`), [431, 'BAD_HTTP'])
  t.strictSame(await raw('GET /health HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\nconnection: close\r\n\r\n'), [400, 'BAD_HTTP'])
  t.strictSame(await raw('GET /vac/%ff HTTP/1.1\r\nhost: LOCALHOST.\r\nconnection: close\r\n\r\n'), [400, 'BAD_URL'])
  t.match((await app.inject({ method: 'POST', url: `/vac/${'x'.repeat(500)}`, payload: { user_input: 'x' } })).json(), { error: { code: 'VAC_NOT_FOUND' } })
  t.match((await app.inject({ method: 'POST', url: `/vac/${'x'.repeat(5_000)}`, payload: { user_input: 'x' } })).json(), { error: { code: 'NOT_FOUND' } })
})

test('index_file names the file of the index of a folder, from the folder of the configuration', async t => {
  const { app, folder } = await host(t, folder => ({ config: join(folder, 'own_index.yaml') }), async folder => {
    await writeFile(join(folder, 'own_index.yaml'), 'kind: vacConfig\nvac:\n  tides: { memory: [{ docs: { vectorstore: folder, path: docs, index_file: kept/tides.db } }, { again: { vectorstore: folder, path: docs, index_file: ":memory:" } }] }\n')
  })
  t.match(await ask(app, 'tides', 'When does a spring tide occur?'), { answer: /twice each month/ })
  t.ok(existsSync(join(folder, 'kept/tides.db')))
  t.notOk(existsSync(join(folder, '.polyvac')))
})

test('the keys of a folder reach it, and /ready and the page say what is left out, without names of files', async t => {
  const { app } = await host(t, folder => ({ config: join(folder, 'limits.yaml') }), async folder => {
    await writeFile(join(folder, 'docs/secret.wpd'), '')
    await writeFile(join(folder, 'docs/dump.txt'), 'x'.repeat(60_000))
    await writeFile(join(folder, 'docs/gate.txt'), Buffer.from('K\xf3d 4711', 'latin1'))
    await writeFile(join(folder, 'limits.yaml'), 'kind: vacConfig\nvac:\n  tides: { memory: [{ docs: { vectorstore: folder, path: docs, index_file: ":memory:", max_file_bytes: 50000, max_files: 500, encoding: windows-1251 } }] }\n')
  })
  t.match(await ask(app, 'tides', 'What is 4711?'), { answer: /Kуd 4711/ })
  const text = /^2 files left out: 1 \.wpd, 1 longer than `max_file_bytes`; to read them: .*raise `max_file_bytes`$/
  const ready = await app.inject('/ready')
  t.match(ready.json(), { status: 'ready', left_out: [{ vac: 'tides', files: 2, text, reasons: [{ reason: '.wpd', files: 1, remedy: String }, {}] }] })
  t.notMatch(ready.body, /secret|dump/)
  t.match((await app.inject({ url: '/', headers: { accept: 'text/html' } })).body, /<code>tides<\/code>.*<br>2 files left out: 1 \.wpd/)
})

test('a failed start is reported with its remedy, and everything is closed', async t => {
  const wrong: Array<[HostOptions, { code?: string, message?: RegExp }]> = [
    [{ config: '/nowhere/vac_config.yaml' }, { code: 'CONFIG_INVALID', message: /no such file/ }],
    [{ vacs: ['a'] }, { code: 'VAC_WITHOUT_MEMORY', message: /"a" answers from documents but has none; add/ }],
    [{ vacs: { a: { memory: [{ d: { vectorstore: 'folder', path: '/nowhere' } }] } } }, { message: /\/nowhere/ }],
    [{ vacs: { a: { memory: [{ d: { vectorstore: './nothing.mjs' } }] } } }, { code: 'MEMORY_MODULE', message: /nothing\.mjs/ }],
    [{ vacs: { a: { memory: [{ d: { vectorstore: 'lancedb' } }] } } }, { code: 'MEMORY_MODULE', message: /known: folder/ }],
    [{ vacs: ['a'], stream_interpreter: './nothing.mjs' }, { code: 'INTERPRETER_MODULE', message: /nothing\.mjs/ }],
    [{ vacs: ['a'], stream_interpreter: () => 'x', vac_interpreter: './nothing.mjs' }, { code: 'INTERPRETER_MODULE' }],
    [{ vacs: ['a/b'], stream_interpreter: () => 'x' }, { code: 'INVALID_VAC_NAME' }],
    [{ vacs: ['a'], stream_interpreter: () => 'x', a2a_vac_names: ['b'] }, { code: 'UNKNOWN_A2A_VAC', message: /names b.*configured: a/ }]
  ]
  for (const [options, error] of wrong) t.match(await createHost(options).then(() => 'started', (err: unknown) => err), error, JSON.stringify(options))
})

test('the OpenAPI document has every schema once and matches the routes', async t => {
  const { app } = await host(t)
  const document = (await app.inject('/openapi.json')).json()
  t.match(document, { openapi: '3.1.0', paths: { '/vac/{vector_name}': { post: {} }, '/vac/streaming/{vector_name}': {}, '/openai/v1/chat/completions': {}, '/health': {} } })
  t.notOk(JSON.stringify(document).includes('"$id"'))
  t.notOk(JSON.stringify(document).includes('/a2a/'), 'what is off is not documented')
  const names = Object.keys(document.components.schemas)
  const used = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name)
  t.strictSame(new Set(used), new Set(names))
  t.ok(names.includes('VacQuery') && names.includes('Answer'))
  t.strictSame(openApiOf(app), document)
})

test('the OpenAPI document of all plugins is valid, and each of its operations has its own id', async t => {
  const { app } = await host(t, () => ({
    vacs: ['a', 'b'],
    stream_interpreter: () => 'x',
    tasks: { store: 'memory' },
    enable_a2a_agent: true,
    enable_mcp_server: true,
    enable_playground: true,
    mcp_servers: [{ name: 's', command: process.execPath, args: ['-e', '0'] }]
  }))
  const document = (await app.inject('/openapi.json')).json()
  t.strictSame(await new Validator().validate(structuredClone(document)), { valid: true })
  const ids = Object.values(document.paths as object).flatMap(operations => Object.values(operations as Record<string, { operationId?: string }>).map(({ operationId }) => operationId))
  t.ok(ids.length > 40)
  t.strictSame(ids.filter((id, i) => ids.indexOf(id) !== i || !/^[A-Za-z0-9_-]{1,64}$/.test(String(id)) || id === undefined), [])
})

test('each remedy that raises or sets something names a key of the configuration', async t => {
  const { remedies } = await import(fileURLToPath(new URL('../../../docs/remedies.mjs', import.meta.url))) as { remedies: Record<string, { remedy: string }> }
  const keys = new Set<string>()
  const collect = (schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null) return
    const { properties, ...rest } = schema as { properties?: Record<string, unknown> }
    for (const [key, child] of Object.entries(properties ?? {})) collect(keys.add(key) && child)
    for (const child of Object.values(rest)) collect(child)
  }
  collect(HostConfigFile)
  // besides the keys: a field of the body of /vac, and a variable of OpenTelemetry
  for (const other of ['stream_timeout', 'OTEL_SDK_DISABLED=true']) keys.add(other)
  const sources = await filesIn(fileURLToPath(new URL('../../..', import.meta.url)))
  const texts = [
    ...Object.entries(remedies).map(([code, { remedy }]) => [code, remedy] as const),
    ...await Promise.all(sources.map(async file => [file, (await readFile(file, 'utf8')).replace(/^\s*(?:\/\/|\/?\*).*$/gm, '')] as const))
  ]
  let found = 0
  for (const [where, text] of texts) {
    const verbs = where.endsWith('.ts') ? '[Rr]aise' : '[Rr]aise|[Ss]et'
    for (const [sentence, name = ''] of text.matchAll(new RegExp(String.raw`\b(?:${verbs}) \\?\x60([^\x60\\]+)\\?\x60`, 'g'))) {
      found++
      t.ok(keys.has(name.split(/[:.]/).pop()!.trim()) || keys.has(name.split(':')[0]!), `${where}: ${sentence}`)
    }
  }
  t.ok(found > 12, `${found} remedies`)
})

test('the schema file for editors is the schema of the checks', async t => {
  const file = JSON.parse(await readFile(fileURLToPath(new URL('../vac_config.schema.json', import.meta.url)), 'utf8'))
  t.strictSame(file, JSON.parse(JSON.stringify({ $schema: file.$schema, ...HostConfigFile })), 'node scripts/schema.mjs writes it')
})
