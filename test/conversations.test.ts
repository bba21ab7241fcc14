import { createVacs, type ChatTurn, type Interpreter, type Principal } from '@polyvac/core'
import { createRuns } from '@polyvac/runs'
import type { TaskStore } from '@polyvac/tasks'
import { sqliteTaskStore, type SqliteTaskStoreOptions } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import Fastify, { type FastifyInstance, type LightMyRequestResponse } from 'fastify'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test, type Test } from 'tap'
import { documentsInterpreter } from '@polyvac/documents'
import { openaiInterpreter } from '@polyvac/documents/model'
import { REFERRING, SPA } from '../packages/documents/test/fixtures/conversations.js'
import { memoryOf } from '../packages/documents/test/fixtures/folder.js'
import { fakeOpenai } from '../packages/documents/test/fixtures/openai-server.js'
import { openPostgresStore, taskDatabase } from '../packages/tasks/test/fixtures/postgres-store.js'
import { openStore } from '../packages/tasks/test/fixtures/store.js'
import { until } from './fixtures/until.js'
import './fixtures/timeout.mjs'
import { changeText } from './fixtures/change-text.mjs'

type Json = Record<string, any>

/** Answers with what it got; `wait` waits until the app closes or the answer is aborted. */
const agent: Interpreter = async function * (question, _vac, history, { signal, conversation }) {
  yield 'You asked: '
  if (question.startsWith('wait')) await new Promise((_resolve, reject) => { signal.addEventListener('abort', () => { reject(new Error('aborted')) }) })
  if (question === 'fail') throw Object.assign(new Error('the source is away'), { code: 'SOURCE_AWAY', statusCode: 502, expose: true })
  if (question === 'steps') {
    yield { tool_call: { id: 'c', name: 'search', server: 'files', input: { marker: 'MARKER-INPUT' } } }
    yield { tool_result: { id: 'c', output: 'MARKER-OUTPUT' } }
    yield { reasoning: 'a thought' }
    yield { file: { name: 'a.txt', media_type: 'text/plain', bytes: 'YQ==' } }
  }
  return {
    answer: question.startsWith('long') ? 'a'.repeat(100_000) : `You asked: ${question}`,
    source_documents: [{ page_content: 'a passage', metadata: { source: 'a.md' } }],
    metadata: { history: history.map(({ role, content }: ChatTurn) => `${role} ${content.slice(0, 40)}`), conversation }
  }
}

interface Settings {
  readonly conversations?: boolean
  readonly runs?: boolean
  /** Without: no caller is known. */
  readonly authenticated?: boolean
  readonly steps?: 'all' | 'names' | 'off'
  readonly interpreter?: Interpreter
  readonly bodyLimit?: number
}

interface Service {
  readonly app: FastifyInstance
  readonly tasks: TaskStore
  readonly send: (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object, headers?: Record<string, string>) => Promise<LightMyRequestResponse>
  /** Asks on the direct route; the body of the response. */
  readonly ask: (question: string, fields?: object, headers?: Record<string, string>) => Promise<Json>
  /** Asks in chat completions with all messages; the body of the response. */
  readonly chat: (messages: readonly string[], fields?: object, headers?: Record<string, string>) => Promise<Json>
  readonly read: (id: string, headers?: Record<string, string>) => Promise<Json>
}

async function serviceOn (t: Test, tasks: TaskStore, { conversations, runs: hasRuns = true, authenticated = true, steps, interpreter = agent, bodyLimit }: Settings = {}): Promise<Service> {
  const vacs = createVacs({ vacs: { docs: { ...steps !== undefined && { steps } }, other: {} }, streamInterpreter: interpreter })
  const authenticate = ({ headers }: { headers: Record<string, unknown> }): Principal => {
    const [owner, ...scopes] = String(headers['x-user'] ?? 'alice').split(' ')
    return { owner: owner!, ...scopes.length > 0 && { scopes } }
  }
  const app = Fastify({ trustProxy: true, routerOptions: { maxParamLength: 1_000 } })
  const callers = authenticated ? { authenticate } : {}
  const runs = createRuns({ vacs, tasks, concurrency: 64, ...conversations !== undefined && { conversations } })
  await app.register(vacPlugin, { vacs, ...hasRuns && { runs }, ...bodyLimit !== undefined && { bodyLimit }, ...callers })
  t.teardown(async () => { await app.close() })
  const send: Service['send'] = async (method, url, payload, headers = {}) => await app.inject({ method, url, headers, ...payload !== undefined && { payload } })
  return {
    app,
    tasks,
    send,
    ask: async (question, fields = {}, headers = {}) => (await send('POST', '/vac/docs', { user_input: question, ...fields }, headers)).json(),
    chat: async (messages, fields = {}, headers = {}) => (await send('POST', '/openai/v1/chat/completions', {
      model: 'docs', messages: messages.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content })), ...fields
    }, headers)).json(),
    read: async (id, headers = {}) => (await send('GET', `/vac/docs/conversations/${id}`, undefined, headers)).json()
  }
}

