import { randomUUID } from 'node:crypto'
import { test } from 'tap'
import type { Interpreter } from '@polyvac/core'
import type { ReadPushConfig, Task } from '../src/index.js'
import { memoryBudget } from '@polyvac/core/plugin'
import { StreamQuota } from '../src/tasks/stream-quota.js'
import { rpc } from './fixtures/public.js'
import { follow, gate, methodNames, serve, type Answered, type MethodName, type RpcOptions, type Served } from './fixtures/app.js'

const as = (who: string, more: Record<string, string> = {}): RpcOptions => ({ headers: { authorization: who, ...more } })
const authenticate = (request: { headers: { authorization?: string | undefined } }): { owner: string } | undefined =>
  request.headers.authorization === undefined ? undefined : { owner: request.headers.authorization }

const interpreter = (opened: Promise<void>): Interpreter => async question => {
  if (question === 'wait') await opened
  if (question === 'throw') throw new Error('SECRET')
  return question === 'ask' ? { input_required: 'What?' } : question
}

const push = { url: 'http://127.0.0.1:9/hook', token: 'SECRET-token' }

/** Params of each method for a task, in every form that reaches another part of the code. */
const requests: readonly (readonly [MethodName, (taskId: string) => object, Record<string, string>?])[] = [
  ['tasks/get', taskId => ({ taskId })],
  ['tasks/cancel', taskId => ({ taskId })],
  ['tasks/send', taskId => ({ taskId, input: { query: 'yes' } })],
  ['tasks/send', taskId => ({ taskId, input: {} })],
  ['tasks/send', taskId => ({ taskId, skillName: 'vac_query_other', input: { query: 'yes' } })],
  ['tasks/send', taskId => ({ taskId, input: { query: 'yes' }, pushNotificationConfig: { url: 'http://10.0.0.1/' } })],
  ['tasks/sendSubscribe', taskId => ({ taskId, input: { query: 'yes' } })],
  ['tasks/sendSubscribe', taskId => ({ taskId, input: { query: 'yes' } }), { 'last-event-id': '999' }],
  ['tasks/resubscribe', taskId => ({ taskId })],
  ['tasks/resubscribe', taskId => ({ taskId }), { 'last-event-id': '0' }],
  ['tasks/resubscribe', taskId => ({ taskId }), { 'last-event-id': '999' }],
  ['tasks/pushNotification/set', taskId => ({ taskId, pushNotificationConfig: push })],
  ['tasks/pushNotification/set', taskId => ({ taskId, pushNotificationConfig: { url: 'http://10.0.0.1/' } })],
  ['tasks/pushNotification/set', taskId => ({ taskId, pushNotificationConfig: { id: 'default', url: 'nonsense' } })],
  ['tasks/pushNotification/get', taskId => ({ taskId })],
  ['tasks/pushNotification/get', taskId => ({ taskId, id: 'default' })],
  ['tasks/pushNotification/delete', taskId => ({ taskId })],
  ['tasks/pushNotification/delete', taskId => ({ taskId, id: 'default' })]
]

/** All that a caller sees of an answer, but for the time. */
const seen = ({ status, text, headers: { date, ...headers } }: Answered): unknown => ({ status, text, headers })

/** One task of alice in every state, each with a push config. */
async function everyState (served: Served): Promise<Map<Task['state'], string>> {
  const tasks = new Map<Task['state'], string>()
  // one worker: what waits there keeps the next one in the queue
  for (const [state, kind, query] of [
    ['completed', 'query', 'x'], ['failed', 'query', 'throw'], ['input-required', 'query', 'ask'], ['working', 'stream', 'wait'], ['submitted', 'stream', 'x'], ['canceled', 'stream', 'x']
  ] as const) {
    const { taskId } = await served.task('tasks/send', { skillName: `vac_${kind}_docs`, input: { query } }, as('alice'))
    await served.task('tasks/pushNotification/set', { taskId, pushNotificationConfig: push }, as('alice'))
    if (state === 'canceled') await served.task('tasks/cancel', { taskId }, as('alice'))
    await served.reached(taskId, [state], as('alice'))
    tasks.set(state, taskId)
  }
  return tasks
}

