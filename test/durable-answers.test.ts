import { a2aPlugin } from '@polyvac/a2a'
import { createVacs, type Interpreter, type Principal, type Vacs } from '@polyvac/core'
import { mcpServerPlugin, vacTools } from '@polyvac/mcp-server'
import { createRuns, type OwnRuns } from '@polyvac/runs'
import type { TaskStore } from '@polyvac/tasks'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { protocolPlugin, vacPlugin, type ChatProtocol } from '@polyvac/vac'
import Fastify, { type FastifyInstance, type LightMyRequestResponse } from 'fastify'
import { once } from 'node:events'
import { request as httpRequest, type ClientRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type Test } from 'tap'
import { until } from './fixtures/until.js'
import { GRACE_MS } from '../packages/vac/src/chat/limits.js'
import { toy } from '../packages/vac/test/fixtures/toy.js'
import { eventsOf, jsonOf, messagesOf } from './probes/events.mjs'
import { forms, PROBES, VAC_PROTOCOLS, type Probe } from './probes/index.mjs'
import './fixtures/timeout.mjs'

/** What the interpreter of a service did, and what its answers wait for. */
interface Work {
  asked: number
  aborted: number
  finished: number
  /** Lets all answers that wait for it go on. */
  open: () => void
  readonly gate: Promise<void>
}

interface Service { readonly app: FastifyInstance, readonly work: Work, readonly tasks: TaskStore, readonly vacs: Vacs, readonly runs: OwnRuns }

/** Answers in three pieces; `wait` waits before the last one, `fail` fails, `ask` asks back. */
function makeAgent (work: Work): Interpreter {
  return async function * (question, _vac, _history, { signal }) {
    work.asked++
    const end = (): void => { work.aborted++ }
    signal.addEventListener('abort', end)
    yield 'You '
    yield { progress: 0.5, message: 'half' }
    yield 'asked: '
    if (question.startsWith('wait')) await Promise.race([work.gate, once(signal, 'abort').then(() => { throw new Error('aborted') })])
    if (question === 'fail') throw Object.assign(new Error('the source is away'), { code: 'SOURCE_AWAY', statusCode: 502, expose: true })
    if (question === 'ask') return { answer: 'You asked: which one?', input_required: 'which one?' }
    yield question
    signal.removeEventListener('abort', end)
    work.finished++
    return { answer: `You asked: ${question}`, source_documents: [{ page_content: 'p', metadata: { source: 's' } }], metadata: { n: work.asked } }
  }
}

async function makeService (t: Test, { runs: hasRuns = true, authenticated = true, agent = makeAgent }: { runs?: boolean, authenticated?: boolean, agent?: typeof makeAgent } = {}): Promise<Service> {
  let open!: () => void
  const gate = new Promise<void>(resolve => { open = resolve })
  const work: Work = { asked: 0, aborted: 0, finished: 0, open, gate }
  const vacs = createVacs({ vacs: ['docs', 'other'], streamInterpreter: agent(work) })
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  const app = Fastify()
  const authenticate = async ({ headers }: { headers: Record<string, unknown> }): Promise<Principal> => {
    const [owner, ...scopes] = String(headers['x-user'] ?? 'alice').split(' ')
    return { owner: owner!, ...scopes.length > 0 && { scopes } }
  }
  app.addHook('onClose', async () => { await tasks.close() })
  const callers = authenticated ? { authenticate } : {}
  const runs = createRuns({ vacs, tasks, concurrency: 64 })
  await app.register(vacPlugin, { vacs, protocols: VAC_PROTOCOLS, ...hasRuns && { runs }, ...callers })
  await app.register(a2aPlugin, { vacs, tasks, concurrency: 64, ...callers })
  await app.register(mcpServerPlugin, { sources: [vacTools(vacs)], tasks, ...callers })
  t.teardown(() => app.close())
  return { app, work, tasks, vacs, runs }
}

type Sent = Promise<LightMyRequestResponse>
const post = async (app: FastifyInstance, url: string, payload: object = {}, headers: Record<string, string> = {}): Sent => await app.inject({ method: 'POST', url, payload, headers })
const get = async (app: FastifyInstance, url: string, headers: Record<string, string> = {}): Sent => await app.inject({ url, headers })
const start = async (app: FastifyInstance, question: string, headers: Record<string, string> = {}): Promise<string> =>
  (await post(app, '/vac/docs', { user_input: question, background: true }, headers)).json().run_id as string