async function serve (t: Test, settings: Settings = {}, store: SqliteTaskStoreOptions = { path: ':memory:' }): Promise<Service> {
  const tasks = sqliteTaskStore(store)
  await tasks.open()
  const service = await serviceOn(t, tasks, settings)
  service.app.addHook('onClose', async () => { await tasks.close() })
  return service
}

const questionsOf = ({ turns }: Json): string[] => turns.map(({ question }: Json) => question)
const historyOf = ({ metadata }: Json): string[] => metadata.history
const FAR = { 'x-forwarded-for': '203.0.113.7' }
const SERVICE_ID = /^conv_[\w-]{22}$/

/** What every store and both protocols do with a conversation. */
async function conversationWith (t: Test, service: Service): Promise<void> {
  const { send, ask, chat, read } = service
  const first = await ask('one', { conversation_id: 'tea' })
  t.match(first, { answer: 'You asked: one', conversation_id: 'tea', metadata: { history: [], conversation: 'tea' } })
  t.strictSame(historyOf(await ask('two', { conversation_id: 'tea' })), ['user one', 'assistant You asked: one'])
  const streamed = await send('POST', '/vac/streaming/docs/sse', { user_input: 'three', conversation_id: 'tea' })
  t.equal(streamed.headers['x-conversation-id'], 'tea')
  t.match(streamed.body, /"conversation_id":"tea"/)
  t.match(streamed.body, /"user one","assistant You asked: one","user two","assistant You asked: two"/)
  const completion = await chat(['four'], { conversation_id: 'tea' })
  t.match(completion, { conversation_id: 'tea', choices: [{ message: { content: 'You asked: four' } }] })
  const stored = await read('tea')
  t.match(stored, { id: 'tea', title: 'one', turn_count: 4, has_earlier: false })
  t.strictSame(questionsOf(stored), ['one', 'two', 'three', 'four'])
  for (const turn of stored.turns) {
    t.match(turn, { answer: `You asked: ${turn.question}`, state: 'completed', source_documents: [{ page_content: 'a passage', metadata: { source: 'a.md' } }], created_at: /Z$/ })
    t.ok(turn.duration_ms >= 0)
  }
  t.match((await send('GET', '/vac/docs/conversations')).json(), { conversations: [{ id: 'tea', title: 'one', turn_count: 4 }] })
  t.match((await send('PATCH', '/vac/docs/conversations/tea', { title: ' Tea time ' })).json(), { id: 'tea', title: 'Tea time' })
  const exported = (await send('GET', '/vac/docs/conversations/tea/export')).json()
  t.strictSame(questionsOf(exported), ['one', 'two', 'three', 'four'])
  const runs = (await send('GET', '/vac/docs/runs?conversation_id=tea')).json().runs
  t.equal(runs.length, 4)
  t.equal((await send('DELETE', '/vac/docs/conversations/tea')).statusCode, 204)
  t.equal((await send('GET', '/vac/docs/conversations/tea')).statusCode, 404)
  t.strictSame((await send('GET', '/vac/docs/runs?conversation_id=tea')).json().runs, [])
  for (const { run_id: id } of runs) t.equal((await send('GET', `/vac/docs/runs/${id}`)).statusCode, 404)
  t.match((await send('POST', '/vac/docs/conversations', exported)).json(), { id: 'tea', title: 'Tea time', turn_count: 4 })
  t.strictSame((await read('tea')).turns, exported.turns)
  t.strictSame(historyOf(await ask('five', { conversation_id: 'tea' })).length, 8)
}

test('a conversation is asked on both protocols, listed, renamed, exported, deleted with its runs and imported, in memory', async t => {
  await conversationWith(t, await serve(t))
})

test('the same in a file', async t => {
  await conversationWith(t, await serve(t, {}, { path: join(t.testdir(), 'tasks.db') }))
})

test('the same in PostgreSQL', async t => {
  await conversationWith(t, await serviceOn(t, await openPostgresStore(t, { url: await taskDatabase(t) })))
})

