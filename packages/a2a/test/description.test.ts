import { test } from 'tap'
import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import Fastify from 'fastify'
import { setTimeout as delay } from 'node:timers/promises'
import { createVacs, type ChatTurn, type Interpreter, type InterpreterExtra, type Memory, type MemoryQuery } from '@polyvac/core'
import { SKILLS } from '@polyvac/core/plugin'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import { a2aPlugin, AgentCard, Task } from '../src/index.js'
import { deltas, ENDED, follow, gate, methodNames, serve } from './fixtures/app.js'

const isTask = TypeCompiler.Compile(Task)
const isCard = TypeCompiler.Compile(AgentCard)
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

const documents = [{ page_content: 'Bananas are yellow.', metadata: { source: 'fruit.md' } }]
const echo: Interpreter = async function * (question) {
  yield 'You said: '
  yield question
  return { answer: `You said: ${question}`, source_documents: documents }
}
const config = { display_name: 'The docs', description: 'Knows fruit.', model: 'm-1', agent: 'documents' }
const noHits: Memory = { search: async () => [] }

test('the card has the fields of the description, and the skills of every VAC', async t => {
  const { app } = await serve(t, echo, {
    vacs: { vacs: { docs: config, my_vac_stream_x: {} }, parts: { docs: { memory: noHits } } },
    plugin: { publicUrl: 'https://agent.example/' }
  })
  const response = await app.inject('/.well-known/agent.json')
  t.equal(response.statusCode, 200)
  t.match(response.headers['content-type'], /^application\/json/)
  t.equal(response.headers['cache-control'], 'no-cache')
  const card = response.json() as AgentCard
  t.ok(isCard.Check(card))
  t.strictSame(card.capabilities, ['task_management', 'streaming', 'conversation', 'document_retrieval'])
  t.equal(card.url, 'https://agent.example')
  t.match(card.version, /^\d+\.\d+\.\d+/)
  t.match(card.metadata, { push_notifications: true, jwks_url: 'https://agent.example/.well-known/jwks.json' })
  t.strictSame(card.skills.map(({ name }) => name), [
    'vac_query_docs', 'vac_stream_docs', 'vac_memory_search_docs', 'vac_query_my_vac_stream_x', 'vac_stream_my_vac_stream_x'
  ])
  const byName = new Map(card.skills.map(skill => [skill.name, skill]))
  for (const [kind, name] of [['query', 'vac_query_docs'], ['stream', 'vac_stream_docs'], ['memory', 'vac_memory_search_docs']] as const) {
    const skill = byName.get(name)
    t.match(skill?.description, /The docs/, 'the display name is the description')
    t.same(skill?.input_schema, JSON.parse(JSON.stringify(SKILLS[kind].input)))
    t.same(skill?.output_schema, JSON.parse(JSON.stringify(SKILLS[kind].output)))
    t.strictSame(skill?.metadata, { vac_name: 'docs', model: 'm-1', agent_type: 'documents', memory_enabled: true })
    for (const [field, { type, description }] of Object.entries((skill?.input_schema as { properties: Record<string, { type: string, description: string }> }).properties)) {
      t.ok(type !== undefined && description !== undefined, `${name}: ${field} has a type and a description`)
    }
  }
  t.match(byName.get('vac_query_docs')?.description, /m-1/, 'a query skill mentions the model')
  t.same((byName.get('vac_query_docs')?.input_schema as { required: string[] }).required, ['query'])
  t.match((byName.get('vac_memory_search_docs')?.input_schema as { properties: object }).properties, { limit: { type: 'integer', default: 10, minimum: 1, maximum: 100 }, similarity_threshold: { type: 'number', default: 0.7, minimum: 0, maximum: 1 } })
  t.strictSame(byName.get('vac_query_my_vac_stream_x')?.metadata, { vac_name: 'my_vac_stream_x', model: null, agent_type: null, memory_enabled: false })
})

test('the card has the address that the caller used, and never that of an earlier caller', async t => {
  const url = async (plugin: object, server: object, url: string, headers: Record<string, string>): Promise<string> => {
    const { app } = await serve(t, echo, { plugin, server })
    await app.inject({ url, headers: { host: 'first.example' } })
    return (await app.inject({ url, headers })).json().url as string
  }
  const forwarded = { host: 'inner:8080', 'x-forwarded-host': 'outer.example', 'x-forwarded-proto': 'https' }
  const path = '/.well-known/agent.json'
  t.equal(await url({}, {}, path, { host: 'inner:8080' }), 'http://inner:8080')
  t.equal(await url({}, {}, path, forwarded), 'http://inner:8080', 'a header that anybody can send is no address')
  t.equal(await url({}, { trustProxy: true }, path, forwarded), 'https://outer.example')
  t.equal(await url({ publicUrl: 'https://fixed.example/x//' }, { trustProxy: true }, path, forwarded), 'https://fixed.example/x')
  t.equal(await url({ prefix: '/agents' }, {}, `/agents${path}`, { host: 'inner:8080' }), 'http://inner:8080/agents')
})

test('the agent has the name of the option, or that of the only VAC', async t => {
  const card = async (vacs: object, plugin: object): Promise<AgentCard> => (await (await serve(t, echo, { vacs, plugin })).app.inject('/.well-known/agent.json')).json()
  t.match(await card({ vacs: { docs: config } }, {}), { name: 'The docs', description: 'Knows fruit.' })
  t.match(await card({ vacs: ['a', 'b'] }, {}), { name: 'Polyvac agent', description: /a, b/ })
  t.match(await card({ vacs: ['a'] }, { agent: { name: 'N', description: 'D', version: '9.9.9' } }), { name: 'N', description: 'D', version: '9.9.9' })
})