const ended = async (app: FastifyInstance, id: string, headers = {}): Promise<Record<string, unknown>> =>
  await until(async () => { const run = (await get(app, `/vac/docs/runs/${id}`, headers)).json(); return ['queued', 'running'].includes(run.state) ? undefined : run }, 'the run has ended')
const textOf = (body: string): string => eventsOf(body).map(({ event, data }) => event === undefined ? (data as { chunk?: string }).chunk ?? '' : '').join('')

const contentOf = (body: string): string => eventsOf(body).map(({ data }) => (data as { choices?: Array<{ delta: { content?: string } }> }).choices?.[0]?.delta.content ?? '').join('')

/** Opens a stream over a separate socket; `leave` closes it. */
async function openStream (app: FastifyInstance, path: string, body: object, headers: Record<string, string> = {}): Promise<{ readonly leave: () => void, readonly text: () => string, readonly isOver: () => boolean }> {
  if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  let text = ''
  let isOver = false
  const request: ClientRequest = httpRequest({ host: '127.0.0.1', port, path, method: 'POST', agent: false, headers: { 'content-type': 'application/json', ...headers } })
  request.on('error', () => {})
  request.on('response', response => { response.setEncoding('utf8').on('data', (piece: string) => { text += piece }).on('end', () => { isOver = true }).on('error', () => {}) })
  request.end(JSON.stringify(body))
  return { leave: () => { request.destroy() }, text: () => text, isOver: () => isOver }
}

test('a question in the background is answered 202 at once, and its run is read later', async t => {
  const { app, work } = await makeService(t)
  for (const [url, payload, headers] of [
    ['/vac/docs', { user_input: 'wait', background: true }, {}],
    ['/vac/docs', { user_input: 'wait' }, { prefer: 'respond-async, wait=10' }],
    ['/vac/streaming/docs', { user_input: 'wait', background: true }, {}],
    ['/vac/streaming/docs/sse', { user_input: 'wait' }, { prefer: 'handling=lenient, respond-async' }]
  ] as const) {
    const response = await post(app, url, payload, headers)
    t.equal(response.statusCode, 202, url)
    const { run_id: id, conversation_id: conversation } = response.json()
    t.strictSame(response.json(), { run_id: id, conversation_id: conversation })
    t.equal(response.headers.location, `/vac/docs/runs/${id}`)
    t.equal(response.headers['x-conversation-id'], conversation)
    const run = (await get(app, response.headers.location!)).json()
    t.match(run, { run_id: id, conversation_id: conversation, state: /queued|running/, created_at: /^\d{4}-.*Z$/, updated_at: /Z$/ })
    t.notOk('answer' in run)
  }
  work.open()
  const { runs } = (await get(app, '/vac/docs/runs')).json()
  t.equal(runs.length, 4)
  for (const { run_id: id } of runs) {
    const run = await ended(app, id)
    t.match(run, { state: 'completed', answer: 'You asked: wait', source_documents: [{ page_content: 'p' }] })
  }
})

test('a run is read from its beginning or from any cursor, as events and as lines', async t => {
  const { app } = await makeService(t)
  const id = await start(app, 'cursor')
  await ended(app, id)
  const whole = await get(app, `/vac/docs/runs/${id}/stream`)
  t.equal(whole.headers['content-type'], 'text/event-stream')
  const events = messagesOf(whole.body).map(({ data, ...event }) => ({ ...event, data: (jsonOf(data) ?? data) as { chunk?: string, answer?: string } }))
  t.equal(textOf(whole.body), 'You asked: cursor')
  t.equal(events.at(-2)?.data.answer, 'You asked: cursor')
  t.equal(events.at(-1)?.data, '[DONE]')
  let had = ''
  for (const { id: cursor, event, data } of events.slice(0, -2)) {
    if (event === undefined) had += data.chunk ?? ''
    for (const rest of [await get(app, `/vac/docs/runs/${id}/stream?after=${cursor}`), await get(app, `/vac/docs/runs/${id}/stream`, { 'last-event-id': cursor! })]) {
      t.equal(had + textOf(rest.body), 'You asked: cursor', `after ${cursor}`)
    }
  }
  const lines = (await get(app, `/vac/docs/runs/${id}/stream?after=0`, { accept: 'application/x-ndjson' })).body.trim().split('\n').map(line => JSON.parse(line))
  t.equal(lines.map(({ chunk = '' }) => chunk).join(''), 'You asked: cursor')
  t.match(lines.at(-1), { answer: 'You asked: cursor', seq: Number })
  t.equal((await get(app, `/vac/docs/runs/${id}/stream`, { 'last-event-id': 'x' })).statusCode, 400)
  t.equal((await get(app, `/vac/docs/runs/${id}/stream?after=-1`)).statusCode, 400)
})

