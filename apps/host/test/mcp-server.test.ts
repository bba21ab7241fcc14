import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { createGateway } from '@polyvac/mcp-gateway'
import { mcpServerPlugin } from '@polyvac/mcp-server'
import Fastify from 'fastify'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test, type Test } from 'tap'
import { createHost, type HostOptions } from '../src/index.js'
import { until } from '../../../test/fixtures/until.js'

const require = createRequire(import.meta.url)
const root = fileURLToPath(new URL('../../../', import.meta.url))
const published = (name: string, ...args: string[]) => ({
  name, command: process.execPath, args: [join(require.resolve(`@modelcontextprotocol/server-${name}/package.json`), '..', 'dist', 'index.js'), ...args], inherit_env: []
})
const modernServer = join(root, 'packages/mcp-gateway/test/fixtures/modern-server.mjs')
const me = { name: 'test', version: '1' }

interface Called { readonly content: Array<Record<string, unknown>>, readonly structuredContent?: Record<string, unknown>, readonly isError?: boolean }

/** What both published clients can do, whatever the revision they speak. */
interface Caller {
  names (): Promise<string[]>
  call (name: string, args: object, options?: { onprogress?: (progress: { progress: number, message?: string | undefined }) => void, signal?: AbortSignal }): Promise<Called>
  uris (): Promise<string[]>
  read (uri: string): Promise<string>
}

type Elicited = (message: string) => { action: 'accept' | 'decline', content?: Record<string, string> }

/** The clients of npm, one for each era. */
async function callers (t: Test, url: string, elicited?: Elicited): Promise<Record<'2025-11-25' | '2026-07-28', Caller>> {
  const capabilities = elicited === undefined ? {} : { elicitation: {}, sampling: {} }
  const legacy = new Client(me, { capabilities })
  const sampled = { role: 'assistant' as const, model: 'none', content: { type: 'text' as const, text: 'sampled' } }
  if (elicited !== undefined) {
    legacy.setRequestHandler(ElicitRequestSchema, ({ params }) => elicited(params.message))
    legacy.setRequestHandler(CreateMessageRequestSchema, () => sampled)
  }
  await legacy.connect(new StreamableHTTPClientTransport(new URL(url)) as never)
  t.teardown(() => legacy.close())
  const modern = new ModernClient(me, { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } })
  if (elicited !== undefined) {
    modern.setRequestHandler('elicitation/create', ({ params }) => elicited(params.message))
    modern.setRequestHandler('sampling/createMessage', () => sampled)
  }
  await modern.connect(new ModernHttp(new URL(url)))
  t.teardown(() => modern.close())
  const caller = (client: Client | ModernClient): Caller => ({
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args, options) => await (client instanceof ModernClient ? client.callTool({ name, arguments: args as never }, options as never) : client.callTool({ name, arguments: args as never }, undefined, options as never)) as unknown as Called,
    uris: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    read: async uri => String(((await client.readResource({ uri })).contents[0] as { text?: string }).text)
  })
  return { '2025-11-25': caller(legacy), '2026-07-28': caller(modern) }
}

async function served (t: Test, options: HostOptions): Promise<{ app: Awaited<ReturnType<typeof createHost>>, url: string }> {
  const app = await createHost({ enable_mcp_server: true, server: { logger: false }, ...options })
  t.teardown(() => app.close())
  return { app, url: `${await app.listen({ port: 0, host: '127.0.0.1' })}/mcp` }
}