test('a chat_history next to an id is refused, an empty one is not, and an id has a form', async t => {
  const { send, ask } = await serve(t)
  for (const url of ['/vac/docs', '/vac/streaming/docs', '/vac/streaming/docs/sse']) {
    const response = await send('POST', url, { user_input: 'q', conversation_id: 'tea', chat_history: [['a', 'b']] })
    t.equal(response.statusCode, 400)
    t.match(response.json(), { error: { code: 'BAD_REQUEST', message: /chat_history: is ambiguous next to conversation_id/ } })
  }
  t.match(await ask('q', { conversation_id: 'tea', chat_history: [] }), { conversation_id: 'tea' })
  t.match(await ask('q', { conversation_id: 'tea', chat_history: null }), { conversation_id: 'tea' })
  t.equal('conversation_id' in await ask('q', { conversation_id: null }), false)
  for (const id of ['', 'x'.repeat(257), 5, {}]) t.match(await ask('q', { conversation_id: id }), { error: { code: 'BAD_REQUEST' } })
  for (const id of ['a b/c?d', 'ü😀', 'x'.repeat(256), 'a\u0001b', '%2f']) {
    const { conversation_id: named } = await ask('q', { conversation_id: id })
    t.equal(named, id)
    t.equal((await send('GET', `/vac/docs/conversations/${encodeURIComponent(id)}`)).json().id, id, JSON.stringify(id))
  }
})

test('the interpreter gets the latest 50 turns and 256 Ki characters, whole turns, and the answer has the number of those left out', async t => {
  const { send, ask } = await serve(t)
  const turns = Array.from({ length: 60 }, (_, i) => ({ question: `q${i}`, answer: `a${i}` }))
  await send('POST', '/vac/docs/conversations', { id: 'many', turns })
  const answer = await ask('next', { conversation_id: 'many' })
  t.equal(answer.metadata.turns_left_out, 10)
  t.strictSame(historyOf(answer), turns.slice(10).flatMap(({ question, answer }) => [`user ${question}`, `assistant ${answer}`]))
  await send('POST', '/vac/docs/conversations', { id: 'few', turns: turns.slice(0, 50) })
  t.notOk('turns_left_out' in (await ask('next', { conversation_id: 'few' })).metadata)
  for (const question of ['long 1', 'long 2', 'long 3']) await ask(question, { conversation_id: 'long' })
  const bounded = await ask('next', { conversation_id: 'long' })
  t.match(bounded, { metadata: { turns_left_out: 1 } })
  t.strictSame(historyOf(bounded).filter(text => text.startsWith('user')), ['user long 2', 'user long 3'])
  // one that does not fit at all
  await send('POST', '/vac/docs/conversations', { id: 'huge', turns: [{ question: 'q', answer: 'a'.repeat(256 * 1024) }] })
  t.match(await ask('next', { conversation_id: 'huge' }), { metadata: { history: [], turns_left_out: 1 } })
})

test('chat completions: the first question that differs, the same one again, and the new message only', async t => {
  const { chat, read, send } = await serve(t)
  const id = { conversation_id: 'chat' }
  await chat(['one'], id)
  await chat(['one', 'You asked: one', 'two'], id)
  await chat(['one', 'what the client has shown', 'two', 'x', 'three'], id)
  t.strictSame(questionsOf(await read('chat')), ['one', 'two', 'three'])
  const before = (await read('chat')).turns
  // the new message only
  await chat(['four'], id)
  t.strictSame(questionsOf(await read('chat')), ['one', 'two', 'three', 'four'])
  // the same question again: its turn and the later ones are dropped
  await chat(['one', 'x', 'two', 'x', 'three'], id)
  t.strictSame(questionsOf(await read('chat')), ['one', 'two', 'three'])
  t.not((await read('chat')).turns[2].id, before[2].id)
  // an earlier question is edited
  await chat(['one', 'x', 'another two'], id)
  t.strictSame(questionsOf(await read('chat')), ['one', 'another two'])
  for (const { id } of before.slice(1)) t.equal((await send('GET', `/vac/docs/runs/${id}`)).statusCode, 404, 'the run of a dropped turn is deleted')
  t.equal((await send('GET', `/vac/docs/runs/${before[0].id}`)).statusCode, 200)
  // an edit whose later messages the client has kept
  await chat(['first', 'x', 'another two', 'y', 'three'], id)
  t.strictSame(questionsOf(await read('chat')), ['three'])
  t.match(await read('chat'), { title: 'three', turn_count: 1 })
})

test('chat completions: what is sent becomes the turns where nothing is stored, and is the history of the first answer', async t => {
  const histories: string[][] = []
  const { chat, read, send } = await serve(t, {
    async * interpreter (question, _vac, history) {
      histories.push(history.map(({ role, content }) => `${role} ${content}`))
      yield `You asked: ${question}`
    }
  })
  const messages = [{ role: 'system', content: 'be short' }, ...['a', '1', 'b', '2', 'c'].map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content }))]
  await send('POST', '/openai/v1/chat/completions', { model: 'docs', messages, conversation_id: 'moved' })
  t.strictSame(histories, [['system be short', 'user a', 'assistant 1', 'user b', 'assistant 2']])
  t.match((await read('moved')).turns.map(({ question, answer, state }: Json) => [question, answer, state]), [['a', '1', 'completed'], ['b', '2', 'completed'], ['c', 'You asked: c', 'completed']])
  t.equal((await read('moved')).title, 'a')
  // stored turns count, whatever the client shows of their answers
  await chat(['a', 'forged', 'b', 'forged', 'c', 'forged', 'd'], { conversation_id: 'moved' })
  t.strictSame(histories[1], ['user a', 'assistant 1', 'user b', 'assistant 2', 'user c', 'assistant You asked: c'])
})