test('vacNames: absent or null exposes all, an empty list none, a list those alone; an unknown name is a start-up error', async t => {
  for (const [vacNames, exposed] of [[undefined, ['a', 'a_b']], [null, ['a', 'a_b']], [[], []], [['a_b'], ['a_b']], [['a', 'a'], ['a']]] as const) {
    const served = await serve(t, echo, { vacs: { vacs: ['a', 'a_b'] }, plugin: { vacNames } })
    const card = (await served.app.inject('/.well-known/agent.json')).json() as AgentCard
    t.strictSame(card.skills.map(({ name }) => name), exposed.flatMap(name => [`vac_query_${name}`, `vac_stream_${name}`]), JSON.stringify(vacNames))
    for (const name of ['a', 'a_b', 'nope']) {
      const task = await served.task('tasks/send', { skillName: `vac_query_${name}`, input: { query: 'x' } })
      if ((exposed as readonly string[]).includes(name)) t.equal(task.state, 'completed', name)
      else t.match(task, { state: 'failed', error: { code: 'A2A_SKILL_NOT_FOUND', message: new RegExp(`vac_query_${name}`) } }, `${name} is answered as one that does not exist`)
      if (!(exposed as readonly string[]).includes('a')) t.notMatch(task.error?.message, /did you mean "vac_query_a"/, 'and is not named')
    }
  }
  const tasks = sqliteTaskStore({ path: ':memory:' })
  const vacs = createVacs({ vacs: ['docs'], streamInterpreter: echo })
  await t.rejects(Promise.resolve(Fastify().register(a2aPlugin, { vacs, tasks, vacNames: ['nope'] })), { code: 'A2A_PLUGIN_OPTIONS', message: /nope.*docs/ })
  await t.rejects(Promise.resolve(Fastify().register(a2aPlugin, { tasks } as never)), { code: 'A2A_PLUGIN_OPTIONS', message: /vacs/ })
  await t.rejects(Promise.resolve(Fastify().register(a2aPlugin, { vacs } as never)), { code: 'A2A_PLUGIN_OPTIONS', message: /tasks/ })
})

test('a reload shows at once, and what it took away is answered as unknown', async t => {
  const served = await serve(t, echo, { vacs: { vacs: ['a', 'b'] }, plugin: { vacNames: ['a', 'b'] } })
  await served.vacs.replace({ vacs: ['b', 'c'], streamInterpreter: () => 'new' })
  const card = (await served.app.inject('/.well-known/agent.json')).json() as AgentCard
  t.strictSame(card.skills.map(({ name }) => name), ['vac_query_b', 'vac_stream_b'])
  t.match(await served.task('tasks/send', { skillName: 'vac_query_a', input: { query: 'x' } }), { state: 'failed' })
  t.match(await served.task('tasks/send', { skillName: 'vac_query_b', input: { query: 'x' } }), { state: 'completed', artifacts: [{ content: { answer: 'new' } }] })
})

test('tasks/send of a query answers with the ended task', async t => {
  const served = await serve(t, echo)
  const { status, headers, body } = await served.rpc('tasks/send', { skillName: 'vac_query_docs', input: { query: ' What is new? ' }, clientMetadata: { source: 'cli', deep: [{ n: 1 }] } }, { id: 'abc' })
  t.equal(status, 200)
  t.match(headers['content-type'], /^application\/json/)
  t.match(body, { jsonrpc: '2.0', id: 'abc' })
  const task = body.result as Task
  t.ok(isTask.Check(task))
  t.strictSame(Object.keys(task).sort(), ['artifacts', 'completedAt', 'createdAt', 'error', 'messages', 'metadata', 'progress', 'state', 'taskId', 'updatedAt'])
  t.match(task, { taskId: UUID, state: 'completed', createdAt: ISO, updatedAt: ISO, completedAt: ISO, error: null, progress: 1 })
  t.strictSame(task.metadata, { skillName: 'vac_query_docs', isStreaming: false, clientMetadata: { source: 'cli', deep: [{ n: 1 }] } })
  t.match(task.messages[0], { role: 'user', parts: [{ type: 'text', text: 'What is new?' }], timestamp: ISO })
  t.equal(task.artifacts.length, 1)
  t.match(task.artifacts[0], { name: 'response', type: 'json', createdAt: ISO })
  t.strictSame(task.artifacts[0]?.content, { answer: 'You said: What is new?', source_documents: documents, metadata: {} })
  t.strictSame(await served.task('tasks/get', { taskId: task.taskId }), task)
})

test('tasks/send of a streaming skill answers at once, with an id to follow', async t => {
  const { opened, open } = gate()
  const served = await serve(t, async function * () { yield 'a'; await opened; yield 'b'; return { answer: 'ab', source_documents: documents, metadata: { tokens: 2 }, extra: true } })
  const task = await served.task('tasks/send', { skillName: 'vac_stream_docs', input: { query: 'x' } })
  t.ok(['submitted', 'working'].includes(task.state), task.state)
  t.match(task, { completedAt: null, artifacts: [], metadata: { isStreaming: true } })
  open()
  const ended = await served.reached(task.taskId, ENDED)
  t.match(ended, { state: 'completed', progress: 1, messages: [{ role: 'user' }, { role: 'agent', parts: [{ type: 'text', text: 'ab' }] }] })
  t.strictSame(ended.artifacts.map(({ name, type, content }) => ({ name, type, content })), [
    { name: 'streaming_response', type: 'json', content: { final_answer: 'ab', stream_completed: true, source_documents: documents, metadata: { tokens: 2, extra: true } } }
  ])
})

test('a memory search has the defaults of the description, and hits within its limits', async t => {
  const asked: MemoryQuery[] = []
  const hits = [0.95, 0.9, 0.8, 0.72, 0.5].map(score => ({ content: `at ${score}`, score, metadata: { score } }))
  const memory: Memory = { async search (query) { asked.push(query); return hits } }
  const served = await serve(t, echo, { vacs: { parts: { docs: { memory } } } })
  const search = async (input: object): Promise<Task> => await served.task('tasks/send', { skillName: 'vac_memory_search_docs', input })
  const task = await search({ search_query: 'fruit' })
  t.match(task, { state: 'completed', progress: 1, metadata: { isStreaming: false }, messages: [{ role: 'user', parts: [{ text: 'fruit' }] }] })
  t.equal(task.artifacts[0]?.name, 'search_results')
  t.strictSame(task.artifacts[0]?.content, { results: hits.slice(0, 4), total_results: 4, query: 'fruit', limit: 10, similarity_threshold: 0.7 })
  t.match(asked[0], { query: 'fruit', limit: 10, threshold: 0.7 })
  t.match(await search({ search_query: 'fruit', limit: 2, similarity_threshold: 0 }), { artifacts: [{ content: { results: hits.slice(0, 2), total_results: 2, limit: 2, similarity_threshold: 0 } }] })
  t.match(asked[1], { limit: 2, threshold: 0 })
  t.match(await search({ search_query: 'fruit', limit: 100, similarity_threshold: 1 }), { artifacts: [{ content: { results: [], total_results: 0 } }] })
})