test('a task of another owner is answered byte for byte as one that does not exist, by every method in every state', async t => {
  const { opened, open } = gate()
  const served = await serve(t, interpreter(opened), { plugin: { authenticate, concurrency: 1, push: { allow: ['127.0.0.1'] } } })
  const tasks = await everyState(served)
  t.equal(tasks.size, 6)
  const alices = async (): Promise<unknown> => [(await served.rpc('tasks/list', {}, as('alice'))).text, await Promise.all([...tasks.values()].map(async taskId => {
    const { deliveries, ...config } = (await served.rpc('tasks/pushNotification/get', { taskId }, as('alice'))).body.result as ReadPushConfig
    return config
  }))]
  const before = await alices()
  const covered = new Set(requests.map(([method]) => method))
  t.strictSame(methodNames.filter(method => !covered.has(method)), ['tasks/list'])
  for (const [state, taskId] of tasks) {
    for (const [method, params, headers] of requests) {
      const foreign = await served.rpc(method, params(taskId), as('bob', headers))
      const unknown = await served.rpc(method, params(randomUUID()), as('bob', headers))
      t.strictSame(seen(foreign), seen(unknown), `${method} of a task that is ${state}, ${JSON.stringify(headers ?? {})}`)
      t.match(foreign, { status: 200, body: { id: 'r1', error: { code: -32001, data: { code: 'A2A_TASK_NOT_FOUND' } } } })
      t.notMatch(foreign.text, new RegExp(taskId), 'and without the id')
    }
  }
  t.strictSame(await alices(), before, 'nothing of it changed anything')
  t.strictSame((await served.rpc('tasks/list', {}, as('bob'))).body.result, { tasks: [] })
  const { nextCursor } = (await served.rpc('tasks/list', { limit: 1 }, as('alice'))).body.result as { nextCursor: string }
  t.strictSame((await served.rpc('tasks/list', { cursor: nextCursor }, as('bob'))).body.result, { tasks: [] }, 'nor does a cursor of hers help')
  open()
})

test('who is not known is refused before anything is read', async t => {
  const asked: string[] = []
  const served = await serve(t, question => { asked.push(question); return 'x' }, { plugin: { authenticate } })
  const { taskId } = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'hers' } }, as('alice'))
  for (const method of methodNames) {
    for (const [url, payload] of [
      [`/a2a/${method}`, JSON.stringify({ jsonrpc: '2.0', method, id: 7, params: { taskId, skillName: 'vac_query_docs', input: { query: 'his' } } })], [`/a2a/${method}`, '{'], [`/a2a/${method}`, 'x'.repeat(2 ** 20 + 1)]
    ] as const) {
      const response = await served.app.inject({ method: 'POST', url, payload, headers: { 'content-type': 'application/json' } })
      t.equal(response.statusCode, 401, method)
      t.equal(response.headers['www-authenticate'], 'Bearer')
      t.match(response.headers['content-type'], /^application\/json/)
      t.match(response.json(), { jsonrpc: '2.0', id: null, error: { code: -32600, message: /credentials/, data: { code: 'UNAUTHENTICATED' } } })
    }
  }
  t.strictSame(asked, ['hers'])
  for (const url of ['/.well-known/agent.json', '/.well-known/jwks.json']) t.equal((await served.app.inject(url)).statusCode, 200, `${url} is public`)
})

test('an authenticate that fails refuses every caller, and its message stays in the log', async t => {
  for (const [name, failing, expected] of [
    ['throws', () => { throw new Error('SECRET') }, { status: 200, code: -32603 }],
    ['rejects', async () => { throw new Error('SECRET') }, { status: 200, code: -32603 }],
    ['rejects with nothing', async () => await Promise.reject(undefined), { status: 200, code: -32603 }], // eslint-disable-line prefer-promise-reject-errors
    ['refuses with a status of its own', () => { throw Object.assign(new Error('not you'), { statusCode: 403 }) }, { status: 403, code: -32600 }],
    ['refuses with a status and a code of its own', () => { throw Object.assign(new Error('not you'), { statusCode: 403, code: 'NOT_YOU' }) }, { status: 403, code: -32600 }],
    ['is too busy', () => { throw Object.assign(new Error('SECRET'), { statusCode: 503, code: 'BUSY' }) }, { status: 503, code: -32603 }],
    ['knows null', () => null as never, { status: 401, code: -32600 }],
    ['knows nothing of an owner', () => ({}) as never, { status: 200, code: -32603 }],
    ['knows an owner without a name', () => ({ owner: '' }), { status: 200, code: -32603 }]
  ] as const) {
    const asked: string[] = []
    const served = await serve(t, question => { asked.push(question); return 'x' }, { plugin: { authenticate: failing as never } })
    for (const method of methodNames) {
      const { status, text, body } = await served.rpc(method, { skillName: 'vac_query_docs', input: { query: 'x' } })
      t.match({ status, ...body.error }, expected, `${name}: ${method}`)
      t.notMatch(text, /SECRET/, name)
    }
    t.strictSame(asked, [])
    if (/SECRET/.test(String(failing))) t.match(served.logged(), /SECRET/)
  }
})

