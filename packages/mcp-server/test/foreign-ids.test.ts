import type { Principal } from '@polyvac/core'
import { LEGACY_REVISIONS, type LegacyRevision } from '@polyvac/mcp-protocol'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { test, type Test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { legacyTaskMethods } from '../src/methods/legacy-tasks.js'
import { legacyMethods } from '../src/methods/legacy.js'
import { modernTaskMethods } from '../src/methods/modern-tasks.js'
import { modernMethods } from '../src/methods/modern.js'
import { fixtureSource } from './conformance-fixture/source.mjs'
import { MemoryLinks } from './fixtures/memory-link.js'
import { BOTH, eventsIn, LegacySession, messagesIn, modernBody, modernHeaders, serve, Wire } from './fixtures/wire.js'

/** `alice` owns everything; `scopeless` is alice, and `limited` is bob, without a scope: both are strangers to it. */
const CALLERS: Readonly<Record<string, Principal>> = {
  alice: { owner: 'alice' }, bob: { owner: 'bob' }, scopeless: { owner: 'alice', scopes: [] }, limited: { owner: 'bob', scopes: [] }
}
const STRANGERS = ['bob', 'limited', 'scopeless', 'nobody']
const ABLE = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } }

/** The parameters of each method. A method of the tables without a row here fails the tests. */
const TASK_PARAMS: Readonly<Record<string, object>> = {
  'tasks/get': {}, 'tasks/result': {}, 'tasks/cancel': {}, 'tasks/list': {}, 'tasks/update': { inputResponses: { first: { action: 'decline' } } }
}
const PARAMS: Readonly<Record<string, object>> = {
  ...TASK_PARAMS,
  'tools/list': {},
  'resources/list': {},
  'resources/templates/list': {},
  'prompts/list': {},
  'tools/call': { name: 'confirm_delete', arguments: { filename: 'a' } },
  'resources/read': { uri: 'test://static-text' },
  'prompts/get': { name: 'test_simple_prompt' },
  'completion/complete': { ref: { type: 'ref/prompt', name: 'test_simple_prompt' }, argument: { name: 'arg1', value: '' } },
  ping: {},
  'logging/setLevel': { level: 'debug' },
  'resources/subscribe': { uri: 'test://watched-resource' },
  'resources/unsubscribe': { uri: 'test://watched-resource' },
  'server/discover': {},
  'subscriptions/listen': {}
}

type Seen = readonly [status: number, text: string]

async function start (t: Test, isShared = false): Promise<FastifyInstance> {
  const tasks = Object.assign(sqliteTaskStore({ path: ':memory:' }), isShared && { replicas: new MemoryLinks().replica('a') })
  await tasks.open()
  const authenticate = ({ headers }: { headers: Record<string, unknown> }): Principal | undefined => CALLERS[String(headers.authorization)]
  const source = { ...fixtureSource(), mayUse: (_kind: string, _id: string, principal: Principal | undefined) => principal?.scopes === undefined }
  const app = await serve(t, { sources: [source], tasks, authenticate, stateKey: 'k'.repeat(32) })
  t.teardown(() => tasks.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  return app
}

/** The whole answer without its date, and with `ID` in place of the id. */
async function send (app: FastifyInstance, caller: string, id: string, { headers, ...options }: InjectOptions): Promise<Seen> {
  const { statusCode, headers: { date: _date, ...rest }, body } = await app.inject({ method: 'POST', url: '/mcp', ...options, headers: { accept: BOTH, authorization: caller, ...headers } })
  return [statusCode, JSON.stringify([statusCode, rest, body]).replaceAll(id, 'ID').replace(/req-\w+/g, 'REQUEST')]
}

/** An id of the same form that was never issued. */
function unknownLike (id: string): string {
  const middle = id.length >> 1
  const at = id[middle] === '-' ? middle + 1 : middle
  return id.slice(0, at) + (id[at] === '0' ? '1' : '0') + id.slice(at + 1)
}

/** Compares the answers about a foreign and an unknown id, for each caller that does not own it. */
async function compare (t: Test, what: string, id: string, expected: readonly number[], ask: (caller: string, id: string) => Promise<Seen>): Promise<void> {
  const unknown = unknownLike(id)
  for (const caller of STRANGERS) {
    const [[status, foreign], [, other]] = [await ask(caller, id), await ask(caller, unknown)]
    t.equal(foreign, other, `${what}, ${caller}`)
    t.ok(caller === 'nobody' ? status === 401 : expected.includes(status), `${what}, ${caller}: status ${status}`)
  }
}

const rpc = (method: string, params: object = {}): object => ({ jsonrpc: '2.0', id: 1, method, params })

/** All messages of a session: the methods of the table, a notification, a response and a batch. */
function messages (): Array<[string, object]> {
  return [
    ...[...legacyMethods.keys()].map((method): [string, object] => [method, rpc(method, PARAMS[method])]),
    ['a cancellation', { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'q' } }],
    ['a response', { jsonrpc: '2.0', id: 1, result: { action: 'accept' } }],
    ['a batch', [rpc('ping')]]
  ]
}