test('a memory that fails in any way fails its task, and the reason stays hidden from callers', async t => {
  const search = async (search: Memory['search'], plugin = {}): Promise<Task> => {
    const served = await serve(t, echo, { vacs: { parts: { docs: { memory: { search } } } }, plugin })
    return await served.task('tasks/send', { skillName: 'vac_memory_search_docs', input: { search_query: 'x' } })
  }
  for (const [name, failing] of Object.entries<Memory['search']>({
    throws: () => { throw new Error('SECRET') },
    rejects: async () => { throw new Error('SECRET') },
    'rejects with nothing': async () => await Promise.reject(undefined), // eslint-disable-line prefer-promise-reject-errors
    'rejects with a text': async () => await Promise.reject('SECRET'), // eslint-disable-line prefer-promise-reject-errors
    'rejects with a number for a code': async () => { throw Object.assign(new Error('SECRET'), { code: 23 }) },
    'gives no list': async () => 7 as never
  })) {
    const task = await search(failing)
    t.match(task, { state: 'failed', artifacts: [], error: { code: 'A2A_SKILL_FAILED', message: /docs/ } }, name)
    t.notMatch(JSON.stringify(task), /SECRET/, name)
  }
  t.match(await search(async ({ signal }) => { await delay(60_000, undefined, { signal }); return [] }, { timeoutMs: 100 }),
    { state: 'failed', error: { code: 'VAC_TIMEOUT' } }, 'too slow, and heeds its signal')
  t.match(await search(async () => await new Promise(() => {}), { timeoutMs: 100 }), { state: 'failed', error: { code: 'VAC_TIMEOUT' } }, 'too slow, and ignores its signal')
})

test('every frame of sendSubscribe is a task_update with the whole task, from submitted to the end', async t => {
  const served = await serve(t, async function * () {
    yield 'one '
    await delay(60)
    yield { progress: 0.5 }
    yield { progress: 0.2 }
    yield 'two'
    return { answer: 'one two', source_documents: documents }
  }, { vacs: { parts: { docs: { memory: noHits } } } })
  for (const [skillName, input, artifact] of [
    ['vac_stream_docs', { query: 'x' }, 'streaming_response'], ['vac_query_docs', { query: 'x' }, 'response'], ['vac_memory_search_docs', { search_query: 'x' }, 'search_results']
  ] as const) {
    const { status, headers, text } = await served.rpc('tasks/sendSubscribe', { skillName, input, clientMetadata: { a: 1 } })
    t.equal(status, 200)
    t.match(headers['content-type'], /^text\/event-stream/)
    t.notMatch(text, /^event:|\[DONE\]/m)
    const frames = await served.frames('tasks/sendSubscribe', { skillName, input })
    t.strictSame(frames.map(({ id }) => id), frames.map((_, i) => i + 1), 'ids run from 1 without a gap')
    t.equal(frames[0]?.data.state, 'submitted')
    t.equal(frames.at(-1)?.data.state, 'completed')
    t.equal(new Set(frames.map(({ taskId }) => taskId)).size, 1)
    for (const [i, { type, taskId, data }] of frames.entries()) {
      t.equal(type, 'task_update')
      t.equal(data.taskId, taskId)
      t.ok(isTask.Check(data), 'a whole record')
      t.ok(data.progress >= (frames[i - 1]?.data.progress ?? 0), 'progress never goes down')
      t.strictSame(data.artifacts.map(({ name }) => name), data.state === 'completed' ? [artifact] : [], 'artifacts once completed')
    }
    t.equal(frames.at(-1)?.data.progress, 1)
    if (skillName !== 'vac_stream_docs') continue
    t.ok(frames.some(({ data }) => data.progress === 0.5))
    t.equal(deltas(frames), 'one two')
    let soFar = ''
    for (const { data } of frames) {
      soFar += data.delta ?? ''
      t.equal(data.messages[1]?.parts[0]?.text ?? '', soFar, 'messages grow by the delta')
    }
    t.ok(frames.some(({ data }) => data.delta === 'one '), 'text comes while it is made')
  }
})

test('resubscribe sends the present task, or what came after Last-Event-ID, and ends', async t => {
  const served = await serve(t, echo)
  const sent = await served.frames('tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'x' } })
  const { taskId } = sent[0] ?? { taskId: '' }
  const last = sent.at(-1)?.id ?? 0
  for (let seen = 0; seen < last; seen++) {
    t.strictSame(await served.frames('tasks/resubscribe', { taskId }, { headers: { 'last-event-id': String(seen) } }), sent.slice(seen), `after ${seen}`)
  }
  t.strictSame(await served.frames('tasks/resubscribe', { taskId }, { headers: { 'last-event-id': String(last) } }), sent.slice(-1), 'who has all is told the end again')
  t.strictSame(await served.frames('tasks/resubscribe', { taskId }), sent.slice(-1), 'without a number')
})

test('tasks/list: newest status first, by state, in pages that together are all', async t => {
  const { opened, open } = gate()
  const served = await serve(t, async function * (question) { if (question === 'wait') await opened; if (question === 'throw') throw new Error('x'); yield question })
  const ids: string[] = []
  for (const query of ['1', '2', 'throw', '3']) ids.push((await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query } })).taskId)
  ids.push((await served.task('tasks/send', { skillName: 'vac_stream_docs', input: { query: 'wait' } })).taskId)
  interface Page { tasks: Task[], nextCursor?: string }
  const list = async (params: unknown): Promise<Page> => (await served.rpc('tasks/list', params)).body.result as Page
  t.strictSame((await list({})).tasks.map(({ taskId }) => taskId), ids.toReversed())
  t.strictSame((await list(undefined)).tasks.length, 5, 'params may be left out')
  t.ok((await list({})).tasks.every(task => isTask.Check(task)))
  t.strictSame((await list({ state: 'failed' })).tasks.map(({ taskId }) => taskId), [ids[2]])
  t.strictSame((await list({ state: 'working' })).tasks.map(({ taskId }) => taskId), [ids[4]])
  t.strictSame((await list({ state: 'canceled' })).tasks, [])
  const pages: string[] = []
  for (let cursor: string | undefined, n = 0; n < 9; n++) {
    const page = await list({ limit: 2, ...(cursor === undefined ? {} : { cursor }) })
    pages.push(...page.tasks.map(({ taskId }) => taskId))
    cursor = page.nextCursor
    if (cursor === undefined) break
  }
  t.strictSame(pages, ids.toReversed())
  open()
})