test('what a hook of the application throws is answered as JSON-RPC, and keeps its headers', async t => {
  for (const [statusCode, code, headers] of [
    [401, -32600, { 'www-authenticate': 'Digest realm="x"' }], [403, -32600, {}], [429, -32600, { 'retry-after': '30' }], [503, -32603, { 'retry-after': '60' }], [400, -32600, {}]
  ] as const) {
    const served = await serve(t, () => 'x', {
      before (app) {
        app.addHook('preHandler', async (_request, reply) => {
          reply.headers(headers)
          throw Object.assign(new Error('for a reason'), { statusCode })
        })
      }
    })
    for (const method of methodNames) {
      t.match(await served.rpc(method, {}), { status: statusCode, headers: { 'content-type': /json/, ...headers }, body: { jsonrpc: '2.0', id: 'r1', error: { code } } }, `${statusCode} ${method}`)
    }
    if (statusCode !== 503 && statusCode !== 429) continue
    const without = await serve(t, () => 'x', { before (app) { app.addHook('onRequest', async () => { throw Object.assign(new Error('busy'), { statusCode }) }) } })
    t.match(await without.rpc('tasks/get', {}), { status: statusCode, headers: { 'retry-after': 1 } }, 'or those that are due')
  }
})

test('the interpreter gets the caller, with the scopes', async t => {
  const served = await serve(t, (_question, _vac, _history, { principal }) => JSON.stringify(principal), { plugin: { authenticate: () => ({ owner: 'alice', scopes: ['read', 'vac:*'] }) } })
  const { artifacts } = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } })
  t.match(artifacts, [{ content: { answer: '{"owner":"alice","scopes":["read","vac:*"]}' } }])
})

test('log lines of a task have its owner', async t => {
  const served = await serve(t, () => 'x', { plugin: { authenticate: () => ({ owner: 'alice' }) } })
  await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } })
  const line = served.logged().split('\n').find(line => line.includes('task run')) ?? '{}'
  t.match(JSON.parse(line), { owner: 'alice', taskId: String })
})

test('the log line of a failed request has its owner, and not its credential', async t => {
  const served = await serve(t, () => 'x', {
    plugin: { authenticate: () => ({ owner: 'alice' }) },
    before (app) { app.addHook('preHandler', async () => { throw new Error('broken') }) }
  })
  const headers = { authorization: 'Bearer SECRET' }
  await served.rpc('tasks/get', { taskId: 'x' }, { headers })
  await rpc(served, 'GetTask', { id: 'x' }, { headers })
  await served.app.inject({ method: 'GET', url: '/a2a/v1/tasks/x', headers: { ...headers, 'a2a-version': '1.0' } })
  const lines = served.logged().split('\n').filter(line => line.includes('"level":50')).map(line => JSON.parse(line) as { owner?: string })
  t.strictSame(lines.map(({ owner }) => owner), ['alice', 'alice', 'alice'])
  t.notMatch(served.logged(), /SECRET/)
})

test('all callers are one owner without `authenticate`', async t => {
  const served = await serve(t, (_question, _vac, _history, { principal }) => String(principal?.owner))
  const { taskId, artifacts } = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } }, as('alice'))
  t.match(artifacts, [{ content: { answer: 'undefined' } }], 'the interpreter is told of nobody')
  t.match(await served.task('tasks/get', { taskId }, as('bob')), { taskId })
})

