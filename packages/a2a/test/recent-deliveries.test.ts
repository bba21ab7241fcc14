import { TypeCompiler } from '@sinclair/typebox/compiler'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type Test } from 'tap'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { until } from '../../../test/fixtures/until.js'
import { ReadPushConfig } from '../src/index.js'
import { MAX_RECENT_CONFIGS, MAX_RECENT_DELIVERIES, RecentDeliveries, type RecentDelivery } from '../src/push/recent-deliveries.js'
import { TaskService } from '../src/tasks/task-service.js'
import { serve, type RpcOptions, type Served, type ServeOptions } from './fixtures/app.js'
import { result } from './fixtures/public.js'
import { receiver, type Receiver } from './push/receiver.js'
import { deliveryTo, never, sender } from './push/sender.js'

const isRead = TypeCompiler.Compile(ReadPushConfig)
const ask = { skillName: 'vac_query_docs', input: { query: 'x' } }
const as = (who: string): RpcOptions => ({ headers: { authorization: who } })
const authenticate = ({ headers: { authorization } }: { headers: { authorization?: string | undefined } }): { owner: string } | undefined =>
  authorization === undefined ? undefined : { owner: authorization }

async function withReceiver (t: Test, answer?: RequestListener, plugin: ServeOptions['plugin'] = {}): Promise<{ served: Served, hook: Receiver }> {
  const hook = await receiver(t, answer)
  return { hook, served: await serve(t, () => 'x', { plugin: { push: { allow: ['127.0.0.1'] }, ...plugin } }) }
}

/** The deliveries of a config once there are so many. */
async function deliveries ({ rpc }: Served, taskId: string, count: number, caller?: RpcOptions): Promise<ReadPushConfig['deliveries']> {
  return await until(async () => {
    const { body } = await rpc('tasks/pushNotification/get', { taskId }, caller)
    if (!isRead.Check(body.result)) throw new Error(JSON.stringify(body))
    return body.result.deliveries.length >= count && body.result.deliveries
  }, `${count} deliveries are listed`)
}

test('a config lists what was sent to it, with begin, duration, status and try', async t => {
  const answers = [500, 200]
  const { served, hook } = await withReceiver(t, (_request, response) => { response.writeHead(answers.shift() ?? 204).end('HUSH-answer') })
  const before = Date.now()
  const { taskId } = await served.task('tasks/send', { ...ask, pushNotificationConfig: { url: `${hook.url}?key=HUSH-query`, token: 'HUSH-token' } })
  const list = await deliveries(served, taskId, 4)
  t.strictSame(list.map(({ at, ms, ...more }) => more), [
    { status: 500, outcome: 'retry', try: 1 }, { status: 200, outcome: 'delivered', try: 2 },
    { status: 204, outcome: 'delivered', try: 1 }, { status: 204, outcome: 'delivered', try: 1 }
  ])
  t.ok(list.every(({ ms }) => ms > 0), 'each has a duration')
  const times = [before, ...list.map(({ at }) => Date.parse(at)), Date.now()]
  t.strictSame(times, [...times].sort((a, b) => a - b), 'the newest is the last')
  t.notMatch(JSON.stringify(list), /HUSH|hook|127\.0\.0/)
  const set = (await served.rpc('tasks/pushNotification/set', { taskId, pushNotificationConfig: { id: 'other', url: hook.url } })).body.result as object
  t.notOk('deliveries' in set, 'an answer to set has none')
  for (const [method, params] of [['GetTaskPushNotificationConfig', { taskId, id: 'default' }], ['ListTaskPushNotificationConfigs', { taskId }]] as const) {
    t.notMatch(JSON.stringify(await result(served, method, params)), /deliveries|outcome/, `nor has ${method} of A2A 1.0`)
  }
})

test('a refused connection is listed with its code, and a status that disables the config as such', async t => {
  const closed = createServer()
  await new Promise<void>(resolve => { closed.listen(0, '127.0.0.1', resolve) })
  const { port } = closed.address() as AddressInfo
  await new Promise(resolve => { closed.close(resolve) })
  const { served, hook } = await withReceiver(t, (_request, response) => { response.writeHead(410).end() })
  const refused = await served.task('tasks/send', { ...ask, pushNotificationConfig: { url: `http://127.0.0.1:${port}/HUSH` } })
  const { at, ms, ...first } = (await deliveries(served, refused.taskId, 1))[0]!
  t.strictSame(first, { error: 'ECONNREFUSED', outcome: 'retry', try: 1 })
  const gone = await served.task('tasks/send', { ...ask, pushNotificationConfig: { url: hook.url } })
  t.match(await deliveries(served, gone.taskId, 1), [{ status: 410, outcome: 'disabled', try: 1 }])
})

