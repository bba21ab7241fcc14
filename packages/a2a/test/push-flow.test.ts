import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { RequestListener } from 'node:http'
import { test, type Test } from 'tap'
import type { Interpreter } from '@polyvac/core'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { until } from '../../../test/fixtures/until.js'
import { ReadPushConfig, SigningKeys, StoredPushConfig, Task, verifyNotification } from '../src/index.js'
import { ENDED, gate, listen, serve, type Frame, type Served, type ServeOptions } from './fixtures/app.js'
import { receiver, type Received, type Receiver } from './push/receiver.js'

const isTask = TypeCompiler.Compile(Task)
const isStored = TypeCompiler.Compile(StoredPushConfig)
const isRead = TypeCompiler.Compile(ReadPushConfig)
const ask = { skillName: 'vac_stream_docs', input: { query: 'x' } }

type Payload = Pick<Frame, 'type' | 'taskId' | 'data'>
const payload = ({ body }: Received): Payload => JSON.parse(body) as Payload
const states = ({ received }: Receiver): string[] => received.map(one => payload(one).data.state)

/** An app that may send to this machine, and a receiver on it. */
async function withReceiver (t: Test, interpreter: Interpreter, answer?: RequestListener, options: ServeOptions = {}): Promise<{ served: Served, hook: Receiver }> {
  const hook = await receiver(t, answer)
  const served = await serve(t, interpreter, { ...options, plugin: { push: { allow: ['127.0.0.1'] }, ...options.plugin } })
  return { served, hook }
}

/** Resolves once the receiver has got so many notifications. */
async function told ({ received }: Receiver, count: number): Promise<void> {
  await until(() => received.length >= count, `${count} notifications have come`)
}

/** Resolves once the receiver has got the end of a task. */
async function toldEnd (hook: Receiver): Promise<void> {
  await until(() => states(hook).some(state => (ENDED as readonly string[]).includes(state)), 'the end of the task has come')
}

const gated = (opened: Promise<void>): Interpreter => async function * () { yield 'partial '; await opened; yield 'text'; return { answer: 'partial text' } }

test('a config is set, read without its secrets, replaced, and deleted', async t => {
  const { opened, open } = gate()
  const { served, hook } = await withReceiver(t, gated(opened), undefined, { server: { logger: false } })
  const { taskId } = await served.task('tasks/send', ask)
  const set = async (config: object): Promise<unknown> => (await served.rpc('tasks/pushNotification/set', { taskId, pushNotificationConfig: config })).body.result
  /** Without the deliveries, which may come at any time. */
  const get = async (id?: string): Promise<{ result?: unknown, error?: unknown }> => {
    const { body } = await served.rpc('tasks/pushNotification/get', { taskId, ...(id === undefined ? {} : { id }) })
    if (body.result === undefined) return body
    t.ok(isRead.Check(body.result))
    const { deliveries, ...result } = body.result as ReadPushConfig
    return { result }
  }
  t.match(await get(), { error: { code: -32001, data: { code: 'A2A_PUSH_CONFIG_NOT_FOUND' } } })
  const stored = await set({ url: hook.url, token: 'HUSH', authentication: { schemes: ['Bearer'], credentials: 'HUSH' } })
  t.strictSame(stored, { taskId, pushNotificationConfig: { id: 'default', url: hook.url, authentication: { schemes: ['Bearer'] } } })
  t.ok(isStored.Check(stored))
  t.strictSame((await get()).result, stored)
  t.strictSame((await get('default')).result, stored)
  const replaced = await set({ url: `${hook.url}/2` })
  t.strictSame((await get()).result, replaced, 'one of the same name takes its place')
  t.strictSame(replaced, { taskId, pushNotificationConfig: { id: 'default', url: `${hook.url}/2` } })
  await set({ id: 'other', url: `${hook.url}/3` })
  t.match(await get('other'), { result: { pushNotificationConfig: { id: 'other', url: /3$/ } } })
  t.match(await get('nope'), { error: { code: -32001 } })
  for (let n = 0; n < 8; n++) await set({ id: `n${n}`, url: hook.url })
  t.match((await served.rpc('tasks/pushNotification/set', { taskId, pushNotificationConfig: { id: 'eleventh', url: hook.url } })).body.error, { code: -32602, message: /10/ })
  const remove = async (id?: string): Promise<object> => (await served.rpc('tasks/pushNotification/delete', { taskId, ...(id === undefined ? {} : { id }) })).body
  t.strictSame(await remove('other'), { jsonrpc: '2.0', id: 'r1', result: null })
  t.match(await remove('other'), { error: { code: -32001 } })
  t.match(await get('other'), { error: { code: -32001 } })
  t.match(await remove(), { result: null }, 'without a name, the first')
  t.match(await get('default'), { error: { code: -32001 } })
  open()
})

