import { test, type Test } from 'tap'
import type { HTTPMethods } from 'fastify'
import { gzipSync } from 'node:zlib'
import { until } from '../../../test/fixtures/until.js'
import { steered } from '../../../test/a2a-agent/steered.mjs'
import { IDEMPOTENT_SEND } from '../src/protocol/extensions.js'
import type { A2aOptions } from '../src/index.js'
import { serve, type Served } from './fixtures/app.js'
import { events, message, message03, result, rpc, type Json } from './fixtures/public.js'

const V1 = { 'a2a-version': '1.0' }

async function agent (t: Test, plugin: Partial<A2aOptions> = {}): Promise<Served> {
  return await serve(t, steered, { vacs: { vacs: ['docs', 'other'] }, plugin: { defaultVac: 'docs', ...plugin } })
}

async function rest ({ app }: Served, method: HTTPMethods, path: string, payload?: object, headers: Record<string, string> = {}): Promise<{ status: number, headers: Json, body: Json }> {
  const response = await app.inject({ method: method as 'GET', url: `/a2a/v1${path}`, headers: { ...V1, ...headers }, ...(payload === undefined ? {} : { payload }) })
  return { status: response.statusCode, headers: response.headers, body: response.json() as Json }
}

function violated (field: string): object {
  return { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field, description: /./ }] }
}

test('a word after the colon that every object has as a member is refused', async t => {
  const served = await agent(t)
  for (const word of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    for (const method of ['GET', 'POST'] as const) {
      t.match(await rest(served, method, `/tasks/x:${word}`), { status: 404, body: { error: { status: 'UNIMPLEMENTED', message: /POST tasks\/\{id\}:cancel/ } } }, `${method} ${word}`)
    }
  }
})

test('two messages with long ids that begin alike are two tasks, also where the id may be sent again', async t => {
  const served = await agent(t)
  const send = async (messageId: string): Promise<string> => (await result(served, 'SendMessage', { message: message('echo', { messageId }) }, { headers: { 'a2a-extensions': IDEMPOTENT_SEND } })).task.id
  const long = 'a'.repeat(250)
  const first = await send(`${long}-first`.slice(0, 256))
  t.not(await send(`${long}-other`.slice(0, 256)), first)
  t.equal(await send(`${long}-first`.slice(0, 256)), first)
})

test('a task of an unknown skill fails in its first attempt', async t => {
  const served = await agent(t)
  for (const skillName of ['vac_query_docs', 'vac_query_nope', 'vac_query_nope']) {
    const { taskId } = await served.task('tasks/send', { skillName, input: {} })
    t.match(await served.tasks.get('anyone', taskId), { state: 'failed', attempt: 0 }, skillName)
  }
})

test('the catalog is answered whatever host the request names', async t => {
  const { app } = await agent(t)
  for (const host of ['a b', '][', '%%', 'a:99999']) {
    const response = await app.inject({ url: '/.well-known/ai-catalog.json', headers: { host } })
    t.match([response.statusCode, response.json()], [200, { host: { identifier: host } }], host)
  }
})

test('a body of no media type at all is refused as one of a wrong type', async t => {
  const served = await agent(t)
  for (const type of ['junk', ';', 'text/plain']) {
    const call = async (version: string): Promise<unknown> => (await served.app.inject({ method: 'POST', url: '/a2a', headers: { 'a2a-version': version, 'content-type': type }, payload: '{}' })).json()
    t.match(await call('1.0'), { error: { code: -32005, data: [{ reason: 'CONTENT_TYPE_NOT_SUPPORTED' }] } }, `${type} in 1.0`)
    t.match(await call('0.3'), { error: { code: -32005 } }, `${type} in 0.3`)
    const told = await served.app.inject({ method: 'POST', url: '/a2a/v1/message:send', headers: { ...V1, 'content-type': type }, payload: '{}' })
    t.match([told.statusCode, told.json()], [400, { error: { details: [{ reason: 'CONTENT_TYPE_NOT_SUPPORTED' }] } }], `${type} over HTTP`)
  }
})

test('a body that is not UTF-8 is refused', async t => {
  const { app } = await agent(t)
  const payload = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: message('echo', { parts: [{ text: 'é' }] }) } }), 'latin1')
  for (const [url, told] of [['/a2a', { error: { code: -32700, message: /UTF-8/ } }], ['/a2a/v1/message:send', { error: { code: 400, message: /UTF-8/ } }]] as const) {
    t.match((await app.inject({ method: 'POST', url, headers: { ...V1, 'content-type': 'application/json' }, payload })).json(), told, url)
  }
  const packed = await app.inject({ method: 'POST', url: '/a2a', headers: { ...V1, 'content-type': 'application/json', 'content-encoding': 'gzip' }, payload: gzipSync(payload) })
  t.match(packed.json(), { error: { code: -32005, message: /Content-Encoding: gzip/ } }, 'a packed one is told as such')
})