test('each method of the tables has a row', t => {
  t.strictSame(Object.keys(PARAMS).sort(), [...new Set([...legacyMethods.keys(), ...modernMethods.keys()])].sort())
  t.strictSame(Object.keys(TASK_PARAMS).sort(), [...new Set([...legacyTaskMethods, ...modernTaskMethods].map(([method]) => method))].sort())
  t.end()
})

for (const isShared of [false, true]) {
  test(`a foreign session is answered byte for byte like an unknown one${isShared ? ', with replicas' : ''}`, async t => {
    const app = await start(t, isShared)
    for (const revision of LEGACY_REVISIONS) {
      const { id } = await LegacySession.open(app, { revision, capabilities: ABLE, headers: { authorization: 'alice' } })
      const named = (id: string): Record<string, string> => ({ 'mcp-session-id': id, 'mcp-protocol-version': revision })
      for (const [what, payload] of messages()) {
        await compare(t, `${revision} ${what}`, id, [404], async (caller, id) => await send(app, caller, id, { headers: named(id), payload }))
      }
      for (const method of ['GET', 'DELETE'] as const) {
        for (const last of [undefined, '0_1', '1_1']) {
          const headers = { ...last !== undefined && { 'last-event-id': last } }
          await compare(t, `${revision} ${method} ${last}`, id, [404], async (caller, id) => await send(app, caller, id, { method, headers: { ...named(id), ...headers } }))
        }
      }
      t.equal((await send(app, 'alice', id, { headers: named(id), payload: rpc('ping') }))[0], 200, `${revision}: the session is still there`)
      const [status] = await send(app, 'alice', id, { method: 'DELETE', headers: named(id) })
      t.equal(status, 204)
    }
    const stream = new Wire(app, undefined, { authorization: 'alice' }, 'GET')
    t.teardown(() => { stream.leave() })
    await stream.until('sse_session=')
    const id = /sse_session=([^\s&]+)/.exec(stream.text)![1]!
    for (const [what, payload] of messages()) {
      await compare(t, `HTTP+SSE ${what}`, id, [404, 400], async (caller, id) => await send(app, caller, id, { url: `/mcp?sse_session=${id}`, payload }))
    }
    t.equal((await send(app, 'alice', id, { url: `/mcp?sse_session=${id}`, payload: rpc('ping') }))[0], 202)
    await stream.until('"result"')
    t.equal(messagesIn(stream.text.slice(stream.text.indexOf('\n\n') + 2)).length, 1, 'the stream carries only what its owner requested')
  })
}