test('a receiver gets every state in order, each as a signed task_update of its event', async t => {
  const { opened, open } = gate()
  const { served, hook } = await withReceiver(t, gated(opened))
  const base = `http://127.0.0.1:${await listen(served.app)}`
  const sent = await served.task('tasks/send', { ...ask, clientMetadata: { a: 1 }, pushNotificationConfig: { url: hook.url, token: 'my-token' } })
  await told(hook, 2)
  open()
  await toldEnd(hook)
  t.strictSame(states(hook), ['submitted', 'working', 'completed'])
  const ended = await served.task('tasks/get', { taskId: sent.taskId })
  const jwks = (await served.app.inject('/.well-known/jwks.json')).json() as { keys: [] }
  t.notMatch(JSON.stringify(jwks), /"d":/, 'the keys that are served are public')
  const ids = new Set<string>()
  for (const one of hook.received) {
    const { type, taskId, data, ...more } = payload(one)
    t.strictSame(more, {})
    t.equal(type, 'task_update')
    t.equal(taskId, sent.taskId)
    t.ok(isTask.Check(data))
    t.strictSame(data.artifacts.length, data.state === 'completed' ? 1 : 0)
    t.match(one.headers, { 'content-type': 'application/json', 'x-a2a-notification-token': 'my-token' })
    const audience = new URL(hook.url).origin
    const verified = await verifyNotification({ headers: one.headers, body: one.body, jwks, audience })
    t.equal(verified.taskId, taskId)
    ids.add(verified.id)
    t.match(await verifyNotification({ headers: one.headers, body: one.body, jwksUrl: `${base}/.well-known/jwks.json`, audience }), { id: verified.id }, 'also by the address of the keys')
    await t.rejects(verifyNotification({ headers: one.headers, body: one.body.replace('task_update', 'task-update'), jwks, audience }), { code: 'NOTIFICATION_FORGED' })
    await t.rejects(verifyNotification({ headers: one.headers, body: one.body, jwks, audience: 'https://else.example' }), { code: 'NOTIFICATION_FORGED' })
  }
  t.equal(ids.size, 3, 'each has an id of its own')
  t.strictSame(payload(hook.received[2] as Received).data, ended, 'the last is the task as it ended')
  t.match(payload(hook.received[0] as Received).data, { state: 'submitted', progress: 0, completedAt: null, messages: [{ role: 'user' }] })
})

test('a receiver that fails is tried again until it takes it, and gets the rest after it', async t => {
  const answers = [500, 500, 200]
  const { served, hook } = await withReceiver(t, () => 'x', (_request, response) => { response.writeHead(answers.shift() ?? 200).end() })
  await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' }, pushNotificationConfig: { url: hook.url } })
  await toldEnd(hook)
  t.strictSame(states(hook), ['submitted', 'submitted', 'submitted', 'working', 'completed'])
  const ids = hook.received.map(({ headers }) => headers['webhook-id'])
  t.equal(new Set(ids.slice(0, 3)).size, 1, 'the same one has the same id')
  t.equal(new Set(ids).size, 3)
  t.equal(new Set(hook.received.slice(0, 3).map(({ body }) => body)).size, 1, 'and says the same')
})