test('a task that asks for input waits, and the next tasks/send with its id goes on', async t => {
  const seen: { question: string, history: ChatTurn[] }[] = []
  const served = await serve(t, async function * (question, _vac, history) {
    seen.push({ question, history })
    if (question === 'Paris') return { answer: `Flying to ${question}` }
    yield 'Let me see. '
    return { input_required: 'Where to?' }
  })
  const chat_history = [{ role: 'user', content: 'hi' }]
  for (const kind of ['query', 'stream'] as const) {
    seen.length = 0
    const skillName = `vac_${kind}_docs`
    const sent = await served.task('tasks/send', { skillName, input: { query: 'Book a flight', chat_history } })
    const waiting = await served.reached(sent.taskId, ['input-required'])
    const { taskId } = waiting
    t.match(waiting, { completedAt: null, artifacts: [], error: null })
    t.match(waiting.messages.at(-1), { role: 'agent', parts: [{ type: 'text', text: 'Where to?' }] })
    t.match(await served.task('tasks/get', { taskId }), { state: 'input-required' })

    for (const [params, code, message] of [
      [{ taskId }, -32602, /params\/input\/query/], [{ taskId, input: {} }, -32602, /query/], [{ taskId, input: { query: '  ' } }, -32602, /query/],
      [{ taskId, skillName: 'vac_query_other', input: { query: 'Paris' } }, -32602, /skillName/],
      [{ taskId: 'nope', input: { query: 'Paris' } }, -32001, /no task/]
    ] as const) t.match((await served.rpc('tasks/send', params)).body.error, { code, message }, JSON.stringify(params))
    t.match(await served.task('tasks/get', { taskId }), { state: 'input-required' }, 'a bad reply changes nothing')

    const reply = await served.task('tasks/send', { taskId, skillName, input: { query: ' Paris ' } })
    t.equal(reply.taskId, taskId)
    if (kind === 'query') t.equal(reply.state, 'completed', 'it is waited for')
    const ended = await served.reached(taskId, ENDED)
    t.match(ended, { state: 'completed', artifacts: [{ content: kind === 'query' ? { answer: 'Flying to Paris' } : { final_answer: 'Flying to Paris' } }] })
    t.equal(seen[1]?.question, 'Paris', 'the reply is the question now')
    const before = kind === 'stream' ? [{ role: 'assistant', content: 'Let me see. ' }] : []
    t.strictSame(seen[1]?.history, [{ role: 'user', content: 'hi' }, { role: 'user', content: 'Book a flight' }, ...before, { role: 'assistant', content: 'Where to?' }])
    t.match((await served.rpc('tasks/send', { taskId, input: { query: 'Paris' } })).body.error, { code: -32602, message: /completed/, data: { code: 'A2A_TASK_NOT_WAITING' } })
  }
})

test('a followed stream stays open while the task waits for input, and sends the rest', async t => {
  const served = await serve(t, async function * (question) { yield question; return question === 'yes' ? { answer: 'done' } : { input_required: 'Sure?' } })
  const stream = await follow(served, 'tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'go' } })
  const { taskId, data } = await stream.first(({ data }) => data.state === 'input-required')
  t.match(data.messages.at(-1)?.parts, [{ text: 'Sure?' }])
  const reply = await served.frames('tasks/sendSubscribe', { taskId, input: { query: 'yes' } })
  await stream.ended
  t.strictSame(stream.frames.map(({ id }) => id), stream.frames.map((_, i) => i + 1))
  t.match(stream.frames.at(-1)?.data, { state: 'completed', messages: [{ parts: [{ text: 'go' }] }, { parts: [{ text: 'go' }] }, { parts: [{ text: 'Sure?' }] }, { parts: [{ text: 'yes' }] }, { parts: [{ text: 'yes' }] }] })
  t.strictSame(reply.at(-1), stream.frames.at(-1))
})

test('a question that was streamed is said once', async t => {
  const served = await serve(t, (question: string) => question === 'yes' ? 'done' : { input_required: 'Sure?' })
  const { taskId } = await served.task('tasks/send', { skillName: 'vac_stream_docs', input: { query: 'go' } })
  let task = await served.task('tasks/get', { taskId })
  while (task.state !== 'input-required') task = await served.task('tasks/get', { taskId })
  t.strictSame(task.messages.map(({ parts }) => parts[0]?.text), ['go', 'Sure?'])
})

test('a question is said once, whether it was streamed before or not', async t => {
  const forms: Record<string, Interpreter> = {
    'not streamed': () => ({ input_required: 'Sure?' }),
    streamed: async function * () { yield 'Su'; yield 're?'; return { input_required: 'Sure?' } }
  }
  for (const [name, interpreter] of Object.entries(forms)) {
    const served = await serve(t, interpreter)
    for (const kind of ['query', 'stream']) {
      const { taskId } = await served.task('tasks/send', { skillName: `vac_${kind}_docs`, input: { query: 'go' } })
      const { messages } = await served.reached(taskId, ['input-required'])
      t.strictSame(messages.map(({ role, parts }) => [role, parts[0]?.text]), [['user', 'go'], ['agent', 'Sure?']], `${kind}, ${name}`)
    }
  }
})

test('a waiting task can be canceled', async t => {
  const served = await serve(t, () => ({ input_required: 'Sure?' }))
  const { taskId, state } = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'go' } })
  t.equal(state, 'input-required')
  t.match(await served.task('tasks/cancel', { taskId }), { state: 'canceled', completedAt: ISO })
  t.match((await served.rpc('tasks/send', { taskId, input: { query: 'yes' } })).body.error, { code: -32602, message: /canceled/ })
})

const forms: Record<string, Interpreter> = {
  'async generator': async function * () { yield 'he'; yield 'llo' },
  'async generator with an answer': async function * () { yield 'he'; yield 'llo'; return { answer: 'hello' } },
  'async generator that yields its answer': async function * () { yield 'hello'; yield { answer: 'hello' } },
  'sync generator': function * () { yield 'he'; yield 'llo' },
  'async function': async () => ({ answer: 'hello' }),
  'async function of text': async () => 'hello',
  'sync function': () => ({ answer: 'hello' }),
  callback: async (_question, _vac, _history, { callback }) => {
    await callback.on_llm_new_token('he')
    await callback.on_llm_new_token('llo')
    await callback.on_llm_end()
  },
  'callback that awaits nothing': (_question, _vac, _history, { callback }) => {
    for (const letter of 'hello') callback.on_llm_new_token(letter).catch(() => {})
    return { answer: 'hello' }
  }
}

test('an interpreter of any form answers queries and streams', async t => {
  for (const [name, interpreter] of Object.entries(forms)) {
    const served = await serve(t, interpreter)
    t.match(await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } }),
      { state: 'completed', artifacts: [{ content: { answer: 'hello', source_documents: [] } }] }, name)
    const frames = await served.frames('tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'x' } })
    t.match(frames.at(-1)?.data, { state: 'completed', artifacts: [{ content: { final_answer: 'hello', stream_completed: true, source_documents: [] } }] }, name)
    t.equal(deltas(frames), 'hello', `${name}: all of its text, once`)
  }
})