test('published clients of both eras ask the documents, read the sources of the answer, and call a tool of another server', async t => {
  const { app, url } = await served(t, {
    vacs: { docs: { display_name: 'The documentation', memory: [{ docs: { vectorstore: 'folder', path: join(root, 'docs') } }] } },
    mcp_servers: [published('filesystem', join(root, 'docs'))],
    watchDocuments: false
  })
  t.strictSame(app.polyvac.protocols, ['@polyvac/mcp-server', '@polyvac/mcp-gateway'])
  for (const [revision, caller] of Object.entries(await callers(t, url))) {
    const names = await caller.names()
    t.ok(['list_available_vacs', 'get_vac_info', 'vac_query_docs', 'vac_stream_docs', 'vac_memory_search_docs', 'filesystem__list_directory'].every(name => names.includes(name)), `${revision}: ${names.join()}`)
    const said: string[] = []
    const { structuredContent, content } = await caller.call('vac_stream_docs', { query: 'What is a webhook?' }, { onprogress: ({ message = '' }) => { said.push(message) } })
    const { final_answer: answer, source_documents: sources } = structuredContent as { final_answer: string, source_documents: Array<{ metadata: { source: string } }> }
    t.equal(said.join(''), answer, `${revision}: the text came while it was made`)
    t.match(answer, /\[1\]/)
    t.match(String(content[0]?.text), /Sources:\n\[1\] [\w/-]+\.md:\d/)
    const link = content.find(({ type }) => type === 'resource_link')?.uri as string
    t.ok((await caller.read(link)).length > 100, `${revision}: ${link}`)
    t.ok(sources.some(({ metadata }) => link.endsWith(metadata.source)))
    t.ok((await caller.uris()).includes(link))
    t.match(await caller.call('vac_query_docs', { query: 'What is a webhook?' }), { structuredContent: { answer } })
    t.match(await caller.call('filesystem__list_directory', { path: join(root, 'docs') }), { content: [{ text: /start/ }] })
    t.match(await caller.call('vac_query_docs', { query: ' ' }), { isError: true, content: [{ text: /query/ }] }, `${revision}: a model reads what is wrong with its arguments`)
  }
})

test('a question of an interpreter and of another server reaches callers of both eras', async t => {
  const asked: string[] = []
  const { url } = await served(t, {
    vacs: ['hours'],
    stream_interpreter: (question, name, history) => history.length === 0 ? { input_required: 'Which branch?' } : `Open in ${question}`,
    mcp_servers: [published('everything'), { name: 'modern', command: process.execPath, args: [modernServer], inherit_env: [] }]
  })
  const all = await callers(t, url, message => {
    asked.push(message)
    return { action: 'accept', content: { 'Which branch?': { reply: 'Aarhus' }, 'Which city?': { city: 'Odense' } }[message] ?? { name: 'Ada' } }
  })
  for (const [revision, caller] of Object.entries(all)) {
    t.match(await caller.call('vac_query_hours', { query: 'When?' }), { structuredContent: { answer: 'Open in Aarhus' } }, revision)
    t.match(JSON.stringify(await caller.call('everything__trigger-elicitation-request', {})), /Ada/, `${revision}, and a server of 2025-11-25`)
    t.match(JSON.stringify(await caller.call('modern__city', {})), /Odense/, `${revision}, and a server of 2026-07-28`)
    t.match(JSON.stringify(await caller.call('everything__trigger-sampling-request', { prompt: 'Hello?', maxTokens: 10 })), /sampled/, `${revision} is asked for a sampled message`)
  }
  t.equal(asked.length, 6)
  for (const [revision, caller] of Object.entries(await callers(t, url))) {
    t.match(await caller.call('vac_query_hours', { query: 'When?' }), { content: [{ text: /^Which branch\?/ }] }, `${revision}: a caller that cannot be asked reads the question`)
  }
})

test('progress, failure and cancel of another server pass through in both eras', async t => {
  const { app, url } = await served(t, { vacs: ['a'], stream_interpreter: 'echo', mcp_servers: [published('everything')] })
  for (const [revision, caller] of Object.entries(await callers(t, url))) {
    const steps: number[] = []
    await caller.call('everything__trigger-long-running-operation', { duration: 0.3, steps: 3 }, { onprogress: ({ progress }) => { steps.push(progress) } })
    t.strictSame(steps, [1, 2, 3], revision)
    t.match(await caller.call('everything__get-sum', { a: 'x' }), { isError: true })
    const stop = new AbortController()
    const cancelled = caller.call('everything__trigger-long-running-operation', { duration: 30, steps: 300 }, { signal: stop.signal, onprogress: () => { stop.abort(new Error('enough')) } })
    await t.rejects(cancelled)
    const everything = app.polyvac.gateway?.get('everything')
    await until(() => everything?.status().callsInFlight === 0, `${revision}: the call has ended at the server`)
  }
})

test('with `tool_search` the tools of other servers are found, and those of VACs stay in the list', async t => {
  const { url } = await served(t, { vacs: ['a'], stream_interpreter: 'echo', mcp_servers: [published('filesystem', join(root, 'docs'))], mcp_server: { tool_search: 5 } })
  for (const [era, { names, call }] of Object.entries(await callers(t, url))) {
    t.strictSame(await names(), ['search_tools', 'call_tool', 'list_available_vacs', 'get_vac_info', 'vac_query_a', 'vac_stream_a'], era)
    const { content: [found] } = await call('search_tools', { query: 'list the files of a directory' })
    t.match(found, { text: /"filesystem__list_directory"/ })
    t.match(await call('call_tool', { name: 'filesystem__list_directory', arguments: { path: join(root, 'docs') } }), { content: [{ text: /\[DIR\] guides/ }] })
  }
  await t.rejects(createHost({ vacs: ['a'], mcp_server: { tool_search: 'on' } as never }), { message: /service\.mcp_server/ })
})