test('a receiver that answers 410 gets no more, and the config names the reason', async t => {
  const { opened, open } = gate()
  const { served, hook } = await withReceiver(t, gated(opened), (_request, response) => { response.writeHead(410).end() })
  const { taskId } = await served.task('tasks/send', { ...ask, pushNotificationConfig: { url: hook.url } })
  const read = async (): Promise<StoredPushConfig> => (await served.rpc('tasks/pushNotification/get', { taskId })).body.result as StoredPushConfig
  await until(async () => (await read()).pushNotificationConfig.disabled, 'the config is disabled')
  open()
  await served.reached(taskId, ['completed'])
  t.match((await read()).pushNotificationConfig.disabled, /410/)
  t.equal(hook.received.length, 1)
})

test('a config that is set after its task has ended gets the end, and no other event', async t => {
  const { served, hook } = await withReceiver(t, () => 'x')
  for (const [query, state] of [['x', 'completed'], ['', 'failed']] as const) {
    hook.received.length = 0
    const { taskId } = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query } })
    await served.rpc('tasks/pushNotification/set', { taskId, pushNotificationConfig: { url: hook.url } })
    await told(hook, 1)
    t.match(hook.received.map(payload), [{ taskId, data: { state } }])
    t.strictSame(payload(hook.received[0] as Received).data, await served.task('tasks/get', { taskId }))
  }
})

test('a receiver hears of a question, of the answer to it, and of a cancel', async t => {
  const { served, hook } = await withReceiver(t, async question => { if (question === 'yes') await new Promise(() => {}); return { input_required: 'Sure?' } })
  const { taskId } = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'go' }, pushNotificationConfig: { url: hook.url } })
  await told(hook, 3)
  t.match(payload(hook.received[2] as Received).data, { state: 'input-required', messages: [{ role: 'user' }, { role: 'agent', parts: [{ text: 'Sure?' }] }] })
  await served.frames('tasks/resubscribe', { taskId: 'nope' })
  const sent = served.task('tasks/send', { taskId, input: { query: 'yes' } })
  await told(hook, 5)
  await served.task('tasks/cancel', { taskId })
  t.match(await sent, { state: 'canceled' })
  await toldEnd(hook)
  t.strictSame(states(hook), ['submitted', 'working', 'input-required', 'submitted', 'working', 'canceled'])
})

test('the secrets of a config reach the receiver, and no answer and no log', async t => {
  const logged: string[] = []
  const write = (...args: unknown[]): void => { logged.push(JSON.stringify(args, (_key, value: unknown) => value instanceof Error ? `${value.message} ${value.stack ?? ''}` : value)) }
  const { served, hook } = await withReceiver(t, () => 'x', undefined, { store: { log: { debug: write, warn: write, error: write } } })
  const pushNotificationConfig = { url: `${hook.url}?key=HUSH-query`, token: 'HUSH-token', authentication: { schemes: ['Basic'], credentials: 'HUSH-credentials' } }
  const answers: string[] = []
  const { text, body } = await served.rpc('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' }, pushNotificationConfig })
  const { taskId } = body.result as Task
  answers.push(text)
  await toldEnd(hook)
  t.match(hook.received[0]?.headers, { authorization: 'Basic HUSH-credentials', 'x-a2a-notification-token': 'HUSH-token', 'a2a-notification-token': 'HUSH-token' })
  for (const [method, params] of [
    ['tasks/get', { taskId }], ['tasks/list', {}], ['tasks/resubscribe', { taskId }],
    ['tasks/pushNotification/set', { taskId, pushNotificationConfig: { ...pushNotificationConfig, token: 'HUSH\ntoken' } }],
    ['tasks/pushNotification/set', { taskId, pushNotificationConfig: { ...pushNotificationConfig, authentication: { scheme: 'Basic', credentials: 'HUSH-ä' } } }],
    ['tasks/pushNotification/set', { taskId, pushNotificationConfig: { ...pushNotificationConfig, url: 'https://user:HUSH@receiver.example/' } }]
  ] as const) answers.push((await served.rpc(method, params)).text)
  t.notMatch(answers.join('\n'), /HUSH/)
  // a config that no receiver takes
  const closed = await receiver(t, (_request, response) => { response.destroy() })
  await served.rpc('tasks/pushNotification/set', { taskId, pushNotificationConfig: { ...pushNotificationConfig, url: `${closed.url}/HUSH-path` } })
  await told(closed, 1)
  for (const part of ['token', 'credentials']) t.notMatch((await served.rpc('tasks/pushNotification/get', { taskId })).text, new RegExp(`HUSH-${part}`))
  t.notMatch(served.logged() + logged.join('\n'), /HUSH/)
})