test('a query goes to the vac interpreter where there is one, a stream never', async t => {
  const served = await serve(t, () => 'stream', { vacs: { vacInterpreter: () => ({ answer: 'static', metadata: { m: 1 }, extra: [1] }) } })
  t.match(await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } }), { artifacts: [{ content: { answer: 'static', metadata: { m: 1, extra: [1] } } }] })
  t.equal(deltas(await served.frames('tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'x' } })), 'stream')
})

test('an interpreter that fails in any way fails its task, and the reason stays hidden from callers', async t => {
  const bad: Record<string, Interpreter> = {
    throws: () => { throw new Error('SECRET') },
    rejects: async () => { throw new Error('SECRET') },
    'rejects with nothing': async () => await Promise.reject(undefined), // eslint-disable-line prefer-promise-reject-errors
    'throws nothing': () => { throw undefined }, // eslint-disable-line no-throw-literal
    'throws null in a generator': async function * () { throw null }, // eslint-disable-line no-throw-literal
    'throws after the first chunk': async function * () { yield 'begun'; throw new Error('SECRET') },
    'throws an error of the task engine': async function * () { yield 'begun'; throw Object.assign(new Error('SECRET'), { code: 'TASK_FENCED' }) },
    'throws an error that names a VAC': () => { throw Object.assign(new Error('SECRET'), { code: 'VAC_TIMEOUT' }) },
    'has a status': () => { throw Object.assign(new Error('SECRET'), { statusCode: 400, code: 'X' }) }
  }
  const wrong: Record<string, Interpreter> = {
    'returns nothing': () => undefined,
    'returns a number': () => 7 as never,
    'returns a big integer': () => ({ answer: 'x', n: 1n }) as never,
    'returns a circle': () => { const circle: Record<string, unknown> = { answer: 'x' }; circle.self = circle; return circle as never },
    'yields a number': function * () { yield 7 as never },
    'yields an array': function * () { yield [] as never },
    'answers with no text': () => ({ answer: 7 }) as never
  }
  for (const [name, interpreter] of [...Object.entries(bad), ...Object.entries(wrong)]) {
    const served = await serve(t, interpreter)
    for (const task of [
      await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } }),
      (await served.frames('tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'x' } })).at(-1)?.data as Task
    ]) {
      t.match(task, { state: 'failed', completedAt: ISO, artifacts: [], error: { code: name in bad ? 'VAC_INTERPRETER_FAILED' : 'VAC_INVALID_RESULT', message: /docs/, timestamp: ISO } }, name)
      t.notMatch(JSON.stringify(task), /SECRET|\\n +at /, name)
      if (name in bad) t.ok(task.error?.message.includes(task.taskId), 'the id by which the log tells more')
    }
    if (/SECRET/.test(String(interpreter))) t.match(served.logged(), /SECRET/, `${name}: the log has the cause`)
  }
})

test('an input that breaks the schema of its skill makes a task that fails and names the problem', async t => {
  const served = await serve(t, echo, { vacs: { parts: { docs: { memory: noHits } } } })
  const memory = (more: object): object => ({ search_query: 'x', ...more })
  for (const [skillName, input, problem] of [
    ['vac_query_docs', {}, 'input/query'], ['vac_query_docs', undefined, 'input/query'], ['vac_query_docs', { query: 7 }, 'input/query'],
    ['vac_query_docs', { query: ' \n' }, 'input/query'], ['vac_query_docs', { query: 'x', chat_history: {} }, 'input/chat_history'],
    ['vac_query_docs', { query: 'x', chat_history: [7] }, 'input/chat_history'], ['vac_query_docs', { query: 'x', context: [] }, 'input/context'],
    ['vac_stream_docs', { query: null }, 'input/query'], ['vac_stream_docs', { query: 'x', stream_settings: null }, 'input/stream_settings'],
    ['vac_stream_docs', { query: 'x', stream_settings: { timeout: 0.5 } }, 'input/stream_settings/timeout'],
    ['vac_stream_docs', { query: 'x', stream_settings: { timeout: 3601 } }, 'input/stream_settings/timeout'],
    ['vac_stream_docs', { query: 'x', stream_settings: { timeout: '5' } }, 'input/stream_settings/timeout'],
    ['vac_stream_docs', { query: 'x', stream_settings: { wait_time: -1 } }, 'input/stream_settings/wait_time'],
    ['vac_stream_docs', { query: 'x', stream_settings: { wait_time: 1e15 } }, 'input/stream_settings/wait_time'],
    ['vac_memory_search_docs', {}, 'input/search_query'], ['vac_memory_search_docs', memory({ search_query: '' }), 'input/search_query'],
    ['vac_memory_search_docs', memory({ search_query: 'x'.repeat(2_001) }), 'input/search_query'],
    ...[0, 101, 1.5, '10', null, -1].map(limit => ['vac_memory_search_docs', memory({ limit }), 'input/limit'] as const),
    ...[-0.1, 1.1, null, 'NaN', '0.5'].map(similarity_threshold => ['vac_memory_search_docs', memory({ similarity_threshold }), 'input/similarity_threshold'] as const),
    ['vac_query_nope', { query: 'x' }, 'vac_query_nope'], ['vac_stream_nope', { query: 'x' }, 'vac_stream_nope'], ['docs', { query: 'x' }, 'docs'],
    ['__proto__', { query: 'x' }, '__proto__'], ['vac_query_constructor', { query: 'x' }, 'constructor'], ['vac_query_../docs', { query: 'x' }, 'vac_query_'],
    ['vac_query_', { query: 'x' }, 'vac_query_'], ['VAC_QUERY_DOCS', { query: 'x' }, 'VAC_QUERY_DOCS']
  ] as const) {
    const what = `${skillName} ${JSON.stringify(input)?.slice(0, 80)}`
    const params = { skillName, ...(input === undefined ? {} : { input }) }
    const task = await served.task('tasks/send', params)
    t.match(task, { taskId: UUID, state: 'failed', completedAt: ISO, artifacts: [], error: { code: /^A2A_(SKILL_NOT_FOUND|INPUT_INVALID)$/ } }, what)
    t.ok(task.error?.message.includes(problem), `${what}: ${task.error?.message}`)
    const frames = await served.frames('tasks/sendSubscribe', params)
    t.match(frames.at(-1)?.data, { state: 'failed', error: { code: task.error?.code, message: task.error?.message } }, `${what}, as a stream`)
  }
  t.equal(served.vacs.running, 0, 'no interpreter was asked')
  const without = await serve(t, echo)
  t.match(await without.task('tasks/send', { skillName: 'vac_memory_search_docs', input: { search_query: 'x' } }), { state: 'failed', error: { code: 'A2A_SKILL_NOT_FOUND' } }, 'memory skill of a VAC without memory')
})

