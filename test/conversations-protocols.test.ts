import { a2aPlugin } from '@polyvac/a2a'
import { createVacs, type Interpreter, type Principal } from '@polyvac/core'
import { mcpServerPlugin, vacTools } from '@polyvac/mcp-server'
import { createRuns } from '@polyvac/runs'
import { ownerKey } from '@polyvac/tasks'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import Fastify, { type FastifyInstance, type LightMyRequestResponse } from 'fastify'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type Test } from 'tap'
import { until } from './fixtures/until.js'
import { forms, PROBES, VAC_PROTOCOLS, type Ask as AskForm, type Probe } from './probes/index.mjs'
import './fixtures/timeout.mjs'

type Json = Record<string, any>

/** Answers with the questions and answers that it got as history. */
const historian: Interpreter = (question, _vac, history) => `${history.map(({ content }) => content).join(' / ')} > ${question}`

interface Service { readonly app: FastifyInstance, readonly tasks: ReturnType<typeof sqliteTaskStore> }

interface Served { readonly agent?: Interpreter, readonly hasRuns?: boolean, readonly keeps?: boolean, readonly authenticated?: boolean, readonly bodyLimit?: number }

async function serve (t: Test, { agent = historian, hasRuns = true, keeps = true, authenticated = false, bodyLimit }: Served = {}): Promise<Service> {
  const vacs = createVacs({ vacs: ['docs', 'other'], streamInterpreter: agent })
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  const app = Fastify()
  const authenticate = async ({ headers }: { headers: Json }): Promise<Principal> => ({ owner: String(headers['x-user'] ?? 'alice') })
  const callers = authenticated ? { authenticate } : {}
  const runs = createRuns({ vacs, tasks, conversations: keeps })
  app.addHook('onClose', async () => { await tasks.close() })
  await app.register(vacPlugin, { vacs, protocols: VAC_PROTOCOLS, runs, ...callers })
  await app.register(a2aPlugin, { vacs, tasks, conversations: keeps, bodyLimit, ...callers })
  await app.register(mcpServerPlugin, { sources: [vacTools(vacs, hasRuns ? { runs } : {})], tasks, ...callers })
  t.teardown(() => app.close())
  await app.ready()
  return { app, tasks }
}

/** The same request in a conversation. */
const IN_CONVERSATION: Readonly<Record<string, (body: Json, id: string) => Json>> = {
  direct: (body, id) => ({ ...body, conversation_id: id }),
  openai: (body, id) => ({ ...body, conversation_id: id }),
  responses: (body, id) => ({ ...body, conversation: id }),
  ai_sdk: (body, id) => ({ ...body, id }),
  ag_ui: (body, id) => ({ ...body, threadId: id }),
  a2a ({ params, ...body }, id) {
    const given = params ?? body
    const named = given.message === undefined ? { ...given, contextId: id } : { ...given, message: { ...given.message, contextId: id } }
    return params === undefined ? named : { ...body, params: named }
  },
  mcp: ({ params, ...body }, id) => ({ ...body, params: { ...params, arguments: { ...params.arguments, conversation_id: id } } })
}

type Ask = (app: FastifyInstance, question: string, id: string, headers?: Record<string, string>) => Promise<LightMyRequestResponse>
interface Form { readonly what: string, readonly name: string, readonly probe: Probe, readonly ask: Ask }

const CALLS: readonly Form[] = Object.entries(PROBES).flatMap(([name, probe]) => forms({ [name]: probe } as never).map(([what, form]) => ({
  what,
  name,
  probe,
  ask: async (app: FastifyInstance, question: string, id: string, headers: Record<string, string> = {}) => {
    const request = form(question, 'docs')
    return await app.inject({ method: 'POST', url: request.path, payload: IN_CONVERSATION[name]!(request.body as Json, id), headers: { ...request.headers, ...headers } })
  }
})))