test('what callers name is not reached unless it is public or allowed', async t => {
  const canary = await receiver(t)
  const served = await serve(t, () => 'x')
  const { taskId } = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } })
  for (const url of [canary.url, canary.url.replace('127.0.0.1', 'localhost'), canary.url.replace('127.0.0.1', '2130706433'), canary.url.replace('127.0.0.1', '[::ffff:127.0.0.1]'), canary.url.replace('http', 'https')]) {
    for (const [method, params] of [
      ['tasks/pushNotification/set', { taskId, pushNotificationConfig: { url } }], ['tasks/send', { ...ask, pushNotificationConfig: { url } }], ['tasks/sendSubscribe', { ...ask, pushNotificationConfig: { url } }]
    ] as const) t.match((await served.rpc(method, params)).body.error, { code: -32602, data: { code: 'PUSH_URL_REFUSED' } }, `${method} ${url}`)
  }
  t.equal(((await served.rpc('tasks/list', {})).body.result as { tasks: [] }).tasks.length, 1, 'and no task was made')
  t.equal(canary.connections(), 0)
})

test('switched off, push is not supported, by its own code, and there are no keys', async t => {
  const served = await serve(t, () => 'x', { plugin: { push: false } })
  const { taskId } = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } })
  const pushNotificationConfig = { url: 'https://receiver.example/x' }
  for (const [method, params] of [['tasks/pushNotification/set', { taskId, pushNotificationConfig }], ['tasks/send', { ...ask, pushNotificationConfig }], ['tasks/sendSubscribe', { ...ask, pushNotificationConfig }]] as const) {
    t.match((await served.rpc(method, params)).body.error, { code: -32003, data: { code: 'A2A_PUSH_NOT_SUPPORTED' } }, method)
  }
  t.equal(((await served.rpc('tasks/list', {})).body.result as { tasks: [] }).tasks.length, 1)
  t.match((await served.app.inject('/.well-known/agent.json')).json(), { metadata: { push_notifications: false } })
  t.equal((await served.app.inject('/.well-known/jwks.json')).statusCode, 404)
})

test('keys and a public address of one\'s own are those that receivers verify by', async t => {
  const keys = await SigningKeys.generate()
  const { served, hook } = await withReceiver(t, () => 'x', undefined, { plugin: { publicUrl: 'https://agent.example/', push: { allow: ['127.0.0.1'], keys } } })
  t.strictSame((await served.app.inject('/.well-known/jwks.json')).json(), JSON.parse(JSON.stringify(keys.publicJwks())))
  await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' }, pushNotificationConfig: { url: hook.url } })
  await toldEnd(hook)
  const { url } = (await served.app.inject('/.well-known/agent.json')).json() as { url: string }
  for (const { headers, body } of hook.received) {
    t.match(await verifyNotification({ headers, body, jwks: keys.publicJwks(), audience: new URL(hook.url).origin, issuer: url }), { issuer: 'https://agent.example' }, 'the issuer is the address on the card')
  }
})

test('what a receiver has not got when the application ends, the next application sends', async t => {
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  t.teardown(() => tasks.close())
  let busy = true
  const hook = await receiver(t, (_request, response) => { if (!busy) response.end() })
  const options = { plugin: { tasks, push: { allow: ['127.0.0.1'] } } }
  const first = await serve(t, () => 'x', options)
  const { taskId } = await first.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' }, pushNotificationConfig: { url: hook.url } })
  await told(hook, 1)
  // a receiver that hangs holds up no close
  await first.app.close()
  busy = false
  const next = await serve(t, () => 'x', options)
  await next.app.ready()
  await toldEnd(hook)
  t.strictSame(states(hook), ['submitted', 'submitted', 'working', 'completed'])
  t.equal(hook.received[0]?.headers['webhook-id'], hook.received[1]?.headers['webhook-id'])
  t.ok(hook.received.every(one => payload(one).taskId === taskId))
})