test('stream_settings.timeout stops the interpreter, heeding or not; the plugin\'s own limit does where there is none', async t => {
  const stopped: string[] = []
  const served = await serve(t, async function * (question, _vac, _history, { signal }) {
    signal.addEventListener('abort', () => { stopped.push(question) })
    yield 'begun'
    if (question === 'heeds') await new Promise(resolve => signal.addEventListener('abort', resolve))
    else await new Promise(() => {})
  }, { plugin: { timeoutMs: 1_500 } })
  const send = async (kind: string, query: string, stream_settings?: object): Promise<Task> =>
    await served.reached((await served.task('tasks/send', { skillName: `vac_${kind}_docs`, input: { query, ...(stream_settings === undefined ? {} : { stream_settings }) } })).taskId, ENDED)
  const [heeds, ignores, own, query] = await Promise.all([
    send('stream', 'heeds', { timeout: 1 }), send('stream', 'ignores', { timeout: 1, wait_time: 1 }), send('stream', 'own'), send('query', 'query')
  ])
  for (const task of [heeds, ignores]) t.match(task, { state: 'failed', error: { code: 'VAC_TIMEOUT', message: /docs.*1 s/ } })
  for (const task of [own, query]) t.match(task, { state: 'failed', error: { code: 'VAC_TIMEOUT', message: /1\.5 s/ } })
  t.strictSame(stopped.sort(), ['heeds', 'ignores', 'own', 'query'], 'every signal fired')
  t.equal(served.vacs.running, 0)
})

test('settings that only a stream has cannot harm a query', async t => {
  const served = await serve(t, async function * () { await delay(80); yield 'fine' })
  const odd = [null, 7, [], 'x', { timeout: 'x' }, { timeout: -1 }, { timeout: 1e300 }, { timeout: null }, { wait_time: 1e300 }, { wait_time: 1e7 }, { wait_time: -1 }, { wait_time: 'x' }]
  await Promise.all(odd.map(async stream_settings => {
    const what = JSON.stringify(stream_settings)
    const params = { skillName: 'vac_query_docs', input: { query: 'x', stream_settings } }
    t.match(await served.task('tasks/send', params), { state: 'completed' }, what)
    const { text } = await served.rpc('tasks/sendSubscribe', params)
    t.match(text, /"completed"/, what)
    t.ok((text.match(/^:/gm) ?? []).length < 3, `${what}: no flood of comments`)
  }))
})

test('tasks/send waits no longer than it may, and the task goes on', async t => {
  const { opened, open } = gate()
  const served = await serve(t, async () => { await opened; return 'late' }, { plugin: { sendTimeoutMs: 50 } })
  const { state, taskId } = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } })
  t.equal(state, 'working')
  open()
  t.match(await served.reached(taskId, ENDED), { state: 'completed', artifacts: [{ content: { answer: 'late' } }] })
})

test('a request with an idempotency key is one task, however often and however it is sent', async t => {
  let runs = 0
  const served = await serve(t, async question => { runs++; await delay(20); return question }, { plugin: { authenticate: request => ({ owner: String(request.headers.who ?? 'alice') }) } })
  const params = { skillName: 'vac_query_docs', input: { query: 'x', context: { a: 1, b: 2 } } }
  const headers = { 'idempotency-key': 'k1' }
  const all = await Promise.all(Array.from({ length: 20 }, async () => await served.task('tasks/send', params, { headers })))
  t.equal(new Set(all.map(({ taskId }) => taskId)).size, 1)
  t.ok(all.every(({ state }) => state === 'completed'), 'each waits for the end')
  t.equal(runs, 1)
  const [{ taskId }] = all as [Task]
  t.equal((await served.task('tasks/send', { input: { context: { b: 2, a: 1 }, query: 'x' }, skillName: 'vac_query_docs' }, { headers })).taskId, taskId, 'whatever the order of its keys')
  t.match(await served.frames('tasks/sendSubscribe', params, { headers }), [{ taskId, data: { state: 'completed' } }], 'also as a stream')
  for (const other of [{ ...params, input: { query: 'y' } }, { ...params, skillName: 'vac_stream_docs' }]) {
    for (const method of ['tasks/send', 'tasks/sendSubscribe'] as const) {
      t.match((await served.rpc(method, other, { headers })).body, { error: { code: -32602, data: { code: 'TASK_CONFLICT' } } }, 'another request is not mistaken for it')
    }
  }
  t.not((await served.task('tasks/send', params, { headers: { ...headers, who: 'bob' } })).taskId, taskId, 'another owner has keys of his own')
  for (const key of ['', 'x'.repeat(257)]) t.match((await served.rpc('tasks/send', params, { headers: { 'idempotency-key': key } })).body.error, { code: -32602, message: /Idempotency-Key/ })
  t.equal((await served.rpc('tasks/list', {})).text.match(/"taskId"/g)?.length, 1)
  t.equal(runs, 2)
})

test('chat_history reaches the interpreter in one shape, whatever its dialect', async t => {
  let seen: ChatTurn[] = []
  const served = await serve(t, (_question, _vac, history) => { seen = history; return 'x' })
  const turns = [{ role: 'user', content: 'hi' }, { role: 'assistant', content: 'hello' }, { role: 'user', content: 'and?' }]
  for (const chat_history of [
    turns,
    [{ name: 'Human', content: 'hi' }, { name: 'AI', text: 'hello' }, { name: 'Human', text: 'and?' }],
    [{ human: 'hi', ai: 'hello' }, { human: 'and?' }],
    [['hi', 'hello'], ['and?']],
    [['hi', 'hello'], { name: 'Human', content: 'and?' }]
  ]) {
    for (const kind of ['query', 'stream']) {
      const { taskId } = await served.task('tasks/send', { skillName: `vac_${kind}_docs`, input: { query: 'x', chat_history } })
      await served.reached(taskId, ['completed'])
      t.strictSame(seen, turns, `${kind} ${JSON.stringify(chat_history)}`)
    }
  }
  const long = Array.from({ length: 400 }, (_, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content: String(i) }))
  await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x', chat_history: long } })
  t.strictSame(seen, long, 'every turn, in order')
  await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } })
  t.strictSame(seen, [], 'and nothing of anybody else\'s')
})