test('an owner holds so many streams and no more; the refused one leaves no task, and others have their own', async t => {
  const { opened, open } = gate()
  const served = await serve(t, async function * () { yield 'begun'; await opened }, { plugin: { authenticate, maxStreams: 2 } })
  const params = { skillName: 'vac_stream_docs', input: { query: 'x' } }
  const begin = async (who: string): ReturnType<typeof follow> => await follow(served, 'tasks/sendSubscribe', params, { authorization: who })
  const first = await begin('alice')
  const second = await begin('alice')
  const { taskId } = await first.first(({ data }) => data.delta === 'begun')
  const listed = async (who: string): Promise<number> => ((await served.rpc('tasks/list', {}, as(who))).body.result as { tasks: unknown[] }).tasks.length
  for (const [method, more] of [['tasks/sendSubscribe', params], ['tasks/resubscribe', { taskId }]] as const) {
    const refused = await served.rpc(method, more, as('alice'))
    t.match(refused, { status: 429, headers: { 'retry-after': 1 }, body: { jsonrpc: '2.0', id: 'r1', error: { code: -32600, message: /2 tasks/, data: { code: 'A2A_TOO_MANY_STREAMS' } } } })
  }
  t.equal(await listed('alice'), 2)
  const bobs = await begin('bob')
  await bobs.first(({ data }) => data.delta === 'begun')
  second.request.destroy()
  await second.ended
  let again = await begin('alice')
  while (again.response.statusCode === 429) again = await begin('alice')
  t.equal(again.response.statusCode, 200, 'a place that was left is free')
  open()
  await Promise.all([first.ended, bobs.ended, again.ended])
  for (let n = 0; n < 5; n++) t.equal((await served.frames('tasks/sendSubscribe', params, as('alice'))).at(-1)?.data.state, 'completed', 'streams that ended hold none')
})

test('all owners together hold four times the streams of one, and their memory counts in the budget', async t => {
  const before = memoryBudget.used
  const quota = new StreamQuota(1)
  const places = ['a', 'b', 'c', 'd'].map(owner => quota.take({ owner }, () => {}))
  t.throws(() => quota.take({ owner: 'e' }, () => {}), { code: 'A2A_TOO_MANY_STREAMS', message: /all callers together follow 4/ })
  places[0]?.hold(1_000_000)
  t.ok(memoryBudget.used - before >= 2_000_000)
  for (const place of places) place.release()
  t.equal(memoryBudget.used, before)
  quota.take({ owner: 'e' }, () => {}).release()
})

test('past the memory share of one owner, readers of that owner are disconnected, and none of another', async t => {
  const limit = memoryBudget.limit
  t.teardown(() => { memoryBudget.limit = limit })
  memoryBudget.limit = memoryBudget.used + 8_000_000
  const quota = new StreamQuota(10)
  const left: string[] = []
  const [hers, first, second] = ['alice', 'bob', 'bob'].map((owner, i) => quota.take({ owner }, () => { left.push(`${owner} ${i}`) }))
  hers?.hold(400_000)
  first?.hold(600_000)
  t.strictSame(left, [])
  second?.hold(600_000)
  t.strictSame(left, ['bob 1'])
  for (const place of [hers, first, second]) place?.release()
})

test('past what all streams hold together, those who have taken nothing for longest are disconnected', async t => {
  const count = new StreamQuota(10, 100)
  const left: string[] = []
  const [first, second, third] = ['first', 'second', 'third'].map(name => count.take({ owner: name }, () => { left.push(name) }))
  first?.hold(40)
  second?.hold(40)
  first?.hold(40)
  t.strictSame(left, [], 'a frame that was taken is held no more')
  third?.hold(30)
  t.strictSame(left, ['second'])
  third?.hold(500)
  t.strictSame(left, ['second'], 'the one that goes on is left alone')
  first?.hold(40)
  t.strictSame(left, ['second', 'third'])
  third?.release()
  first?.release()
  count.take({ owner: 'fourth' }, () => { left.push('fourth') }).hold(100)
  t.strictSame(left, ['second', 'third'])
})

test('past what all streams hold together, an owner disconnects its own readers, and none of another', async t => {
  const count = new StreamQuota(10, 100)
  const left: string[] = []
  const take = (owner: string, name: string) => count.take({ owner }, () => { left.push(name) })
  take('bob', 'of bob').hold(20)
  const places = [1, 2, 3, 4, 5, 6].map(i => take('alice', `${i} of alice`))
  for (const place of places) place.hold(30)
  t.strictSame(left, ['1 of alice', '2 of alice', '3 of alice', '4 of alice'])
})