test('a file that an interpreter makes of no base64 fails its task', async t => {
  const served = await serve(t, async () => ({ answer: '', artifacts: [{ name: 'report', parts: [{ bytes: '***' }] }] }))
  t.match(await result(served, 'SendMessage', { message: message('x') }), { task: { status: { state: 'TASK_STATE_FAILED', message: { parts: [{ text: /not base64/ }] } } } })
})

test('the VAC of the path and the tenant of the params have to agree', async t => {
  const served = await agent(t)
  const call = async (tenant: string): Promise<unknown> => (await rpc(served, 'SendMessage', { tenant, message: message('echo') }, { url: '/a2a/vacs/docs' })).json()
  t.match(await call('other'), { error: { code: -32602, data: [{}, violated('tenant')] } })
  t.match(await call('docs'), { result: { task: { metadata: { skillName: 'vac_stream_docs' } } } })
  t.match(await call(''), { result: { task: {} } }, 'an empty one is none')
  t.match((await rpc(served, 'message/send', { message: message03('echo') }, { url: '/a2a/vacs/docs', version: '' })).json(), { result: { kind: 'task' } })
})

test('an application that takes a slash at the end of any path takes the plugin, too', async t => {
  for (const server of [{}, { routerOptions: { ignoreTrailingSlash: true } }]) {
    for (const prefix of ['', '/agents']) {
      const served = await serve(t, steered, { server, plugin: { prefix } })
      for (const url of ['/a2a', '/a2a/', '/a2a/vacs/docs', '/a2a/vacs/docs/']) {
        t.match(await result(served, 'SendMessage', { message: message('echo') }, { url: prefix + url }), { task: {} }, `${prefix}${url} ${JSON.stringify(server)}`)
      }
    }
  }
})

test('an extended card is of a configured VAC, and no shared cache may keep it', async t => {
  const served = await agent(t, { authenticate: () => ({ owner: 'alice' }), extendedCard: card => card })
  t.match((await rpc(served, 'GetExtendedAgentCard', { tenant: 'nope' })).json(), { error: { code: -32602, data: [{}, violated('tenant')] } })
  t.match(await rest(served, 'GET', '/nope/extendedAgentCard'), { status: 400, body: { error: { details: [{}, violated('tenant')] } } })
  t.match(await rest(served, 'GET', '/docs/extendedAgentCard'), { status: 200, headers: { 'cache-control': /^private/ }, body: { name: 'docs' } })
})

test('what the engine refuses names the field of 1.0', async t => {
  const served = await agent(t)
  t.match((await rpc(served, 'ListTasks', { pageToken: 'nope' })).json(), { error: { code: -32602, message: /^pageToken /, data: [{}, violated('pageToken')] } })
  const { task: { id } } = await result(served, 'SendMessage', { message: message('ask') })
  t.match((await rpc(served, 'CreateTaskPushNotificationConfig', { taskId: id, url: 'https://127.0.0.1/' })).json(), { error: { code: -32602, data: [{}, violated('url')] } })
  const begun = message('echo')
  const again = { ...begun, parts: [{ text: 'Other' }] }
  for (const [headers, refused, first, then] of [
    [{}, violated('message.contextId'), undefined, message('echo', { contextId: '\ud800' })],
    [{ 'a2a-extensions': IDEMPOTENT_SEND }, violated('message.messageId'), undefined, message('echo', { messageId: '\ud800' })],
    [{ 'a2a-extensions': IDEMPOTENT_SEND }, violated('message.messageId'), begun, again],
    [{ 'a2a-extensions': IDEMPOTENT_SEND }, violated('message.messageId'), begun, { ...begun, contextId: 'other' }],
    [{ 'idempotency-key': 'one' }, undefined, begun, again]
  ] as const) {
    if (first !== undefined) await result(served, 'SendMessage', { message: first }, { headers })
    const details = [{}, refused].filter(detail => detail !== undefined)
    const told = (await rpc(served, 'SendMessage', { message: then }, { headers })).json() as Json
    t.match(told, { error: { code: -32602, data: details } })
    t.equal(told.error.data.length, details.length, 'a key of a header is no field')
    const http = await rest(served, 'POST', '/message:send', { message: then }, headers)
    t.match(http, { status: 400, body: { error: { status: 'INVALID_ARGUMENT', details } } })
  }
  t.match((await rpc(served, 'message/send', { message: message03('echo', { contextId: '\ud800' }) }, { version: '0.3' })).json(), { error: { code: -32602, data: { code: 'TASK_INVALID', violations: [{ field: 'message.contextId' }] } } })
})

test('an invalid statusTimestampAfter is refused', async t => {
  const served = await agent(t)
  await result(served, 'SendMessage', { message: message('echo') })
  for (const statusTimestampAfter of ['2026', 'yesterday', '2026-02-30T00:00:00Z', '2026-13-01T00:00:00Z', '2026-01-01T00:00:00', '2026-01-01T00:00:00+99:00']) {
    t.match((await rpc(served, 'ListTasks', { statusTimestampAfter })).json(), { error: { code: -32602, message: /^statusTimestampAfter: give a time like / } }, statusTimestampAfter)
  }
  for (const statusTimestampAfter of ['2024-02-29t00:00:00.123456z', '2024-12-31T23:59:59+14:00']) {
    t.match(await result(served, 'ListTasks', { statusTimestampAfter }), { totalSize: 1 }, statusTimestampAfter)
  }
})