test('an interpreter is given the caller\'s fields, and always its own', async t => {
  let seen: InterpreterExtra | undefined
  const served = await serve(t, (_question, vac, _history, extra) => { seen = extra; return vac }, {
    vacs: { vacs: { docs: config } }, plugin: { authenticate: () => ({ owner: 'alice', scopes: ['read'] }) }
  })
  const input = { query: 'x', context: { signal: 'no', a: 1 }, temperature: 0.2, signal: 'no', vac: 'no', principal: { owner: 'root' }, protocol: 'no', callback: 'no', log: 'no', taskId: 'no' }
  const { taskId } = await served.task('tasks/send', { skillName: 'vac_query_docs', input })
  t.match(seen, { context: { signal: 'no', a: 1 }, temperature: 0.2, taskId, attempt: 0, protocol: 'a2a', principal: { owner: 'alice', scopes: ['read'] }, vac: config })
  t.ok(seen?.signal instanceof AbortSignal)
  t.type(seen?.log.info, 'function')
  t.type(seen?.callback.on_llm_new_token, 'function')
})

test('what a caller may not choose is not chosen by params', async t => {
  const served = await serve(t, echo)
  const more = { owner: 'bob', state: 'completed', seq: 99, attempt: 9, progress: 1, id: 'mine', artifacts: [{}], error: { code: 'x' }, createdAt: 0, contextId: 'c' }
  const task = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x', ...more }, ...more })
  t.match(task, { taskId: UUID, state: 'completed', artifacts: [{ name: 'response', content: { answer: 'You said: x' } }], error: null })
  t.ok(Date.parse(task.createdAt) > 1e12)
})

test('a cancel is final: the signal of the interpreter aborts, and nothing that it does later counts', async t => {
  const { opened, open } = gate()
  const seen = { started: 0, abortedAt: 0 }
  const told = gate()
  const served = await serve(t, async function * (_question, _vac, _history, { signal }) {
    seen.started++
    signal.addEventListener('abort', () => { seen.abortedAt = performance.now(); told.open() })
    yield 'before'
    await opened
    yield 'after'
    return { answer: 'after all' }
  })
  const stream = await follow(served, 'tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'x' } })
  const { taskId } = await stream.first(({ data }) => data.delta === 'before')
  const at = performance.now()
  const canceled = await served.task('tasks/cancel', { taskId })
  t.match(canceled, { taskId, state: 'canceled', completedAt: ISO, artifacts: [], error: null })
  t.ok(isTask.Check(canceled))
  await told.opened
  t.ok(seen.abortedAt - at < 500, 'the contract says 100 ms; a busy machine may take five times as long')
  open()
  await stream.ended
  t.match(stream.frames.at(-1)?.data, { state: 'canceled' }, 'followers see it, and their streams end')
  await delay(50)
  t.strictSame(await served.task('tasks/get', { taskId }), canceled)
  for (let again = 0; again < 2; again++) {
    t.match((await served.rpc('tasks/cancel', { taskId })).body.error, { code: -32002, message: /canceled/, data: { code: 'A2A_TASK_NOT_CANCELABLE' } })
  }
  const { taskId: done } = await served.task('tasks/send', { skillName: 'vac_query_nope', input: {} })
  t.match((await served.rpc('tasks/cancel', { taskId: done })).body.error, { code: -32002, message: /failed/ })
  t.equal(served.vacs.running, 0)
})

test('a cancel answers who waits for the task, and stops a search of the memory, too', async t => {
  const told: string[] = []
  const memory: Memory = { search: async ({ signal }) => { signal?.addEventListener('abort', () => { told.push('search') }); return await new Promise(() => {}) } }
  const served = await serve(t, async (_question, _vac, _history, { signal }) => { signal.addEventListener('abort', () => { told.push('query') }); return await new Promise(() => {}) }, { vacs: { parts: { docs: { memory } } } })
  for (const [skillName, input] of [['vac_query_docs', { query: 'x' }], ['vac_memory_search_docs', { search_query: 'x' }]] as const) {
    const sent = served.task('tasks/send', { skillName, input })
    let working: Task[] = []
    while (working.length === 0) ({ tasks: working } = (await served.rpc('tasks/list', { state: 'working' })).body.result as { tasks: Task[] })
    const canceled = await served.task('tasks/cancel', { taskId: working[0]?.taskId })
    t.strictSame(await sent, canceled, skillName)
  }
  t.strictSame(told, ['query', 'search'])
})

test('of many answers to one question, one is taken', async t => {
  const asked: string[] = []
  const served = await serve(t, question => { asked.push(question); return question === 'go' ? { input_required: 'Which?' } : question })
  const { taskId } = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'go' } })
  const answers = await Promise.all(Array.from({ length: 10 }, async (_, i) => await served.rpc('tasks/send', { taskId, input: { query: `answer ${i}` } })))
  const taken = answers.filter(({ body }) => body.result !== undefined)
  t.equal(taken.length, 1)
  t.match(answers.filter(answer => !taken.includes(answer)).map(({ body }) => body.error), Array.from({ length: 9 }, () => ({ code: -32602, data: { code: 'A2A_TASK_NOT_WAITING' } })))
  t.equal(asked.length, 2)
  t.match(taken[0]?.body.result, { state: 'completed', artifacts: [{ content: { answer: asked[1] } }] })
})

test('an interpreter that ignores its cancel or its time limit holds no place of others', async t => {
  const served = await serve(t, async function * (question) { if (question !== 'last') await new Promise(() => {}); yield question }, { plugin: { concurrency: 1 } })
  const { taskId } = await served.task('tasks/send', { skillName: 'vac_stream_docs', input: { query: 'stuck' } })
  const late = await served.task('tasks/send', { skillName: 'vac_stream_docs', input: { query: 'late', stream_settings: { timeout: 1 } } })
  await served.task('tasks/cancel', { taskId })
  t.match(await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'last' } }), { state: 'completed' })
  t.match(await served.task('tasks/get', { taskId: late.taskId }), { state: 'failed', error: { code: 'VAC_TIMEOUT' } })
})

test('a task that waits for its turn is canceled without being run', async t => {
  const { opened, open } = gate()
  const asked: string[] = []
  const served = await serve(t, async question => { asked.push(question); await opened; return 'x' }, { plugin: { concurrency: 1 } })
  const first = await served.task('tasks/send', { skillName: 'vac_stream_docs', input: { query: 'first' } })
  const second = await served.task('tasks/send', { skillName: 'vac_stream_docs', input: { query: 'second' } })
  t.match(second, { state: 'submitted', progress: 0 })
  t.match(await served.task('tasks/cancel', { taskId: second.taskId }), { state: 'canceled' })
  open()
  await served.reached(first.taskId, ['completed'])
  t.match(await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'third' } }), { state: 'completed' })
  t.strictSame(asked, ['first', 'third'])
})