test('chat completions: a conversation that has lost its first turns at a limit goes on', async t => {
  const { chat, read } = await serve(t, {}, { path: ':memory:', maxTurns: 3 })
  const sent: string[] = []
  for (const question of ['one', 'two', 'three', 'four', 'five', 'six']) {
    await chat([...sent, question], { conversation_id: 'chat' })
    sent.push(question, 'x')
  }
  t.strictSame(questionsOf(await read('chat')), ['four', 'five', 'six'])
  await chat([...sent.slice(0, 8), 'another five'], { conversation_id: 'chat' })
  t.strictSame(questionsOf(await read('chat')), ['four', 'another five'])
})

test('`store: false` of a request keeps nothing of it, reads the conversation, and goes on with what is stored', async t => {
  const { ask, chat, read, send } = await serve(t)
  await ask('one', { conversation_id: 'tea' })
  t.strictSame(historyOf(await ask('aside', { conversation_id: 'tea', store: false })), ['user one', 'assistant You asked: one'])
  await chat(['one', 'x', 'aside too'], { conversation_id: 'tea', store: false })
  await chat(['another one'], { conversation_id: 'tea', store: false })
  t.strictSame(questionsOf(await read('tea')), ['one'])
  t.match(await ask('nothing', { conversation_id: 'none', store: false }), { metadata: { history: [] } })
  t.equal((await send('GET', '/vac/docs/conversations/none')).statusCode, 404)
  const keyed = await send('POST', '/vac/docs', { user_input: 'with a key', store: false }, { 'idempotency-key': 'k' })
  t.equal((await send('GET', `/vac/docs/conversations/${String(keyed.headers['x-conversation-id'])}`)).statusCode, 404)
  t.equal((await send('DELETE', '/vac/docs/conversations/tea')).statusCode, 204)
  t.strictSame((await send('GET', '/vac/docs/runs?conversation_id=tea')).json().runs, [], 'also the runs that are not turns')
})

test('without conversations or runs an id is refused with the option that keeps them', async t => {
  const { ask, chat, send } = await serve(t, { conversations: false })
  const none = await serve(t, { runs: false })
  for (const [service, code, named] of [[{ ask, chat, send }, 'CONVERSATIONS_NOT_KEPT', /`conversations: false`/], [none, 'RUNS_NOT_CONFIGURED', /`runs`/]] as const) {
    t.match(await service.ask('q', { conversation_id: 'tea' }), { error: { code, message: named } })
    t.match(await service.chat(['q'], { conversation_id: 'tea' }), { error: { code: code.toLowerCase(), message: named } })
    for (const [method, path, body] of routesOf('tea')) {
      const response = await service.send(method, path, body)
      t.equal(response.statusCode, 501, `${method} ${path}`)
      t.match(response.json(), { error: { code, message: named } })
    }
    t.match(await service.ask('q'), { answer: 'You asked: q' })
  }
})

/** A request of each route that names a conversation, and of the other two. */
function routesOf (id: string): ReadonlyArray<readonly ['GET' | 'POST' | 'PATCH' | 'DELETE', string, object?]> {
  return [...ofConversation(id), ['GET', '/vac/docs/conversations'], ['POST', '/vac/docs/conversations', { turns: [] }]]
}

function ofConversation (id: string): ReadonlyArray<readonly ['GET' | 'POST' | 'PATCH' | 'DELETE', string, object?]> {
  const path = `/vac/docs/conversations/${id}`
  return [['GET', path], ['GET', `${path}?before=x`], ['GET', `${path}/export`], ['PATCH', path, { title: 'mine' }], ['DELETE', path]]
}