/** A call of MCP that its client makes a task: the answer is the result that the task has at its end. */
async function callAsTask (app: FastifyInstance, form: AskForm, question: string, id: string, own: Record<string, string> = {}): Promise<LightMyRequestResponse> {
  const { path: url, body, headers: common } = form(question, 'docs')
  const payload = IN_CONVERSATION.mcp!(body as Json, id)
  const _meta = payload.params._meta = { ...payload.params._meta, 'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } } }
  const created = await app.inject({ method: 'POST', url, payload, headers: { ...common, ...own } })
  const { taskId } = created.json().result ?? {}
  if (taskId === undefined) return created
  return await until(async () => {
    const got = await app.inject({ method: 'POST', url, payload: { jsonrpc: '2.0', id: 2, method: 'tasks/get', params: { taskId, _meta } }, headers: { ...common, 'mcp-method': 'tasks/get', 'mcp-name': taskId, ...own } })
    const { result } = got.json()
    return result?.status === 'working' ? undefined : Object.assign(got, { body: JSON.stringify({ jsonrpc: '2.0', id: 1, result: result.result, error: result.error }) })
  }, 'the task has ended')
}

const TASKS: readonly Form[] = forms({ mcp: PROBES.mcp } as never).map(([what, form]) => ({
  what: `${what} as a task`, name: 'mcp', probe: PROBES.mcp, ask: async (app, question, id, headers) => await callAsTask(app, form, question, id, headers)
}))

const FORMS = [...CALLS, ...TASKS]

const read = async (app: FastifyInstance, id: string, headers: Record<string, string> = {}, vac = 'docs'): Promise<LightMyRequestResponse> =>
  await app.inject({ url: `/vac/${vac}/conversations/${encodeURIComponent(id)}`, headers })
/** The texts of an answer, in whatever frames. */
const says = ({ body }: LightMyRequestResponse, probe: Probe): string => probe.textOf(body) ?? ''

/** A conversation that the service has begun. */
async function begin (app: FastifyInstance, question: string, headers: Record<string, string> = {}): Promise<string> {
  const { task } = (await app.inject({ method: 'POST', url: '/a2a/v1/message:send', headers: { 'a2a-version': '1.0', ...headers }, payload: { message: { messageId: question, role: 'ROLE_USER', metadata: { skillId: 'vac_query_docs' }, parts: [{ text: question }] } } })).json()
  return task.contextId as string
}

test('a conversation begun over one protocol goes on over each other one, and a third reads it', async t => {
  const { app } = await serve(t)
  for (const first of FORMS) {
    const id = `own ${first.what}`
    t.match(says(await first.ask(app, 'one', id), first.probe), / > one/, `${first.what} begins`)
    let turns = 1
    for (const next of FORMS) {
      if (next.name === first.name && next.what === first.what) continue
      const before = (await read(app, id)).json().turns as Json[]
      t.equal(before.length, turns, `${first.what}, then ${next.what}`)
      const answer = says(await next.ask(app, `q${turns}`, id), next.probe)
      t.ok(answer.includes('one /  > one') && answer.includes(`q${turns}`), `${next.what} after ${first.what}: ${answer.slice(0, 80)}`)
      turns++
      if (turns > 6) break
    }
    t.match((await read(app, id)).json(), { title: 'one', turns: [{ question: 'one', answer: ' > one', state: 'completed' }, { question: 'q1', state: 'completed' }] })
  }
})

test('an id of the service goes on over each protocol, and each names it', async t => {
  const { app } = await serve(t)
  for (const { what, name, ask, probe } of FORMS) {
    const id = await begin(app, 'one')
    t.match(id, /^conv_[\w-]{22}$/)
    const response = await ask(app, 'two', id)
    t.match(says(response, probe), /one \/ {2}> one > two/, what)
    if (name !== 'a2a' || what.includes('tasks/')) t.ok(response.body.includes(id) || response.headers['x-conversation-id'] === id, `${what} names it`)
    t.match((await read(app, id)).json(), { turn_count: 2, turns: [{ question: 'one' }, { question: 'two' }] })
  }
})

test('the same id of a client is another conversation for each owner', async t => {
  const { app } = await serve(t, { authenticated: true })
  for (const { what, ask, probe } of FORMS) {
    await ask(app, 'secret', what, { 'x-user': 'alice' })
    t.notMatch(says(await ask(app, 'two', what, { 'x-user': 'bob' }), probe), /secret/, what)
    t.match((await read(app, what, { 'x-user': 'alice' })).json(), { turns: [{ question: 'secret' }] })
    t.match((await read(app, what, { 'x-user': 'bob' })).json(), { turn_count: 1, turns: [{ question: 'two' }] })
  }
})

test('an id of the service that somebody else has is refused like one that does not exist', async t => {
  const { app } = await serve(t, { authenticated: true })
  const foreign = await begin(app, 'secret', { 'x-user': 'alice' })
  const unknown = `conv_${'A'.repeat(22)}`
  const same = (body: string): string => body.replace(/"requestId":"[^"]+"/g, '').replaceAll(foreign, '').replaceAll(unknown, '')
  for (const { what, ask, probe } of FORMS) {
    const [one, two] = [await ask(app, 'two', foreign, { 'x-user': 'bob' }), await ask(app, 'two', unknown, { 'x-user': 'bob' })]
    t.equal(one.statusCode, two.statusCode, what)
    t.equal(same(one.body), same(two.body), what)
    t.ok(probe.errorOf(one.body), `${what}: ${one.body.slice(0, 200)}`)
    t.match(one.body, /conversation/)
    t.notMatch(one.body, /secret/)
  }
  t.match((await read(app, foreign, { 'x-user': 'alice' })).json(), { turn_count: 1 })
})

test('unknown callers on other machines share nothing by an id that they made, and go on with one of the service', async t => {
  const { app } = await serve(t)
  const remote = { 'x-forwarded-for': '203.0.113.7' }
  for (const { what, name, ask, probe } of FORMS) {
    await ask(app, 'secret', 'chat-1', remote)
    const second = await ask(app, 'two', 'chat-1', remote)
    t.notMatch(says(second, probe), /secret/, what)
    t.equal((await read(app, 'chat-1', remote)).statusCode, 404)
    if (name === 'a2a' && !what.includes('tasks/')) t.match(second.body, /"contextId":"chat-1"/, `${what}: clients require their id`)
    const id = await begin(app, 'one', remote)
    t.match(says(await ask(app, 'two', id, remote), probe), /one \/ {2}> one > two/, `${what} of the service`)
    t.match((await read(app, id, remote)).json(), { turn_count: 2 })
  }
})

test('a history next to an id is refused as ambiguous', async t => {
  const { app } = await serve(t)
  const history = [{ role: 'user', content: 'a' }, { role: 'assistant', content: 'b' }]
  const input = { query: 'x', chat_history: history }
  const rpc = { jsonrpc: '2.0', id: 1 }
  const mcp = PROBES.mcp.ask.vac_query!('x', 'docs')
  for (const [url, payload, headers] of [
    ['/vac/docs', { user_input: 'x', chat_history: history, conversation_id: 'c' }, {}],
    ['/a2a/tasks/send', { ...rpc, method: 'tasks/send', params: { skillName: 'vac_query_docs', input, contextId: 'c' } }, {}],
    ['/a2a', { ...rpc, method: 'SendMessage', params: { message: { messageId: 'm', role: 'ROLE_USER', contextId: 'c', parts: [{ data: { skillName: 'vac_query_docs', input } }] } } }, { 'a2a-version': '1.0' }],
    ['/mcp', { ...mcp.body as Json, params: { ...(mcp.body as Json).params, arguments: { ...input, conversation_id: 'c' } } }, mcp.headers]
  ] as const) {
    const response = await app.inject({ method: 'POST', url, payload, headers: headers as Record<string, string> })
    t.match(response.body, /ambiguous/, url)
    t.notOk(response.statusCode >= 500)
  }
  t.equal((await read(app, 'c')).statusCode, 404, 'nothing is kept')
})

test('a question that brings its history begins a conversation with it', async t => {
  const { app } = await serve(t)
  const { headers, body } = await app.inject({
    method: 'POST',
    url: '/a2a/tasks/send',
    payload: { jsonrpc: '2.0', id: 1, method: 'tasks/send', params: { skillName: 'vac_query_docs', input: { query: 'x', chat_history: [{ human: 'a' }, { ai: 'b' }] } } }
  })
  t.match(body, /a \/ b > x/)
  t.match((await read(app, String(headers['x-conversation-id']))).json(), { turns: [{ question: 'a', answer: 'b' }, { question: 'x' }] })
})

test('a task that asks back has a turn for each question, with the steps that no reader of the task asked for', async t => {
  const agent: Interpreter = async function * (question) {
    yield { reasoning: 'Let me see.' }
    if (question === 'fail') throw Object.assign(new Error('the source is away'), { code: 'SOURCE_AWAY', statusCode: 502, expose: true })
    if (question === 'ask') return { answer: 'Which one?', input_required: 'Which one?' }
    return { answer: `It is ${question}.`, source_documents: [{ page_content: 'p', metadata: {} }] }
  }
  const { app } = await serve(t, { agent })
  const send = async (params: Json, method = 'tasks/send'): Promise<LightMyRequestResponse> => await app.inject({ method: 'POST', url: `/a2a/${method}`, payload: { jsonrpc: '2.0', id: 1, method, params } })
  const asked = await send({ skillName: 'vac_query_docs', input: { query: 'ask' } })
  const id = String(asked.headers['x-conversation-id'])
  await send({ taskId: asked.json().result.taskId, input: { query: 'this' } })
  const streamed = await send({ skillName: 'vac_stream_docs', input: { query: 'that' }, contextId: id }, 'tasks/sendSubscribe')
  t.notMatch(asked.body + streamed.body, /Let me see/)
  await send({ skillName: 'vac_query_docs', input: { query: 'fail' }, contextId: id })
  t.match((await read(app, id)).json(), {
    turn_count: 4,
    turns: [
      { question: 'ask', answer: 'Which one?', state: 'input_required' },
      { question: 'this', answer: 'It is this.', state: 'completed', steps: [{ reasoning: 'Let me see.' }], source_documents: [{ page_content: 'p' }] },
      { question: 'that', answer: 'It is that.', state: 'completed', steps: [{ reasoning: 'Let me see.' }] },
      { question: 'fail', state: 'failed', error: { code: 'SOURCE_AWAY' } }
    ]
  })
})

test('the files of a message are kept in its turn, exported, imported and deleted with it; one that is too large is named', async t => {
  const agent: Interpreter = async function * (question) {
    yield { file: { name: 'answer.txt', media_type: 'text/plain', bytes: 'QQ==' } }
    return question === 'ask' ? { answer: 'Which one?', input_required: 'Which one?' } : { answer: 'Thanks.' }
  }
  const { app, tasks } = await serve(t, { agent, bodyLimit: 8 * 1024 * 1024 })
  const send = async (text: string, contextId: string, parts: readonly Json[], taskId?: string): Promise<Json> => {
    const response = await app.inject({ method: 'POST', url: '/a2a/v1/message:send', headers: { 'a2a-version': '1.0' }, payload: { message: { messageId: `${text} ${contextId}`, role: 'ROLE_USER', contextId, taskId, metadata: { skillId: 'vac_query_docs' }, parts: [{ text }, ...parts] } } })
    t.equal(response.statusCode, 200, response.body.slice(0, 300))
    return response.json().task
  }
  const small = { raw: 'YQ==', filename: 'a.txt', mediaType: 'text/plain' }
  const { id: taskId } = await send('ask', 'c', [small, { url: 'https://example.com/b.png', mediaType: 'image/png' }])
  await send('this', 'c', [small], taskId)
  await send('large', 'c', [{ raw: 'A'.repeat(5 * 1024 * 1024), filename: 'large.bin' }, small])
  const first = { name: 'a.txt', media_type: 'text/plain', bytes: 'YQ==', role: 'user' }
  const last = { name: 'answer.txt', media_type: 'text/plain', bytes: 'QQ==' }
  const kept = [
    [first, { name: 'file', media_type: 'image/png', url: 'https://example.com/b.png', role: 'user' }, last],
    [first, last],
    [{ name: 'large.bin', media_type: 'application/octet-stream', role: 'user' }, first, last]
  ]
  const filesOf = async (id: string): Promise<Json[][]> => (await read(app, id)).json().turns.map(({ files }: Json) => files)
  t.strictSame(await filesOf('c'), kept)
  const exported = (await app.inject('/vac/docs/conversations/c/export')).json()
  t.equal((await app.inject({ method: 'DELETE', url: '/vac/docs/conversations/c' })).statusCode, 204)
  t.equal((await read(app, 'c')).statusCode, 404)
  t.equal((await tasks.list(ownerKey(undefined))).tasks.length, 0)
  const imported = await app.inject({ method: 'POST', url: '/vac/docs/conversations', payload: exported })
  t.match(imported.json(), { id: 'c', turn_count: 3 })
  t.strictSame(await filesOf('c'), kept)
})

test('a context has a separate conversation for each VAC', async t => {
  const { app } = await serve(t)
  const id = await begin(app, 'one')
  const send = async (vac: string, query: string): Promise<string> => (await app.inject({ method: 'POST', url: '/a2a/tasks/send', payload: { jsonrpc: '2.0', id: 1, method: 'tasks/send', params: { skillName: `vac_query_${vac}`, input: { query }, contextId: id } } })).json().result.artifacts[0].content.answer
  t.equal(await send('other', 'x'), ' > x')
  t.equal(await send('other', 'y'), 'x /  > x > y')
  t.equal(await send('docs', 'two'), 'one /  > one > two')
  t.match((await read(app, id, {}, 'other')).json(), { turn_count: 2 })
})

test('the tasks of a context of an earlier version become its conversation', async t => {
  const { app, tasks } = await serve(t)
  // a version without conversations has written them
  await tasks.create(ownerKey(undefined), { skill: 'vac_query_docs', input: { query: 'old' }, contextId: 'early', metadata: { requestId: 'r', inContext: true, caller: {} }, message: { id: 'm', parts: [{ type: 'text', text: 'old' }] } })
  await until(async () => (await tasks.list(ownerKey(undefined), { states: ['completed'] })).tasks.length === 1, 'the task has ended')
  for (const [i, { ask, probe }] of FORMS.filter(({ name }) => name === 'a2a').slice(0, 2).entries()) {
    t.match(says(await ask(app, `new ${i}`, 'early'), probe), /old \/ {2}> old/)
  }
  t.match((await read(app, 'early')).json(), { turns: [{ question: 'old', answer: ' > old' }, { question: 'new 0' }, { question: 'new 1' }] })
})

test('without conversations a context of A2A has the turns of its tasks, and other protocols refuse an id that they need not have', async t => {
  const { app } = await serve(t, { keeps: false })
  for (const { what, name, ask, probe } of FORMS) {
    const response = await ask(app, 'two', 'c')
    // each request of a chat has its id
    if (['a2a', 'ai_sdk', 'ag_ui'].includes(name)) t.match(says(response, probe), /> two/, what)
    else t.match(response.body, /CONVERSATIONS_NOT_KEPT|conversations are not kept/, what)
  }
  const id = await begin(app, 'one')
  const [form] = FORMS.filter(({ name }) => name === 'a2a')
  t.match(says(await form!.ask(app, 'two', id), form!.probe), /one \/ {2}> one > two/)
  t.equal((await read(app, id)).statusCode, 501)
})

test('the tools of MCP refuse an id where the option `runs` is missing', async t => {
  const { app } = await serve(t, { hasRuns: false })
  const { path, body, headers } = PROBES.mcp.ask.vac_query!('x', 'docs')
  const response = await app.inject({ method: 'POST', url: path, payload: IN_CONVERSATION.mcp!(body as Json, 'c'), headers: headers! })
  t.match(response.json(), { result: { isError: true, content: [{ text: /^RUNS_NOT_CONFIGURED: .*`runs`/ }] } })
  t.equal((await TASKS[0]!.ask(app, 'x', 'c')).body, response.body, 'before a task is made of the call')
})

test('a call of MCP that runs as a task is a turn from its question on, with the state of the task', async t => {
  const isOpen = new Set<string>()
  const histories: Json = {}
  const agent: Interpreter = async function * (question, _vac, history, { signal, conversation }) {
    histories[question] = [...history.map(({ content }) => content), conversation]
    yield { reasoning: 'Let me see.' }
    if (question === 'fail') throw Object.assign(new Error('the source is away'), { code: 'SOURCE_AWAY', statusCode: 502, expose: true })
    if (question === 'ask') return { answer: 'Well.', input_required: 'Which one?' }
    if (question === 'slow' || question === 'leave') {
      isOpen.add(question)
      await (question === 'slow' ? until(() => !isOpen.has(question), 'the test goes on') : once(signal, 'abort'))
    }
    return { answer: `It is ${question}.`, source_documents: [{ page_content: 'p', metadata: {} }] }
  }
  const { app } = await serve(t, { agent })
  const [query, stream] = TASKS
  const slow = query!.ask(app, 'slow', 'c')
  await until(() => isOpen.has('slow'), 'the first task runs')
  t.match((await read(app, 'c')).json(), { turns: [{ question: 'slow', state: 'running' }] })
  t.match((await app.inject({ method: 'POST', url: '/vac/docs', payload: { user_input: 'x', conversation_id: 'c' } })).json(), { error: { code: 'RUN_IN_PROGRESS' } })
  // calls of MCP go side by side
  t.match(says(await stream!.ask(app, 'quick', 'c'), PROBES.mcp), /It is quick/)
  isOpen.delete('slow')
  t.match(JSON.parse((await slow).body), { result: { structuredContent: { answer: 'It is slow.', conversation_id: 'c' } } })
  t.match(JSON.parse((await query!.ask(app, 'ask', 'c')).body), { result: { content: [{ text: /Which one\?[^]*call this tool again in this conversation/ }] } })
  t.match((await query!.ask(app, 'fail', 'c')).body, /SOURCE_AWAY: the source is away/)

  const leaving = query!.ask(app, 'leave', 'c')
  await until(() => isOpen.has('leave'), 'the last task runs')
  const { id } = (await read(app, 'c')).json().turns.at(-1)
  const { path: url, headers } = PROBES.mcp.ask.vac_query!('x', 'docs')
  const _meta = { ...((PROBES.mcp.ask.vac_query!('x', 'docs').body as Json).params._meta), 'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } } }
  await app.inject({ method: 'POST', url, payload: { jsonrpc: '2.0', id: 3, method: 'tasks/cancel', params: { taskId: id, _meta } }, headers: { ...headers, 'mcp-method': 'tasks/cancel', 'mcp-name': id } })
  await leaving

  t.same(histories.quick, ['c'], 'an open turn is no history')
  t.same(histories.fail, ['slow', 'It is slow.', 'quick', 'It is quick.', 'ask', 'Well.', 'c'])
  const { turns } = (await read(app, 'c')).json()
  t.match(turns, [
    { question: 'slow', answer: 'It is slow.', state: 'completed', steps: [{ reasoning: 'Let me see.' }], source_documents: [{ page_content: 'p' }] },
    { question: 'quick', answer: 'It is quick.', state: 'completed', steps: [{ reasoning: 'Let me see.' }] },
    { question: 'ask', answer: 'Well.', state: 'completed' },
    { question: 'fail', state: 'failed', error: { code: 'SOURCE_AWAY', message: 'the source is away' } },
    { question: 'leave', state: 'cancelled' }
  ])
  t.equal((await app.inject({ method: 'DELETE', url: '/vac/docs/conversations/c' })).statusCode, 204)
  const gone = await app.inject({ method: 'POST', url, payload: { jsonrpc: '2.0', id: 4, method: 'tasks/get', params: { taskId: id, _meta } }, headers: { ...headers, 'mcp-method': 'tasks/get', 'mcp-name': id } })
  t.match(gone.json(), { error: { message: /does not exist/ } }, 'its tasks are deleted with the conversation')
})

test('a call of MCP in a conversation is cancelled when its caller leaves', async t => {
  let left = 0
  const agent: Interpreter = async (_question, _vac, _history, { signal }) => {
    await once(signal, 'abort')
    left = performance.now()
    throw new Error('aborted')
  }
  const { app } = await serve(t, { agent })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { path, body, headers } = PROBES.mcp.stream.vac_stream!('wait', 'docs')
  const request = httpRequest({ host: '127.0.0.1', port: (app.server.address() as AddressInfo).port, path, method: 'POST', agent: false, headers: { 'content-type': 'application/json', ...headers } })
  request.on('error', () => {})
  request.end(JSON.stringify(IN_CONVERSATION.mcp!(body as Json, 'c')))
  await until(async () => (await app.inject('/vac/docs/runs')).json().runs[0]?.state === 'running', 'the run has begun')
  request.destroy()
  await until(() => left > 0, 'the interpreter is aborted')
  t.match((await app.inject('/vac/docs/runs')).json(), { runs: [{ state: 'cancelled' }] })
  t.match((await read(app, 'c')).json(), { turns: [{ question: 'wait', state: 'cancelled' }] })
})