test('in each state, a foreign task is answered byte for byte like an unknown one', async t => {
  const app = await start(t)
  const alice = { authorization: 'alice' }
  const modern = async (caller: string, method: string, params: Record<string, unknown>, id: string): Promise<Seen> => {
    const body = { ...modernBody(method, params, ABLE), id: 1 }
    return await send(app, caller, id, { headers: modernHeaders(method, params), payload: body })
  }
  const session = await LegacySession.open(app, { capabilities: ABLE, headers: alice })
  const theirs: Record<string, LegacySession> = {}
  for (const caller of ['bob', 'limited', 'scopeless']) theirs[caller] = await LegacySession.open(app, { capabilities: ABLE, headers: { authorization: caller } })
  for (const [state, name, args] of [
    ['working', 'slow_compute', { seconds: 60 }], ['cancelled', 'slow_compute', { seconds: 60 }], ['completed', 'slow_compute', {}],
    ['failed', 'protocol_error_job', {}], ['input_required', 'multi_input', {}]
  ] as const) {
    const created = await session.request('tools/call', { name, arguments: args, task: {} })
    const { taskId } = created.json.result?.task as { taskId: string }
    if (state === 'cancelled') await session.request('tasks/cancel', { taskId })
    const own = async (): Promise<unknown> => (await session.request('tasks/get', { taskId })).json.result?.status
    await until(async () => await own() === state, `the task is ${state}`)
    for (const [method] of modernTaskMethods) {
      await compare(t, `2026-07-28 ${method}, ${state}`, taskId, [200, 400], async (caller, id) => await modern(caller, method, { ...TASK_PARAMS[method], taskId: id }, id))
    }
    for (const [method] of legacyTaskMethods) {
      await compare(t, `2025-11-25 ${method}, ${state}`, taskId, [200], async (caller, id) => {
        const headers = { 'mcp-session-id': theirs[caller]?.id ?? session.id }
        return await send(app, caller, id, { headers, payload: rpc(method, method === 'tasks/list' ? {} : { taskId: id }) })
      })
    }
    for (const caller of ['bob', 'limited', 'scopeless']) {
      t.strictSame((await theirs[caller]!.request('tasks/list')).json.result?.tasks, [], `tasks/list of ${caller}`)
      const [foreign, unknown] = await Promise.all([taskId, unknownLike(taskId)].map(async id => {
        const listener = new Wire(app, { ...modernBody('subscriptions/listen', { notifications: { taskIds: [id] } }, ABLE), id: 1 }, { ...modernHeaders('subscriptions/listen', {}), authorization: caller })
        await listener.until('acknowledged')
        listener.leave()
        const { statusCode, headers: { date: _date, ...headers } } = await listener.head
        return [statusCode, headers, listener.text.replaceAll(id, 'ID')]
      }))
      t.strictSame(foreign, unknown, `subscriptions/listen, ${state}, ${caller}`)
    }
    t.equal(await own(), state, 'no stranger changed the task')
  }
})

test('another caller does not answer, cancel, resume or continue a call', async t => {
  const app = await start(t)
  for (const revision of ['2025-11-25', '2025-06-18'] satisfies LegacyRevision[]) {
    const alice = await LegacySession.open(app, { revision, capabilities: ABLE, headers: { authorization: 'alice' } })
    const bob = await LegacySession.open(app, { revision, capabilities: ABLE, headers: { authorization: 'bob' } })
    const payload = { jsonrpc: '2.0', id: 'q', method: 'tools/call', params: PARAMS['tools/call'] }
    const call = new Wire(app, payload, alice.headers)
    await call.until('elicitation/create')
    const question = String(messagesIn(call.text).find(({ method }) => method === 'elicitation/create')!.id)
    const event = eventsIn(call.text).at(-1)!.id!
    const response = (id: string): object => ({ jsonrpc: '2.0', id, result: { action: 'accept', content: { confirm: true } } })
    const inBobs = async (payload: object, id: string): Promise<Seen> => await send(app, 'bob', id, { headers: bob.headers, payload })
    t.strictSame(await inBobs(response(question), question), await inBobs(response('none'), 'none'), `${revision}: a response to a foreign question`)
    const cancel = (requestId: string): object => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
    t.strictSame(await inBobs(cancel('q'), 'q'), await inBobs(cancel('none'), 'none'), `${revision}: a cancellation of a foreign call`)
    const resume = async (last: string): Promise<Seen> => await send(app, 'bob', last, { method: 'GET', headers: { ...bob.headers, 'last-event-id': last } })
    const [status, seen] = await resume(event)
    t.equal(status, 400)
    t.equal(seen, (await resume('99999_1'))[1], `${revision}: a foreign event`)
    t.notOk(call.text.includes('is deleted'))
    await app.inject({ method: 'POST', url: '/mcp', headers: alice.headers, payload: response(question) })
    await call.until('a is deleted')
  }
  // parked state: a requestState of alice is answered to bob like one that the server did not issue
  const call = async (caller: string, more: object, id: string): Promise<Seen> => {
    const params = { ...PARAMS['tools/call'], ...more } as Record<string, unknown>
    return await send(app, caller, id, { headers: modernHeaders('tools/call', params), payload: { ...modernBody('tools/call', params, { elicitation: {} }), id: 1 } })
  }
  const [, parked] = await call('alice', {}, 'none')
  const requestState = /"requestState\\":\\"([^"\\]+)/.exec(parked)![1]!
  const inputResponses = { confirm: { action: 'accept', content: { confirm: true } } }
  await compare(t, 'a foreign requestState', requestState, [200, 400], async (caller, requestState) => await call(caller, { inputResponses, requestState }, requestState))
  t.match((await call('bob', { inputResponses, requestState }, 'none'))[1], /-32602/)
  t.match((await call('alice', { inputResponses, requestState }, 'none'))[1], /a is deleted/)
})