test('ids of clients belong to their owner, and the same id of two owners is two conversations', async t => {
  const { ask, read, send } = await serve(t)
  const bob = { 'x-user': 'bob' }
  await ask('hers', { conversation_id: 'tea' })
  t.strictSame(historyOf(await ask('his', { conversation_id: 'tea' }, bob)), [])
  t.strictSame([questionsOf(await read('tea')), questionsOf(await read('tea', bob))], [['hers'], ['his']])
  t.equal((await send('GET', '/vac/other/conversations/tea')).statusCode, 404)
  t.equal((await send('DELETE', '/vac/docs/conversations/tea', undefined, bob)).statusCode, 204)
  t.strictSame(questionsOf(await read('tea')), ['hers'])
  t.equal((await send('GET', '/vac/docs/conversations/tea', undefined, { 'x-user': 'alice vac:other' })).statusCode, 404)
  t.match((await send('GET', '/vac/docs/conversations', undefined, { 'x-user': 'alice vac:docs' })).json(), { conversations: [{ id: 'tea' }] })
})

test('an id of the service that another owner has is answered byte for byte like an unknown one, on every route', async t => {
  const { send } = await serve(t)
  const bob = { 'x-user': 'bob' }
  const started = await send('POST', '/vac/docs', { user_input: 'hers', background: true })
  const { conversation_id: id } = started.json()
  t.match(id, SERVICE_ID)
  const unknown = changeText(id)
  const requests = (id: string): ReadonlyArray<readonly ['GET' | 'POST' | 'PATCH' | 'DELETE', string, object?]> => [
    ...ofConversation(id),
    ['POST', '/vac/docs', { user_input: 'q', conversation_id: id }],
    ['POST', '/vac/docs', { user_input: 'q', conversation_id: id, store: false }],
    ['POST', '/vac/docs', { user_input: 'q', conversation_id: id, background: true }],
    ['POST', '/vac/streaming/docs', { user_input: 'q', conversation_id: id }],
    ['POST', '/vac/streaming/docs/sse', { user_input: 'q', conversation_id: id }],
    ['POST', '/openai/v1/chat/completions', { model: 'docs', messages: [{ role: 'user', content: 'q' }], conversation_id: id }],
    ['POST', '/openai/v1/chat/completions/docs', { messages: [{ role: 'user', content: 'q' }], stream: true, conversation_id: id }]
  ]
  const shown = ({ statusCode, headers, body }: LightMyRequestResponse, id: string): string =>
    JSON.stringify([statusCode, { ...headers, date: '', 'x-request-id': '' }, body.replace(/req-\w+/g, 'REQ')]).replaceAll(id, 'ID')
  const others = requests(unknown)
  for (const [i, [method, path, body]] of requests(id).entries()) {
    const foreign = await send(method, path, body, bob)
    const [, otherPath, otherBody] = others[i]!
    t.equal(foreign.statusCode, 404, `${method} ${path}`)
    t.equal(shown(foreign, id), shown(await send(method, otherPath, otherBody, bob), unknown), `${method} ${path} ${JSON.stringify(body)}`)
  }
  t.strictSame((await send('GET', '/vac/docs/conversations', undefined, bob)).json(), { conversations: [] })
  t.match((await send('POST', '/vac/docs/conversations', { id, turns: [{ question: 'x' }] }, bob)).json().id, SERVICE_ID)
  t.match((await send('GET', `/vac/docs/conversations/${id}`)).json(), { turns: [{ question: 'hers' }], title: 'hers' })
})

test('unknown callers on other machines keep nothing under an id of theirs, and go on with one of the service', async t => {
  const { ask, chat, send, read } = await serve(t, { authenticated: false })
  const first = await ask('one', { conversation_id: 'tea' }, FAR)
  t.match(first.conversation_id, SERVICE_ID)
  t.not((await ask('other', { conversation_id: 'tea' }, FAR)).conversation_id, first.conversation_id)
  t.strictSame(historyOf(await ask('two', { conversation_id: first.conversation_id }, FAR)), ['user one', 'assistant You asked: one'])
  t.strictSame(questionsOf(await read(first.conversation_id, FAR)), ['one', 'two'])
  const completion = await chat(['a', '1', 'b'], { conversation_id: 'tea' }, FAR)
  t.match(completion.conversation_id, SERVICE_ID)
  t.strictSame(questionsOf(await read(completion.conversation_id, FAR)), ['a', 'b'])
  // the one user of a local service has the id
  await ask('local', { conversation_id: 'tea' })
  t.strictSame(questionsOf(await read('tea')), ['local'])
  for (const [method, path, body] of ofConversation('tea')) {
    t.equal((await send(method, path, body, FAR)).body.replace(/req-\w+/g, ''), (await send(method, path.replace('tea', 'coffee'), body, FAR)).body.replace(/req-\w+/g, ''))
    t.equal((await send(method, path, body, FAR)).statusCode, 404)
  }
  t.strictSame((await send('GET', '/vac/docs/conversations', undefined, FAR)).json(), { conversations: [] })
  t.equal((await send('GET', '/vac/docs/conversations')).json().conversations.length, 4)
  t.match((await send('POST', '/vac/docs/conversations', { id: 'mine', turns: [] }, FAR)).json().id, SERVICE_ID)
  t.strictSame(questionsOf(await read('tea')), ['local'])
})