test('a gateway without VACs is served at /mcp, also in another app', async t => {
  const gateway = createGateway({ servers: [published('everything')] })
  const app = Fastify({ forceCloseConnections: true })
  await app.register(mcpServerPlugin, { sources: [gateway.toolSource()] })
  app.addHook('preClose', () => gateway.close())
  t.teardown(() => app.close())
  gateway.start()
  const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/mcp`
  for (const [revision, caller] of Object.entries(await callers(t, url))) {
    t.ok((await caller.names()).every(name => name.startsWith('everything__')), revision)
    t.match(await caller.call('everything__echo', { message: 'hi' }), { content: [{ text: 'Echo: hi' }] })
    t.match(await caller.read((await caller.uris())[0]!), /./)
  }
})

test('a reload changes the tools, and callers are notified', async t => {
  const { app, url } = await served(t, { vacs: ['a'], stream_interpreter: 'echo' })
  const { '2025-11-25': caller } = await callers(t, url)
  await app.polyvac.vacs.replace({ vacs: ['b'], streamInterpreter: () => 'new' })
  t.ok((await caller.names()).includes('vac_query_b'))
  t.match(await caller.call('vac_query_b', { query: 'x' }), { structuredContent: { answer: 'new' } })
})

test('callers of /mcp are authenticated, like those of every protocol', async t => {
  const { app } = await served(t, { vacs: ['a'], stream_interpreter: 'echo', authenticate: ({ headers }) => headers.authorization === undefined ? undefined : { owner: 'ada' } })
  const post = async (headers: object) => await app.inject({ method: 'POST', url: '/mcp', headers: { ...headers, accept: 'application/json, text/event-stream' }, payload: { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: me } } })
  t.match(await post({}), { statusCode: 401, headers: { 'www-authenticate': 'Bearer' } })
  t.match((await post({ authorization: 'x' })).json(), { result: { instructions: /vac_query_<vac>/ } })
})

test('a host that authenticates publishes where clients get a token', async t => {
  const protectedResource = { authorizationServers: ['https://login.example.com'] }
  const { app } = await served(t, { vacs: ['a'], stream_interpreter: 'echo', authenticate: () => undefined, protectedResource })
  const { statusCode, headers } = await app.inject({ method: 'POST', url: '/mcp', headers: { host: 'localhost', accept: 'application/json, text/event-stream' }, payload: {} })
  t.equal(statusCode, 401)
  const [, metadata] = /resource_metadata="([^"]+)"/.exec(String(headers['www-authenticate'])) ?? []
  t.match((await app.inject({ url: new URL(metadata!).pathname, headers: { host: 'localhost' } })).json(), { resource: 'http://localhost/mcp', authorization_servers: ['https://login.example.com'] })
})

const tasksExtension = { extensions: { 'io.modelcontextprotocol/tasks': {} } }

/** One request of revision 2026-07-28 of a client that knows tasks, which the published one does not. */
async function ofTasks (app: Awaited<ReturnType<typeof createHost>>, method: string, params: Record<string, unknown>, owner: string): Promise<Record<string, any>> {
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, ...tasksExtension } }
  const headers = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': String(params.name ?? params.taskId), authorization: owner }
  const { result, error } = (await app.inject({ method: 'POST', url: '/mcp', headers, payload: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } } })).json()
  if (error !== undefined) throw Object.assign(new Error(error.message), { code: error.code })
  return result
}

async function untilStatus (app: Awaited<ReturnType<typeof createHost>>, taskId: string, owner: string, ...wanted: string[]): Promise<Record<string, any>> {
  return await until(async () => {
    const task = await ofTasks(app, 'tasks/get', { taskId }, owner)
    return wanted.includes(task.status) && task
  }, `the task is ${wanted.join(' or ')}`)
}

const byHeader: HostOptions['authenticate'] = ({ headers }) => headers.authorization === undefined ? undefined : { owner: headers.authorization }

test('a VAC runs as a task for callers of both eras, besides tasks of A2A in one store, which do not list it', async t => {
  const { app, url } = await served(t, {
    vacs: ['a'],
    enable_a2a_agent: true,
    authenticate: byHeader,
    stream_interpreter: async (question, name, history) => question === 'ask' ? { input_required: 'Which?' } : `${question} and ${history.length}`
  })
  const client = new Client(me, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { reply: 'this' } }))
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization: 'ada' } } }))
  t.teardown(() => client.close())
  const { tools } = await client.listTools()
  t.strictSame(tools.map(({ name, execution }) => [name, execution?.taskSupport]), [['list_available_vacs', undefined], ['get_vac_info', undefined], ['vac_query_a', 'optional'], ['vac_stream_a', 'optional']])
  for (const [name, query, answer] of [['vac_query_a', 'one', 'one and 0'], ['vac_stream_a', 'two', 'two and 0'], ['vac_query_a', 'ask', 'this and 2']] as const) {
    const types: string[] = []
    let last: unknown
    for await (const message of client.experimental.tasks.callToolStream({ name, arguments: { query } }, undefined, { task: {} })) {
      types.push(message.type)
      last = message
    }
    t.equal(types[0], 'taskCreated', name)
    t.match(last, { type: 'result', result: { content: [{ text: answer }] } })
  }
  const { tasks: listed } = await client.experimental.tasks.listTasks()
  t.equal(listed.length, 3)

  const created = await ofTasks(app, 'tools/call', { name: 'vac_stream_a', arguments: { query: 'three' } }, 'ada')
  t.match(created, { resultType: 'task', ttlMs: 3_600_000 })
  t.match(await untilStatus(app, created.taskId, 'ada', 'completed'), { result: { content: [{ text: 'three and 0' }] } })
  const { taskId } = await ofTasks(app, 'tools/call', { name: 'vac_query_a', arguments: { query: 'ask' } }, 'ada')
  const { inputRequests } = await untilStatus(app, taskId, 'ada', 'input_required')
  const [key] = Object.keys(inputRequests)
  await t.rejects(ofTasks(app, 'tasks/update', { taskId, inputResponses: {} }, 'bob'), { code: -32602 }, 'it is not there for others')
  await ofTasks(app, 'tasks/update', { taskId, inputResponses: { [key!]: { action: 'accept', content: { reply: 'that' } } } }, 'ada')
  t.match(await untilStatus(app, taskId, 'ada', 'completed'), { result: { content: [{ text: 'that and 2' }] } })

  const a2a = async (method: string, params: object) => (await app.inject({ method: 'POST', url: `/a2a/${method}`, headers: { authorization: 'ada' }, payload: { jsonrpc: '2.0', id: 1, method, params } })).json()
  t.match(await a2a('tasks/get', { taskId }), { error: { message: /no task|not found/i } })
  const sent = await a2a('tasks/send', { skillName: 'vac_query_a', input: { query: 'four' } })
  t.match(sent, { result: { state: 'completed', artifacts: [{ content: { answer: 'four and 0' } }] } })
  t.strictSame((await a2a('tasks/list', {})).result.tasks.map((task: { taskId: string }) => task.taskId), [sent.result.taskId])
  await t.rejects(ofTasks(app, 'tasks/get', { taskId: sent.result.taskId }, 'ada'), { code: -32602 }, 'nor is one of A2A a task of MCP')
})

test('a task survives its host: the next one runs it again, and leaves it to others where its VAC is gone', async t => {
  const folder = t.testdir()
  const tasks = { store: 'sqlite', path: join(folder, 'tasks.db'), ttl: '2h' } as const
  const hang: HostOptions['stream_interpreter'] = async (_question, _name, _history, { signal }) => {
    await new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }) })
    return 'late'
  }
  const first = await served(t, { vacs: ['stays', 'goes'], tasks, authenticate: byHeader, stream_interpreter: hang })
  const begin = async (name: string): Promise<string> => (await ofTasks(first.app, 'tools/call', { name, arguments: { query: 'x' } }, 'ada')).taskId
  const [stays, goes] = [await begin('vac_query_stays'), await begin('vac_query_goes')]
  t.match(await ofTasks(first.app, 'tasks/get', { taskId: stays }, 'ada'), { status: 'working', ttlMs: 7_200_000 })
  await first.app.close()
  const second = await served(t, { vacs: ['stays'], tasks, authenticate: byHeader, enable_a2a_agent: true, stream_interpreter: () => 'again' })
  t.match(await untilStatus(second.app, stays, 'ada', 'completed', 'failed'), { status: 'completed', result: { content: [{ text: 'again' }] } })
  t.match(await ofTasks(second.app, 'tasks/get', { taskId: goes }, 'ada'), { status: 'working' })
  await second.app.close()
  const third = await served(t, { vacs: ['goes'], tasks, authenticate: byHeader, stream_interpreter: () => 'here' })
  t.match(await untilStatus(third.app, goes, 'ada', 'completed', 'failed'), { status: 'completed', result: { content: [{ text: 'here' }] } })
})

test('without a task store the MCP server has no tasks; a configured store that fails is an error', async t => {
  const folder = t.testdir({ 'vac_config.yaml': 'kind: vacConfig\napiVersion: v1\nservice: { stream_interpreter: echo, enable_mcp_server: true }\nvac: { a: {} }\n', '.polyvac': 'a file where a folder should be' })
  const logged: string[] = []
  const config = join(folder, 'vac_config.yaml')
  const app = await createHost({ config, server: { logger: { level: 'warn', stream: { write: (line: string) => { logged.push(line) } } } } })
  t.teardown(() => app.close())
  t.match(logged.join(''), /answers cannot outlive.*cannot run as tasks/s)
  t.match(await ofTasks(app, 'tools/call', { name: 'vac_query_a', arguments: { query: 'x' } }, 'ada'), { resultType: 'complete' })
  await t.rejects(createHost({ config, tasks: { store: 'sqlite' }, server: { logger: false } }), { code: 'TASKS_UNAVAILABLE' })
  await t.rejects(createHost({ config, enable_a2a_agent: true, server: { logger: false } }), { code: 'TASKS_UNAVAILABLE' })
})

test('the log line of a call names its request, and that of a task the task and its attempt', async t => {
  const lines: Array<Record<string, unknown>> = []
  const logger = { level: 'info', stream: { write (line: string) { lines.push(JSON.parse(line)) } } }
  const app = await createHost({
    vacs: ['demo'], stream_interpreter: () => 'answer', enable_mcp_server: true, mcp_servers: [published('everything')], tasks: { store: 'memory' }, server: { logger }
  })
  t.teardown(() => app.close())
  await app.ready()
  await app.polyvac.gateway!.settled()
  const post = async (method: string, params: object, session: string = '') => await app.inject({
    method: 'POST',
    url: '/mcp',
    payload: { jsonrpc: '2.0', id: 1, method, params },
    headers: { accept: 'application/json, text/event-stream', ...session !== '' && { 'mcp-session-id': session } }
  })
  const { headers } = await post('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: me })
  const session = String(headers['mcp-session-id'])
  await post('tools/call', { name: 'vac_query_demo', arguments: { query: 'x' } }, session)
  await post('tools/call', { name: 'everything__echo', arguments: { message: 'x' } }, session)
  const { result: { task } } = (await post('tools/call', { name: 'vac_query_demo', arguments: { query: 'x' }, task: {} }, session)).json()
  const calls = (): typeof lines => lines.filter(({ msg }) => msg === 'tool call')
  await until(() => calls().length === 3, 'each call has a line')
  t.match(calls(), [
    { vac: 'demo', protocol: 'mcp', reqId: String },
    { server: 'everything', tool: 'echo', protocol: 'mcp-gateway', reqId: String },
    { vac: 'demo', protocol: 'mcp', taskId: task.taskId, attempt: 0 }
  ])
})

test('with `process: session` each MCP session keeps the state of its server apart, until it ends', async t => {
  const { url } = await served(t, {
    vacs: { a: { display_name: 'A' } },
    stream_interpreter: 'echo',
    mcp_servers: [{ name: 'own', command: process.execPath, args: [join(root, 'packages/mcp-gateway/test/fixtures/bad-server.mjs')], inherit_env: [], process: 'session' }]
  } as HostOptions)
  const connect = async (): Promise<{ transport: StreamableHTTPClientTransport, pid: () => Promise<number> }> => {
    const client = new Client(me)
    const transport = new StreamableHTTPClientTransport(new URL(url))
    await client.connect(transport as never)
    t.teardown(() => client.close())
    return { transport, pid: async () => Number((await client.callTool({ name: 'own__pid', arguments: {} }) as unknown as Called).content[0]!.text) }
  }
  const [first, second] = [await connect(), await connect()]
  const pids = [await first.pid(), await second.pid(), await first.pid()]
  t.equal(pids[0], pids[2])
  t.not(pids[0], pids[1])
  await first.transport.terminateSession()
  await until(() => { try { return !process.kill(pids[0]!, 0) } catch { return true } }, 'the process of the session has ended')
  t.equal(await second.pid(), pids[1])
})