test('a stream ends with a new question of its task; of a task that asks already it goes on to the end', async t => {
  let ask = (): void => {}
  const served = await serve(t, async (question, _vac, _history, { taskId }) => {
    if (question === 'large') return { answer: `${String(taskId).length}` }
    await new Promise<void>(resolve => { ask = resolve })
    return { input_required: 'Which size?' }
  })
  const follow = async (version: string, id: string, headers = {}): Promise<Json[]> => {
    const response = await rpc(served, version === '1.0' ? 'SubscribeToTask' : 'tasks/resubscribe', { id }, { version, headers })
    return events(response.payload).map(({ data }) => data.result)
  }
  const begin = async (): Promise<string> => (await result(served, 'SendMessage', { message: message('x'), configuration: { returnImmediately: true } })).task.id
  const id = await begin()
  await served.reached(id, ['working'])
  const readers = [follow('1.0', id), follow('0.3', id)]
  await until(() => served.readers() === 2, 'both read the events of the task')
  ask()
  const [newer, older] = await Promise.all(readers) as [Json[], Json[]]
  t.match(newer.at(-1), { statusUpdate: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } })
  t.match(older.at(-1), { status: { state: 'input-required' }, final: true })
  t.match((await follow('1.0', id, { 'last-event-id': '2' })).at(-1), { statusUpdate: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } }, 'also who has missed it')

  const { seq } = await served.tasks.get('anyone', id) ?? { seq: 0 }
  const patient = [follow('1.0', id), follow('1.0', id, { 'last-event-id': String(seq) }), follow('0.3', id)]
  await until(() => served.readers() === 3, 'all three read the events of the task')
  await result(served, 'SendMessage', { message: message('x', { taskId: id, parts: [{ text: 'large' }] }) })
  for (const told of await Promise.all(patient)) t.match(told.at(-1)?.statusUpdate?.status ?? told.at(-1)?.status, { state: /COMPLETED|completed/ })
  t.match((await follow('0.3', id, { 'last-event-id': '1' })).filter(({ final }) => final === true), [{ status: { state: 'completed' } }], 'a question that was answered ends no replay')
})

test('a reply that is sent again, and may be, is taken once', async t => {
  const served = await agent(t)
  for (const headers of [{ 'a2a-extensions': IDEMPOTENT_SEND }, { 'idempotency-key': 'reply 1' }]) {
    const { task: { id } } = await result(served, 'SendMessage', { message: message('ask') })
    const reply = message('ask', { taskId: id, parts: [{ text: 'Hello' }, { data: { size: 4 } }] })
    const first = await result(served, 'SendMessage', { message: reply }, { headers })
    t.match(first, { task: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } }, 'it asks once more')
    t.strictSame(await result(served, 'SendMessage', { message: reply }, { headers }), first)
    t.match((await rpc(served, 'SendMessage', { message: { ...reply, parts: [{ text: 'Other' }] } }, { headers })).json(), { error: { code: -32602, data: [{}, violated('message.messageId')] } })
    const next = message('echo', { taskId: id })
    t.match(await result(served, 'SendMessage', { message: next }, { headers }), { task: { status: { state: 'TASK_STATE_COMPLETED' } } })
    t.match(await result(served, 'SendMessage', { message: next }, { headers }), { task: { status: { state: 'TASK_STATE_COMPLETED' } } }, 'also once it has ended')
    t.match((await rpc(served, 'SendMessage', { message: next })).json(), { error: { code: -32004 } }, 'who does not ask for it is told that it has')
  }
})

test('a reply whose webhook is refused is not taken', async t => {
  const served = await agent(t, { push: { allow: ['127.0.0.1'] } })
  const { task: { id } } = await result(served, 'SendMessage', { message: message('ask') })
  for (let n = 0; n < 10; n++) await result(served, 'CreateTaskPushNotificationConfig', { taskId: id, id: `c${n}`, url: 'http://127.0.0.1:1/' })
  const reply = (config: string): Json => ({ message: message('echo', { taskId: id }), configuration: { taskPushNotificationConfig: { id: config, url: 'http://127.0.0.1:1/' } } })
  t.match((await rpc(served, 'SendMessage', reply('eleventh'))).json(), { error: { code: -32602, message: /at most 10/ } })
  t.match(await result(served, 'GetTask', { id }), { status: { state: 'TASK_STATE_INPUT_REQUIRED' } })
  t.match(await result(served, 'SendMessage', reply('c1')), { task: { status: { state: 'TASK_STATE_COMPLETED' } } }, 'one that is there already is replaced')
})