test('failed and cancelled answers are turns with a state, and history as far as they were streamed', async t => {
  const { ask, read, send } = await serve(t)
  await ask('fail', { conversation_id: 'tea' })
  const { run_id: run } = await ask('wait', { conversation_id: 'tea', background: true })
  await until(async () => (await read('tea')).turns[1]?.state === 'running', 'the answer is in progress')
  t.notOk('answer' in (await read('tea')).turns[1])
  await send('POST', `/vac/docs/runs/${String(run)}/cancel`)
  await until(async () => 'answer' in (await read('tea')).turns[1], 'the text until then is kept')
  const { turns } = await read('tea')
  t.match(turns, [
    { question: 'fail', state: 'failed', error: { code: 'SOURCE_AWAY', message: /the source is away/ } },
    { question: 'wait', state: 'cancelled', answer: 'You asked: ', error: { code: 'RUN_CANCELLED' } }
  ])
  t.notOk('answer' in turns[0])
  t.strictSame(historyOf(await ask('next', { conversation_id: 'tea' })), ['user wait', 'assistant You asked: '])
})

test('of a cancelled answer its turn keeps the beginning, as the answer of a stream has it', async t => {
  let isSaid = false
  const { ask, read, send } = await serve(t, {
    interpreter: async function * (_question, _vac, _history, { signal }) {
      for (let i = 0; i < 300; i++) yield 'x'.repeat(1_024)
      isSaid = true
      await new Promise((_resolve, reject) => { signal.addEventListener('abort', () => { reject(new Error('aborted')) }) })
    }
  })
  const { run_id: run } = await ask('much', { conversation_id: 'tea', background: true })
  await until(() => isSaid, 'all is said')
  await send('POST', `/vac/docs/runs/${String(run)}/cancel`)
  await until(async () => 'answer' in (await read('tea')).turns[0], 'the text until then is kept')
  const { answer, state, metadata } = (await read('tea')).turns[0]
  t.strictSame([answer.length, state, metadata?.truncated], [256 * 1_024, 'cancelled', true])
})

test('steps of turns are those that the VAC and the scope let their reader see', async t => {
  const readers = [['alice', false], ['alice vac:*', false], ['alice admin', true]] as const
  for (const [steps, asker, kept] of [['names', 'alice', 'names'], ['names', 'alice admin', 'all'], ['all', 'alice', 'all'], ['off', 'alice admin', 'none']] as const) {
    const { ask, send } = await serve(t, { steps })
    await ask('steps', { conversation_id: 'tea' }, { 'x-user': asker })
    for (const [reader, isAdmin] of readers) {
      const sees = kept === 'none' ? 'none' : kept === 'all' && (isAdmin || steps === 'all') ? 'all' : 'names'
      for (const path of ['tea', 'tea/export']) {
        const { body, statusCode } = await send('GET', `/vac/docs/conversations/${path}`, undefined, { 'x-user': reader })
        t.equal(statusCode, 200)
        t.equal(/MARKER/.test(body), sees === 'all', `${steps}, asked by ${asker}, read by ${reader}`)
        const [turn] = JSON.parse(body).turns
        t.equal(turn.steps.length, sees === 'none' ? 0 : 3)
        if (sees !== 'none') t.strictSame(turn.files, [{ name: 'a.txt', media_type: 'text/plain', bytes: 'YQ==' }])
      }
    }
  }
})

test('turns outlive their runs', async t => {
  const { ask, read, send } = await serviceOn(t, await openStore(t, { path: ':memory:', ttlMs: 0 }))
  const { headers } = await send('POST', '/vac/docs', { user_input: 'one', conversation_id: 'tea' })
  await until(async () => (await send('GET', `/vac/docs/runs/${String(headers['x-run-id'])}`)).statusCode === 404, 'the run is purged')
  t.match((await read('tea')).turns, [{ question: 'one', answer: 'You asked: one', state: 'completed' }])
  t.strictSame(historyOf(await ask('two', { conversation_id: 'tea' })), ['user one', 'assistant You asked: one'])
})