test('another owner reads no deliveries, not by the id of the task, and not by the name of the config', async t => {
  const { served, hook } = await withReceiver(t, undefined, { authenticate })
  const { taskId } = await served.task('tasks/send', { ...ask, pushNotificationConfig: { url: hook.url } }, as('alice'))
  await deliveries(served, taskId, 3, as('alice'))
  const foreign = await served.rpc('tasks/pushNotification/get', { taskId }, as('bob'))
  t.match(foreign.body, { error: { data: { code: 'A2A_TASK_NOT_FOUND' } } })
  t.notMatch(foreign.text, /deliveries/)
  const { taskId: his } = await served.task('tasks/send', ask, as('bob'))
  await served.rpc('tasks/pushNotification/set', { taskId: his, pushNotificationConfig: { url: hook.url } }, as('bob'))
  await deliveries(served, his, 1, as('bob'))
  t.equal((await deliveries(served, taskId, 3, as('alice'))).length, 3)
  const { config } = deliveryTo(hook.url)
  const recent = new RecentDeliveries()
  recent.add('alice', config, delivered(1))
  t.strictSame([recent.list('alice', config).length, recent.list('bob', config).length], [1, 0])
})

test('a config that is deleted and set again, or gets another URL, lists only what came after that', async t => {
  const { served, hook } = await withReceiver(t)
  const { taskId } = await served.task('tasks/send', { ...ask, pushNotificationConfig: { url: hook.url } })
  await deliveries(served, taskId, 3)
  await served.rpc('tasks/pushNotification/delete', { taskId })
  await served.rpc('tasks/pushNotification/set', { taskId, pushNotificationConfig: { url: hook.url } })
  t.equal((await deliveries(served, taskId, 1)).length, 1)
  await served.rpc('tasks/pushNotification/set', { taskId, pushNotificationConfig: { url: `${hook.url}/2` } })
  await until(() => hook.received.length === 5, 'the new URL has received the end')
  t.equal((await deliveries(served, taskId, 1)).length, 1)
})

test('the deliveries of a config are forgotten with it', async t => {
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  t.teardown(() => tasks.close())
  const recent = new RecentDeliveries()
  const service = new TaskService(tasks, undefined, recent)
  const { task } = await tasks.create('alice', { skill: 'x', input: {} })
  const config = await tasks.setPush('alice', task.id, { id: 'hook', url: 'https://receiver.example/' })
  recent.add('alice', config, delivered(1))
  t.equal(service.recentDeliveries(task, config).length, 1)
  t.ok(await service.deletePush(task, 'hook'))
  t.equal(recent.size, 0)
})

test('deliveries are bounded in their number, the number of configs and the length of a code', async t => {
  const recent = new RecentDeliveries()
  const { config } = deliveryTo('https://receiver.example/')
  for (let i = 1; i <= MAX_RECENT_DELIVERIES + 5; i++) recent.add('alice', config, delivered(i))
  const kept = recent.list('alice', config)
  t.equal(kept.length, MAX_RECENT_DELIVERIES)
  t.strictSame([kept[0]?.try, kept.at(-1)?.try], [6, MAX_RECENT_DELIVERIES + 5], 'the oldest leave')

  const nth = (i: number): typeof config => ({ ...config, id: `c${i}` })
  for (let i = 2; i <= MAX_RECENT_CONFIGS; i++) recent.add('anyone', nth(i), delivered(1))
  t.equal(recent.size, MAX_RECENT_CONFIGS, 'callers without an identity share all')
  recent.add('alice', config, delivered(99))
  recent.add('anyone', nth(0), delivered(1))
  t.equal(recent.size, MAX_RECENT_CONFIGS)
  t.equal(recent.list('anyone', nth(2)).length, 0, 'the config that was delivered to longest ago leaves')
  t.equal(recent.list('alice', config).at(-1)?.try, 99)

  const share = MAX_RECENT_CONFIGS / 4
  for (let i = 0; i < share; i++) recent.add('alice', nth(i), delivered(1))
  t.equal(recent.list('alice', config).length, 0, 'an owner with a quarter of the configs loses an own one')
  t.equal(recent.list('alice', nth(0)).length, 1)
  for (let i = 0; i < MAX_RECENT_CONFIGS; i++) recent.add('bob', nth(i), delivered(1))
  t.equal(recent.list('alice', nth(0)).length, 1, 'and not one of another owner')
  t.equal([...Array(MAX_RECENT_CONFIGS).keys()].filter(i => recent.list('bob', nth(i)).length > 0).length, share)

  for (const [error, shown] of [['E'.repeat(64), 'E'.repeat(64)], ['E'.repeat(65), '_OTHER'], ['HUSH of a header', '_OTHER']] as const) {
    recent.add('alice', nth(0), { at: '', ms: 1, error, outcome: 'retry', try: 2 })
    t.equal(recent.list('alice', nth(0)).at(-1)?.error, shown)
  }

  const { handler } = await sender(t, { allow: ['127.0.0.1'] }, { recent, payload: async () => { throw new Error('no body') } })
  const unsent = deliveryTo('http://127.0.0.1:9/')
  await t.rejects(handler(unsent, never))
  t.strictSame(recent.list('alice', unsent.config), [], 'what was never sent is not listed')
})

function delivered (count: number): RecentDelivery {
  return { at: '2026-01-01T00:00:00.000Z', ms: 1, status: 200, outcome: 'delivered', try: count }
}