test('all readers of a run learn that it asks back, failed or was stopped', async t => {
  const { app, work } = await makeService(t)
  const asking = await start(app, 'ask')
  t.match(await ended(app, asking), { state: 'input_required', answer: 'You asked: which one?', input_required: 'which one?' })
  t.match((await get(app, `/vac/docs/runs/${asking}/stream`)).body, /"input_required":"which one\?"/)

  const failing = await start(app, 'fail')
  t.match(await ended(app, failing), { state: 'failed', error: { code: 'SOURCE_AWAY', message: 'the source is away' } })
  t.match((await get(app, `/vac/docs/runs/${failing}/stream`)).body, /event: error\ndata: \{"error":\{"code":"SOURCE_AWAY"/)

  const running = await start(app, 'wait')
  await until(() => work.asked === 3, 'the interpreter runs')
  const { aborted } = work
  const stopped = await post(app, `/vac/docs/runs/${running}/cancel`)
  t.equal(stopped.statusCode, 200)
  t.match(stopped.json(), { run_id: running, state: 'cancelled', error: { code: 'RUN_CANCELLED' } })
  await until(() => work.aborted === aborted + 1, 'the interpreter is aborted')
  t.match((await post(app, `/vac/docs/runs/${running}/cancel`)).json(), { state: 'cancelled' }, 'twice')
  t.match((await get(app, `/vac/docs/runs/${running}/stream`)).body, /RUN_CANCELLED/)
  t.match((await post(app, `/vac/docs/runs/${asking}/cancel`)).json(), { state: 'cancelled' }, 'a question that nobody answers')
})

test('a deleted run is gone, and one in progress is stopped before', async t => {
  const { app, work, tasks } = await makeService(t)
  const id = await start(app, 'wait')
  await until(() => work.asked === 1, 'the interpreter runs')
  const response = await app.inject({ method: 'DELETE', url: `/vac/docs/runs/${id}` })
  t.equal(response.statusCode, 204)
  t.equal(response.body, '')
  await until(() => work.aborted === 1, 'the interpreter is aborted')
  t.equal((await get(app, `/vac/docs/runs/${id}`)).statusCode, 404)
  t.equal((await app.inject({ method: 'DELETE', url: `/vac/docs/runs/${id}` })).statusCode, 404)
  t.equal((await tasks.list(' runs alice')).tasks.length, 0)
})

test('runs are listed by pages, newest first, of a state, of one VAC and of the caller only', async t => {
  const { app } = await makeService(t)
  const ids: string[] = []
  for (const question of ['a', 'b', 'fail', 'c']) {
    ids.push(await start(app, question))
    await ended(app, ids.at(-1)!)
  }
  const first = (await get(app, '/vac/docs/runs?limit=3')).json()
  t.strictSame(first.runs.map(({ run_id: id }: { run_id: string }) => id), ids.slice(1).reverse())
  const second = (await get(app, `/vac/docs/runs?limit=3&cursor=${encodeURIComponent(first.next_cursor)}`)).json()
  t.strictSame(second.runs.map(({ run_id: id }: { run_id: string }) => id), ids.slice(0, 1))
  t.notOk('next_cursor' in second)
  t.equal((await get(app, '/vac/docs/runs?state=failed')).json().runs.length, 1)
  t.strictSame((await get(app, '/vac/other/runs')).json(), { runs: [] })
  t.strictSame((await get(app, '/vac/docs/runs', { 'x-user': 'bob' })).json(), { runs: [] })
  t.equal((await get(app, '/vac/docs/runs?cursor=nonsense')).statusCode, 400)
  t.equal((await get(app, '/vac/docs/runs?state=odd')).statusCode, 400)
})

test('a run of somebody else, of another VAC, or of a VAC that is not allowed is like an unknown one', async t => {
  const { app } = await makeService(t)
  const id = await start(app, 'mine')
  await ended(app, id)
  const unknown = 'f'.repeat(8) + id.slice(8)
  const same = (response: LightMyRequestResponse): unknown => [response.statusCode, response.body.replace(/"requestId":"[^"]*"/, '')]
  const methods = [['GET', ''], ['GET', '/stream'], ['POST', '/cancel'], ['DELETE', '']] as const
  for (const [method, path] of methods) {
    const ask = async (vac: string, run: string, user: string): Promise<unknown> =>
      same(await app.inject({ method, url: `/vac/${vac}/runs/${run}${path}`, headers: { 'x-user': user } }))
    t.strictSame(await ask('docs', id, 'bob'), await ask('docs', unknown, 'bob'), `${method} ${path} of another owner`)
    t.strictSame(await ask('other', id, 'alice'), await ask('other', unknown, 'alice'), `${method} ${path} of another VAC`)
    const hidden = await ask('docs', id, 'alice vac:other') as [number, string]
    t.strictSame(hidden, await ask('docs', unknown, 'alice vac:other'), `${method} ${path} without the scope`)
    t.equal(hidden[0], 404)
  }
  t.equal((await get(app, `/vac/docs/runs/${id}`)).statusCode, 200)
})

test('callers without an identity have the runs whose ids they know; only on this machine they list them', async t => {
  const { app } = await makeService(t, { authenticated: false })
  const far = { 'x-forwarded-for': '203.0.113.7' }
  const id = await start(app, 'mine', far)
  t.equal((await ended(app, id, far)).state, 'completed')
  t.strictSame((await get(app, '/vac/docs/runs', far)).json(), { runs: [] })
  t.equal((await get(app, '/vac/docs/runs')).json().runs.length, 1)
  const ask = async (conversation: string): Promise<string> =>
    (await post(app, '/vac/docs', { user_input: 'mine', background: true, conversation_id: conversation }, far)).json().conversation_id as string
  const first = await ask('tea')
  t.not(first, 'tea', 'a name of a caller could be that of another one')
  t.not(await ask('tea'), first)
  t.equal(await ask(first), first, 'one of the service is gone on with')
})

const CONVERSATION: Readonly<Record<string, string>> = { direct: 'conversation_id', responses: 'conversation', ai_sdk: 'id', ag_ui: 'threadId' }

interface Behaviour {
  /** The least time in ms after which an answer without its reader is aborted; undefined: never. */
  readonly graceMs?: number | undefined
  readonly second: 'refused' | 'supersedes' | 'beside'
}

const FORMS: ReturnType<typeof forms> = [...forms(), ['responses: events, not kept', (input, model) => ({ path: '/openai/v1/responses', body: { model, input, stream: true, store: false }, headers: {} }), PROBES.responses]]

/** What must happen in each form of each protocol when its reader leaves, and when a second question comes. */
function tableOf (what: string, { isTask = false, goesOn = false }: Probe): Behaviour {
  return {
    graceMs: what === 'responses: events' ? GRACE_MS : isTask || goesOn ? undefined : 0,
    second: !(what.split(':')[0]! in CONVERSATION) || what.endsWith('not kept') ? 'beside' : goesOn ? 'supersedes' : 'refused'
  }
}

test('a reader that leaves, and a second question, have the effect that each protocol promises', async t => {
  const { app, work } = await makeService(t)
  const headers = { 'x-user': 'alice' }
  for (const [what, make, probe] of FORMS) {
    const { graceMs, second } = tableOf(what, probe)
    const request = make('wait', 'docs')
    const field = CONVERSATION[what.split(':')[0]!]
    const inConversation = field !== undefined && second !== 'beside' ? { ...request.body, [field]: what } : request.body
    const before = { ...work }
    const readers = [await openStream(app, request.path, inConversation, { ...request.headers, ...headers })]
    await until(() => work.asked === before.asked + 1, `${what}: the interpreter runs`)
    if (second === 'refused') {
      const refused = await post(app, request.path, inConversation, { ...request.headers, ...headers })
      t.equal(refused.statusCode, 409, `${what}: a second question`)
    } else {
      const again = make('wait', 'docs')
      const body = second === 'supersedes' ? { ...again.body, [field!]: what } : again.body
      readers.push(await openStream(app, again.path, body, { ...again.headers, ...headers }))
      await until(() => work.asked === before.asked + 2, `${what}: both are answered`)
    }
    if (second === 'supersedes') {
      await until(() => work.aborted === before.aborted + 1 && readers[0]!.isOver(), `${what}: the first answer ends, and its reader knows`)
      t.notOk(readers[1]!.isOver(), `${what}: the second one goes on`)
    }
    for (const reader of readers) reader.leave()
    if (graceMs === undefined) continue
    const left = performance.now()
    await until(() => work.aborted === before.aborted + readers.length, `${what}: the answers are aborted`)
    const afterMs = Math.round(performance.now() - left)
    t.ok(afterMs >= graceMs, `${what}: aborted after ${afterMs} ms`)
  }
  const { aborted } = work
  const goingOn = FORMS.map(([what, , probe]) => tableOf(what, probe)).reduce((sum, { graceMs, second }) => sum + (graceMs !== undefined ? 0 : second === 'supersedes' ? 1 : 2), 0)
  t.equal(work.asked - aborted, goingOn)
  work.open()
  await until(() => work.finished === goingOn, 'the tasks have ended by themselves')
  t.equal(work.aborted, aborted)
})

test('a reader that leaves does not end an answer in the background, nor one with a key', async t => {
  const { app, work } = await makeService(t)
  for (const [path, body, headers] of [
    ['/vac/docs', { user_input: 'wait', background: true }, {}],
    ['/vac/streaming/docs/sse', { user_input: 'wait for a key' }, { 'idempotency-key': 'k' }],
    ['/openai/v1/chat/completions', { model: 'docs', stream: true, messages: [{ role: 'user', content: 'wait' }] }, { 'idempotency-key': 'k' }],
    ['/openai/v1/responses', { model: 'docs', input: 'wait', background: true }, {}],
    ['/openai/v1/responses', { model: 'docs', input: 'wait', background: true, stream: true }, {}]
  ] as const) {
    const { asked } = work
    const reader = await openStream(app, path, body, headers)
    await until(() => work.asked === asked + 1, 'the interpreter runs')
    reader.leave()
  }
  work.open()
  const { runs } = (await get(app, '/vac/docs/runs')).json()
  for (const { run_id: id } of runs) t.equal((await ended(app, id)).state, 'completed')
  t.equal(work.aborted, 0)
})

test('an answer that ends when no reader has it goes on when its reader leaves', async t => {
  const returning: ChatProtocol = {
    ...toy,
    routes: () => toy.routes({}).map(route => 'ask' in route ? { ...route, ask: request => ({ ...route.ask(request as never), conversation: 'c', unreadMs: 600_000 }) } : route)
  }
  const { app, work, vacs, runs } = await makeService(t)
  await app.register(protocolPlugin(returning), { vacs, runs })
  const reader = await openStream(app, '/toy/docs', { say: 'wait', streamed: true })
  await until(() => reader.text().includes('You '), 'the reader has text')
  reader.leave()
  work.open()
  await until(() => work.finished === 1, 'the answer is complete')
  t.equal(work.aborted, 0)
})

test('a second question of a conversation is refused while the first one is answered', async t => {
  const { app, work } = await makeService(t)
  const ask = async (conversation: string, headers = {}): Sent => await post(app, '/vac/docs', { user_input: 'wait', background: true, conversation_id: conversation }, headers)
  const first = await ask('c')
  t.equal(first.statusCode, 202)
  t.equal(first.json().conversation_id, 'c')
  const second = await ask('c')
  t.equal(second.statusCode, 409)
  t.match(second.json(), { error: { code: 'RUN_IN_PROGRESS' } })
  t.equal((await ask('d')).statusCode, 202, 'another conversation')
  t.equal((await ask('c', { 'x-user': 'bob' })).statusCode, 202, 'the same id of another owner')
  const at = (await Promise.all(Array.from({ length: 5 }, async () => await ask('e')))).map(({ statusCode }) => statusCode)
  t.strictSame(at.sort(), [202, 409, 409, 409, 409], 'one of five at once')
  work.open()
  await ended(app, first.json().run_id)
  t.equal((await ask('c')).statusCode, 202, 'afterwards')
})

test('a conversation has any name: its header is percent-encoded where headers cannot carry it', async t => {
  const { app, work } = await makeService(t)
  for (const name of ['chat-1', 'a\nb', 'a\r\nset-cookie: x=1', '日本', 'é', '\u202e', ' ', '100%', 'x'.repeat(256), '😀'.repeat(64)]) {
    for (const background of [true, false]) {
      const { asked } = work
      const response = await post(app, '/vac/docs', { user_input: 'a', background, conversation_id: name })
      t.equal(response.statusCode, background ? 202 : 200, JSON.stringify(name))
      const header = String(response.headers['x-conversation-id'])
      t.match(header, /^[!-~]+$/)
      t.equal(decodeURIComponent(header), name)
      t.equal(response.headers['set-cookie'], undefined)
      if (background) await ended(app, response.json().run_id)
      t.equal(work.asked, asked + 1)
    }
    const { runs } = (await get(app, `/vac/docs/runs?conversation_id=${encodeURIComponent(name)}`)).json()
    t.strictSame(runs.map(({ conversation_id: of }: { conversation_id: string }) => of), [name, name])
  }
  const { asked } = work
  for (const name of ['\0', '\ud800', '', 'x'.repeat(257)]) t.equal((await post(app, '/vac/docs', { user_input: 'a', conversation_id: name })).statusCode, 400)
  t.equal(work.asked, asked)
})

test('an Idempotency-Key gives the first result again, also while it is made', async t => {
  const { app, work } = await makeService(t)
  const chat = { model: 'docs', messages: [{ role: 'user', content: 'x' }] }
  for (const [url, body, other] of [
    ['/vac/docs', { user_input: 'a' }, { user_input: 'b' }],
    ['/vac/streaming/docs/sse', { user_input: 'a' }, { user_input: 'b' }],
    ['/vac/streaming/docs', { user_input: 'a' }, { user_input: 'a', topic: 'b' }],
    ['/openai/v1/chat/completions', chat, { ...chat, temperature: 1 }],
    ['/openai/v1/chat/completions', { ...chat, stream: true }, chat],
    ['/openai/v1/chat/completions/docs', chat, { ...chat, stream: true }]
  ] as const) {
    const headers = { 'idempotency-key': `key of ${url} ${JSON.stringify(body)}` }
    const { asked } = work
    const [first, twin] = await Promise.all([post(app, url, body, headers), post(app, url, body, headers)])
    const again = await post(app, url, body, headers)
    t.equal(first.statusCode, 200)
    t.equal(work.asked, asked + 1, `${url} is answered once`)
    const whole = /json/.test(String(first.headers['content-type'])) || url.includes('openai')
    if (whole && !('stream' in body)) t.strictSame([twin.body, again.body], [first.body, first.body], url)
    else t.equal(textOf(again.body), textOf(first.body))
    const reused = await post(app, url, other, headers)
    t.equal(reused.statusCode, 422, 'another body')
    t.match(JSON.stringify(reused.json()), /idempotency_key_reused/i)
    t.equal((await post(app, url, body, { ...headers, 'x-user': 'bob' })).statusCode, 200)
    t.equal(work.asked, asked + 2, 'the key of another owner is another one')
  }
  const headers = { 'idempotency-key': 'fails' }
  const failed = await post(app, '/vac/docs', { user_input: 'fail' }, headers)
  t.equal(failed.statusCode, 502)
  t.match(failed.json(), { error: { code: 'SOURCE_AWAY', message: 'the source is away' } })
  const { asked } = work
  const repeated = await post(app, '/vac/docs', { user_input: 'fail' }, headers)
  t.equal(repeated.statusCode, 502)
  t.match(repeated.json(), { error: { code: 'SOURCE_AWAY', message: 'the source is away' } })
  t.equal(work.asked, asked)
})

test('a reader whose run begins anew in another process takes its text back, or gets a new paragraph and the whole text', async t => {
  const chat = { model: 'docs', stream: true, messages: [{ role: 'user', content: 'x' }] }
  const headers = { 'idempotency-key': 'k' }
  const plain = (text: string): string => text.split('\n{')[0]!
  const rows = [
    ['/vac/streaming/docs', { user_input: 'x' }, 'old text, and more', 'old text, and more', plain],
    ['/vac/streaming/docs', { user_input: 'x' }, 'new text', 'old text\n\nnew text', plain],
    ['/openai/v1/chat/completions', chat, 'new text', 'old text\n\nnew text', contentOf],
    ['/vac/streaming/docs/sse', { user_input: 'x' }, 'new text', 'new text', (text: string) => textOf(text.split('event: restart').at(-1)!)]
  ] as const
  await Promise.all(rows.map(async ([path, body, second, inTheEnd, heard]) => {
    const { app, vacs, tasks, runs, work } = await makeService(t, {
      agent: work => async function * (_question, _vac, _history, { signal, attempt }) {
        work.asked++
        yield attempt === 1 ? second : 'old text'
        if (attempt !== 1) await once(signal, 'abort')
      }
    })
    const reader = await openStream(app, path, body, headers)
    await until(() => reader.text().includes('old text'), 'the reader has the first text')
    await runs.stop()
    createRuns({ vacs, tasks })
    await until(() => reader.isOver(), 'the answer is complete')
    t.equal(work.asked, 2)
    t.equal(heard(reader.text()), inTheEnd, path)
    t.equal(heard((await post(app, path, body, headers)).body), second, 'a later reader has not seen the first text')
  }))
})

test('a plugin without runs names the option that it lacks, and answers all other questions as ever', async t => {
  const { app } = await makeService(t, { runs: false })
  for (const response of [
    await post(app, '/vac/docs', { user_input: 'a', background: true }), await post(app, '/vac/streaming/docs', { user_input: 'a' }, { prefer: 'respond-async' }),
    await get(app, '/vac/docs/runs'), await get(app, '/vac/docs/runs/x'), await get(app, '/vac/docs/runs/x/stream'), await post(app, '/vac/docs/runs/x/cancel')
  ]) {
    t.equal(response.statusCode, 501)
    t.match(response.json(), { error: { code: 'RUNS_NOT_CONFIGURED', message: /`runs`.*createRuns/ } })
  }
  t.match((await post(app, '/vac/docs', { user_input: 'a' }, { 'idempotency-key': 'k' })).json(), { answer: 'You asked: a' })
})

test('the steps of a run are those that its question asked for, as each reader may see them', async t => {
  const { app } = await makeService(t, {
    agent: () => async function * () {
      yield 'before '
      yield { tool_call: { id: 'c', name: 'search', input: { q: 'MARK-IN' } } }
      yield { tool_result: { id: 'c', output: 'MARK-OUT' } }
      yield 'after'
    }
  })
  const kinds = (body: string): string[] => eventsOf(body).flatMap(({ event, data }) => event === 'step' ? Object.keys(data as object) : (data as { chunk?: string }).chunk ?? [])
  const asked = async (body: object, headers = {}): Promise<string> => {
    const id = (await post(app, '/vac/streaming/docs', { user_input: 'x', background: true, ...body }, headers)).json().run_id as string
    await ended(app, id, headers)
    return `/vac/docs/runs/${id}/stream`
  }
  t.strictSame(kinds((await get(app, await asked({}))).body), ['before after'])
  const named = await get(app, await asked({ steps: true }))
  t.strictSame(kinds(named.body), ['before ', 'tool_call', 'tool_result', 'after'])
  t.notMatch(named.body, /MARK/)
  const admin = { 'x-user': 'alice admin' }
  const all = await asked({ steps: true }, admin)
  t.match((await get(app, all, admin)).body, /MARK-IN[^]*MARK-OUT/)
  t.notMatch((await get(app, all)).body, /MARK/, 'the same owner without the scope')
  const lines = (await get(app, all, { accept: 'application/x-ndjson', ...admin })).body.trim().split('\n').map(line => JSON.parse(line))
  t.match(lines.filter(({ step }) => step !== undefined), [{ step: { tool_call: { name: 'search' } }, seq: Number }, { step: { tool_result: { id: 'c' } } }])
  const whole = await post(app, '/vac/docs', { user_input: 'x', steps: true }, { 'idempotency-key': 'k' })
  t.match(whole.json().metadata.steps, [{ tool_call: { name: 'search' } }, { tool_result: { state: 'completed' } }])
  t.strictSame((await post(app, '/vac/docs', { user_input: 'x', steps: true }, { 'idempotency-key': 'k' })).json(), whole.json())
})