test('a deleted conversation is not in the file any more, nor are the answers that an edit dropped', async t => {
  const folder = t.testdir()
  const service = await serve(t, {}, { path: join(folder, 'tasks.db') })
  const { app, ask, chat, send } = service
  for (const question of ['SECRET one', 'SECRET two', 'SECRET fail']) await ask(question, { conversation_id: 'SECRET-ID' })
  await chat(['SECRET one', 'x', 'SECRET edit'], { conversation_id: 'SECRET-ID' })
  await ask('SECRET aside', { conversation_id: 'SECRET-ID', store: false })
  await send('PATCH', '/vac/docs/conversations/SECRET-ID', { title: 'SECRET title' })
  for (let i = 0; i < 60; i++) await ask(i % 3 === 0 ? `it stays ${'x'.repeat(i * 10)}` : `SECRET ${'y'.repeat(i * 7)}`, { conversation_id: i % 3 === 0 ? `other ${i % 2}` : 'SECRET-ID' })
  t.equal((await send('DELETE', '/vac/docs/conversations/SECRET-ID')).statusCode, 204)
  await app.close()
  const files = readdirSync(folder).map(name => readFileSync(join(folder, name)).toString('latin1'))
  t.ok(files.some(text => text.includes('it stays')))
  t.notOk(files.some(text => text.includes('SECRET')))
})

test('an export is the same conversation in another store, in pages too, and again in the same store', async t => {
  const { ask, chat, send, read } = await serve(t, { steps: 'all', bodyLimit: 16 * 1024 * 1024 })
  const other = await serve(t, { steps: 'all', bodyLimit: 16 * 1024 * 1024 })
  await send('POST', '/vac/docs/conversations', { id: 'tea', turns: Array.from({ length: 450 }, (_, i) => ({ question: `q${i}`, answer: `a${i}` })) })
  for (const question of ['steps', 'fail', 'one']) await ask(question, { conversation_id: 'tea' })
  await chat(['two'], { conversation_id: 'tea' })
  const exported = (await send('GET', '/vac/docs/conversations/tea/export')).json()
  t.equal(exported.turns.length, 454)
  t.equal((await read('tea')).turns.length, 200)
  const page = (await send('GET', `/vac/docs/conversations/tea?before=${String((await read('tea')).turns[0].id)}`)).json()
  t.strictSame([page.turns.length, page.turns.at(-1).question, page.has_earlier], [200, 'q253', true])
  const moved = await other.send('POST', '/vac/docs/conversations', exported)
  t.equal(moved.statusCode, 201)
  const there = (await other.send('GET', '/vac/docs/conversations/tea/export')).json()
  t.strictSame({ ...there, updated_at: '' }, { ...exported, updated_at: '' })
  const copy = (await send('POST', '/vac/docs/conversations', exported)).json()
  t.match(copy, { id: SERVICE_ID, turn_count: 454 })
  t.equal((await send('DELETE', `/vac/docs/conversations/${String(copy.id)}`)).statusCode, 204)
  t.equal((await read('tea')).turn_count, 454)
})

test('an import takes what other services have, and refuses what has no form', async t => {
  const { send, read } = await serve(t)
  const add = async (turn: object, more: object = {}): Promise<LightMyRequestResponse> => await send('POST', '/vac/docs/conversations', { turns: [turn], ...more })
  for (const [turn, expected] of [
    [{ question: 'q' }, { question: 'q', state: 'completed' }],
    [{ question: 'q', answer: 'a', state: 'running' }, { answer: 'a', state: 'completed' }],
    [{ question: 'q', state: 'running' }, { state: 'failed' }],
    [{ question: 'q', state: 'cancelled' }, { state: 'cancelled' }],
    [{ question: 'q', answer: 'a', state: 'cancelled' }, { answer: 'a', state: 'cancelled' }],
    [{ question: 'a\0b \ud800', answer: '\0' }, { state: 'completed' }],
    [{ question: 'q', created_at: '2020-01-02T03:04:05+02:00', duration_ms: 1.5 }, { created_at: '2020-01-02T01:04:05.000Z', duration_ms: 2 }],
    [{ question: '', unknown: 1 }, { question: '' }]
  ] as const) {
    const response = await add(turn)
    t.equal(response.statusCode, 201, response.body)
    t.match((await read(response.json().id)).turns, [expected])
  }
  for (const turn of [{}, { question: 5 }, { question: 'q', created_at: 'yesterday' }, { question: 'q', created_at: '2020-01-02T23:59:60Z' }, { question: 'q', state: 'lost' }, { question: 'q', duration_ms: -1 }, { question: 'q', steps: [{ no: 1 }] }]) {
    t.equal((await add(turn)).statusCode, 400, JSON.stringify(turn))
  }
  t.equal((await add({ id: 'same', question: 'q' }, { turns: [{ id: 'same', question: 'a' }, { id: 'same', question: 'b' }] })).statusCode, 201)
  t.match((await add({ question: 'q' }, { title: 'x'.repeat(9_000) })).json().title.length, 256)
  t.equal((await add({ question: 'q', answer: 'a'.repeat(900_000) })).statusCode, 201)
})