test('a cancel that races the end leaves one end, and every answer agrees with it', async t => {
  const served = await serve(t, async () => { await delay(Math.random() * 3); return 'x' })
  const ends = new Set<string>()
  await Promise.all(Array.from({ length: 200 }, async () => {
    const { taskId } = await served.task('tasks/send', { skillName: 'vac_stream_docs', input: { query: 'x' } })
    await delay(Math.random() * 6)
    const { body } = await served.rpc('tasks/cancel', { taskId })
    const { state } = await served.task('tasks/get', { taskId })
    ends.add(state)
    const agrees = body.error === undefined ? state === 'canceled' : body.error.code === -32002 && state === 'completed'
    if (!agrees) t.fail(`${state}: ${JSON.stringify(body)}`)
    const frames = await served.frames('tasks/resubscribe', { taskId }, { headers: { 'last-event-id': '0' } })
    if (frames.filter(({ data }) => (ENDED as readonly string[]).includes(data.state)).length !== 1 || frames.at(-1)?.data.state !== state) t.fail('more than one end')
  }))
  t.ok(ends.size >= 1, [...ends].join(', '))
})

test('registered into somebody\'s app, beside the direct endpoints, it changes nothing there, and the app\'s hooks reach its routes', async t => {
  const served = await serve(t, echo, {
    server: { ajv: { customOptions: { coerceTypes: true, removeAdditional: 'all' } } },
    plugin: { prefix: '/agents' },
    async before (app, vacs) {
      await app.register(cors, { origin: 'https://example.org' })
      await app.register(helmet)
      app.setErrorHandler((err: Error, _request, reply) => { reply.code(418).send({ teapot: err.message }) })
      app.addHook('onRequest', async (_request, reply) => { reply.header('x-app', 'hook') })
      app.post('/own', { schema: { body: { type: 'object', properties: { n: { type: 'number' } } } } }, async request => request.body)
      app.get('/fails', async () => { throw new Error('own') })
      await app.register(vacPlugin, { vacs })
    }
  })
  const { app } = served
  t.strictSame((await app.inject({ method: 'POST', url: '/own', payload: { n: '7', extra: 1 } })).json(), { n: 7 }, 'its own validation still coerces and removes')
  t.match((await app.inject('/fails')).json(), { teapot: 'own' })
  t.equal((await app.inject({ method: 'POST', url: '/own', payload: '{', headers: { 'content-type': 'application/json' } })).statusCode, 418)
  t.match((await app.inject({ method: 'POST', url: '/vac/docs', payload: { user_input: 'x' } })).json(), { answer: 'You said: x' })
  t.match((await app.inject({ method: 'POST', url: '/vac/streaming/docs/sse', payload: { user_input: 'x' } })).payload, /\[DONE\]/)
  const headers = { origin: 'https://example.org' }
  const all = { 'access-control-allow-origin': 'https://example.org', 'x-app': 'hook', 'x-content-type-options': 'nosniff' }
  t.match((await app.inject({ url: '/agents/.well-known/agent.json', headers })).headers, all)
  for (const method of ['tasks/send', 'tasks/sendSubscribe'] as const) {
    const answered = await served.rpc(method, { skillName: 'vac_query_docs', input: { query: 'x' }, n: '7' }, { headers })
    t.equal(answered.status, 200)
    t.match(answered.headers, all, method)
    t.match(answered.text, /You said: x/)
    t.match((await served.rpc(method, {}, { headers })).headers, all, `${method}, refused`)
    t.match(await served.rpc(method, { skillName: 7 }), { body: { error: { code: -32602 } } }, 'and nothing is coerced')
  }
  t.equal((await app.inject('/.well-known/agent.json')).statusCode, 404, 'nothing outside the prefix')
  t.notOk(app.hasReplyDecorator('sse'))
})

test('an app that reads JSON in its own way keeps it, and the plugin reads it in its own', async t => {
  const served = await serve(t, echo, {
    before (app) {
      app.removeAllContentTypeParsers()
      app.addContentTypeParser(['application/json', 'text/plain'], { parseAs: 'buffer' }, (_request, body, done) => { done(null, { bytes: body.length }) })
      app.post('/own', async request => request.body)
    }
  })
  t.match(await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } }), { state: 'completed' })
  t.match((await served.frames('tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'x' } })).at(-1)?.data, { state: 'completed' })
  for (const method of ['message/send', 'SendMessage']) {
    const version = method === 'SendMessage' ? '1.0' : '0.3'
    const { body } = await served.app.inject({ method: 'POST', url: '/a2a', headers: { 'a2a-version': version }, payload: { jsonrpc: '2.0', id: 1, method, params: {} } })
    t.match(JSON.parse(body), { error: { code: -32602 } }, method)
  }
  t.strictSame((await served.app.inject({ method: 'POST', url: '/own', payload: { n: 7 } })).json(), { bytes: 7 })
})

test('its routes are these and no others', async t => {
  const { app } = await serve(t, echo)
  for (const url of ['/.well-known/agent.json', '/.well-known/jwks.json']) {
    t.ok(app.hasRoute({ method: 'GET', url }), url)
    t.equal((await app.inject({ method: 'HEAD', url })).statusCode, 200)
  }
  for (const method of methodNames) {
    t.ok(app.hasRoute({ method: 'POST', url: `/a2a/${method}` }), method)
    for (const verb of ['GET', 'PUT', 'DELETE', 'HEAD'] as const) t.equal((await app.inject({ method: verb, url: `/a2a/${method}` })).statusCode, 404, `${verb} ${method}`)
  }
  // the public versions beside it: 4 addresses of JSON-RPC, and 4 paths of HTTP+JSON with and without a tenant
  t.equal(app.printRoutes({ commonPrefix: false }).match(/POST/g)?.length, methodNames.length + 4 + 2 * 4)
})

test('its log has no questions, answers or credentials', async t => {
  const served = await serve(t, echo)
  await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'SECRET-question' }, clientMetadata: { x: 'SECRET-meta' } }, { headers: { authorization: 'Bearer SECRET-token' } })
  await served.frames('tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'SECRET-question' } })
  t.match(served.logged(), /task run/)
  t.notMatch(served.logged(), /SECRET/)
})