test('conversations are listed in pages, the latest change first, without those of other VACs', async t => {
  const { ask, read, send } = await serve(t)
  for (let i = 0; i < 5; i++) await ask(`question ${i}`, { conversation_id: `chat ${i}` })
  const last = Date.parse((await read('chat 4')).updated_at)
  await until(() => Date.now() > last, 'the clock goes on')
  await ask('again', { conversation_id: 'chat 0' })
  await send('POST', '/vac/other', { user_input: 'elsewhere', conversation_id: 'elsewhere' })
  const seen: string[] = []
  let cursor = ''
  do {
    const page = (await send('GET', `/vac/docs/conversations?limit=2${cursor}`)).json()
    seen.push(...page.conversations.map(({ id }: Json) => id))
    cursor = page.next_cursor === undefined ? '' : `&cursor=${encodeURIComponent(page.next_cursor)}`
  } while (cursor !== '')
  t.strictSame([seen[0], [...seen].sort()], ['chat 0', ['chat 0', 'chat 1', 'chat 2', 'chat 3', 'chat 4']])
  for (const query of ['limit=0', 'limit=101', 'cursor=no', 'other=1']) t.equal((await send('GET', `/vac/docs/conversations?${query}`)).statusCode, 400, query)
  t.equal((await send('PATCH', '/vac/docs/conversations/chat%200', { title: ' ' })).statusCode, 400)
})

test('of two questions at once one is answered and the other is refused, also by another process of the file', async t => {
  const path = join(t.testdir(), 'tasks.db')
  const [one, two] = [await serve(t, {}, { path }), await serve(t, {}, { path })]
  const ask = async ({ send }: Service, fields: object): Promise<number> => (await send('POST', '/vac/docs', { user_input: 'wait', background: true, conversation_id: 'tea', ...fields })).statusCode
  t.strictSame((await Promise.all([ask(one, {}), ask(two, {})])).sort(), [202, 409])
  const refused = await two.send('POST', '/openai/v1/chat/completions', { model: 'docs', messages: [{ role: 'user', content: 'q' }], conversation_id: 'tea' })
  t.strictSame([refused.statusCode, refused.json().error.code], [409, 'run_in_progress'])
  t.equal(await ask(two, { store: false, user_input: 'aside', background: false }), 200)
  t.strictSame(questionsOf(await one.read('tea')), ['wait'])
  const { id } = (await two.read('tea')).turns[0]
  t.match((await two.send('POST', `/vac/docs/runs/${String(id)}/cancel`)).json(), { state: 'cancelled' })
  t.match(await two.ask('next', { conversation_id: 'tea' }), { answer: 'You asked: next' })
  t.strictSame(questionsOf(await one.read('tea')), ['wait', 'next'])
})

/** Asks questions, once with the history that a client sends and once in a stored conversation: the answers. */
async function askTwice ({ ask }: Service, questions: readonly string[], id: string): Promise<Array<readonly [sent: Json, stored: Json]>> {
  const answers: Array<readonly [Json, Json]> = []
  const history: Array<readonly [string, string]> = []
  for (const question of questions) {
    const sent = await ask(question, { chat_history: history })
    const { conversation_id: _id, ...stored } = await ask(question, { conversation_id: id })
    answers.push([sent, stored])
    history.push([question, sent.answer])
  }
  return answers
}

test('the interpreter of documents answers from stored turns as from those that are sent', async t => {
  const referring = [...REFERRING, [SPA, ['When does the sauna open?', 'Where is the defibrillator?', 'When is the library closed?'], /Wednesdays/] as const]
  for (const [i, [documents, questions, answer]] of referring.entries()) {
    const service = await serve(t, { interpreter: documentsInterpreter(await memoryOf(t, documents)) })
    const answers = await askTwice(service, questions, `chat ${i}`)
    for (const [sent, stored] of answers) t.strictSame(stored, sent, questions.join(' '))
    t.match(answers.at(-1)![1].answer, answer, questions.join(' '))
  }
})

test('the interpreter of a model gets stored turns as those that are sent', async t => {
  const server = await fakeOpenai(t, 'none')
  const openai = { base_url: server.url, api_key: 'k' }
  const interpreter: Interpreter = (question, name, history, extra) => openaiInterpreter()(question, name, history, { ...extra, vac: { model: 'm', openai } })
  const questions = ['When does the sauna open?', 'And for children?', 'Price?']
  for (const [sent, stored] of await askTwice(await serve(t, { interpreter }), questions, 'chat')) t.strictSame(stored, sent)
  const messages = server.requests.map(({ body }) => body.messages)
  t.equal(messages.length, 6)
  for (const i of [0, 2, 4]) t.strictSame(messages[i + 1], messages[i])
  t.strictSame(messages[5]!.filter(({ role }) => role === 'user').map(({ content }) => content), questions)
})
