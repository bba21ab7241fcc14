import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { fixtureSource } from './conformance-fixture/source.mjs'
import { LegacySession, messagesIn, modern, modernBody, modernHeaders, post, serve, Wire, type Reply } from './fixtures/wire.js'
import type { FastifyInstance } from 'fastify'

const EXTENSION = 'io.modelcontextprotocol/tasks'
const able = { capabilities: { elicitation: {}, extensions: { [EXTENSION]: {} } } }

async function serveTasks (t: Parameters<typeof serve>[0], options: object = {}): Promise<FastifyInstance> {
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  const app = await serve(t, { sources: [fixtureSource()], tasks, ...options })
  t.teardown(() => tasks.close())
  return app
}

const call = (name: string, args: object = {}): Record<string, unknown> => ({ name, arguments: args })

async function untilStatus (read: () => Promise<Reply>, status: string): Promise<Record<string, any>> {
  return await until(async () => {
    const { json: { result, error } } = await read()
    if (error !== undefined) throw new Error(error.message)
    return result?.status === status && result
  }, `the task is ${status}`)
}

test('a call becomes a task for clients with tasks, and runs at once for others', async t => {
  const app = await serveTasks(t)
  t.match((await modern(app, 'server/discover')).json.result, { capabilities: { extensions: { [EXTENSION]: {} } } })
  t.match((await modern(app, 'tools/call', call('slow_compute', { label: 'a' }))).json.result, { resultType: 'complete', content: [{ text: 'a took 0 s' }] })
  t.match(await modern(app, 'tools/call', call('failing_job')), { status: 400, json: { error: { code: -32021, data: { requiredCapabilities: { extensions: { [EXTENSION]: {} } } } } } })
  const created = (await modern(app, 'tools/call', call('slow_compute', { seconds: 0.05, label: 'a' }), able)).json.result as { taskId: string }
  t.match(created, { resultType: 'task', status: 'working', ttlMs: 3_600_000, pollIntervalMs: 1_000 })
  const done = await untilStatus(() => modern(app, 'tasks/get', { taskId: created.taskId }, able), 'completed')
  t.match(done, { resultType: 'complete', result: { content: [{ text: 'a took 0.05 s' }] } })
  t.match((await modern(app, 'tasks/get', { taskId: created.taskId })).json.error, { code: -32021 })
  t.match((await modern(app, 'tasks/get', { taskId: 'none' }, able)).json.error, { code: -32602 })
  t.match((await modern(app, 'tasks/update', { taskId: created.taskId, inputResponses: { x: {} } }, able)).json.result, { resultType: 'complete' })
  t.match((await modern(app, 'tasks/update', { taskId: created.taskId }, able)).json.error, { code: -32602 })
  t.match((await modern(app, 'tasks/cancel', { taskId: created.taskId }, able)).json.result, { resultType: 'complete' })
})

test('a cancelled task aborts its work', async t => {
  const app = await serveTasks(t)
  const { taskId } = (await modern(app, 'tools/call', call('slow_compute', { seconds: 60 }), able)).json.result as { taskId: string }
  t.match((await modern(app, 'tasks/cancel', { taskId }, able)).json.result, { resultType: 'complete' })
  const cancelled = await untilStatus(() => modern(app, 'tasks/get', { taskId }, able), 'cancelled')
  t.equal(cancelled.result, undefined)
})

test('a task asks, keeps its answers, and continues when all are there', async t => {
  const app = await serveTasks(t)
  const { taskId } = (await modern(app, 'tools/call', call('multi_input'), able)).json.result as { taskId: string }
  const get = (): Promise<Reply> => modern(app, 'tasks/get', { taskId }, able)
  const update = (inputResponses: object): Promise<Reply> => modern(app, 'tasks/update', { taskId, inputResponses }, able)
  const asking = await untilStatus(get, 'input_required')
  t.strictSame(Object.keys(asking.inputRequests), ['first', 'second'])
  t.match((await update({ first: { action: 'perhaps' } })).json.error, { code: -32602, message: /first/ })
  await update({ first: { action: 'accept', content: { value: '1' } }, other: {} })
  t.match((await get()).json.result, { status: 'input_required' })
  t.strictSame(Object.keys((await get()).json.result?.inputRequests), ['second'])
  await update({ first: { action: 'accept', content: { value: 'again' } }, second: { action: 'accept', content: { value: '2' } } })
  t.match(await untilStatus(get, 'completed'), { result: { content: [{ text: '[{"value":"1"},{"value":"2"}]' }] } })
})

test('changes of a task are sent to listeners, and it belongs to its caller', async t => {
  const app = await serveTasks(t, { authenticate: ({ headers }: { headers: Record<string, string> }) => ({ owner: headers.authorization ?? 'nobody' }) })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const ann = { ...able, headers: { authorization: 'ann' } }
  const { taskId } = (await modern(app, 'tools/call', call('slow_compute', { seconds: 0.3 }), ann)).json.result as { taskId: string }
  t.match((await modern(app, 'tasks/get', { taskId }, { ...able, headers: { authorization: 'bob' } })).json.error, { code: -32602 })
  t.match((await modern(app, 'tasks/cancel', { taskId }, { ...able, headers: { authorization: 'bob' } })).json.error, { code: -32602 })
  const listen = (owner: string): Wire => new Wire(app, modernBody('subscriptions/listen', { notifications: { taskIds: [taskId, 'none'] } }, able.capabilities), { ...modernHeaders('subscriptions/listen', {}), authorization: owner })
  const [mine, foreign] = [listen('ann'), listen('bob')]
  await mine.until('completed')
  await foreign.until('acknowledged')
  t.match(messagesIn(mine.text)[0], { params: { notifications: { taskIds: [taskId] } } })
  t.match(messagesIn(mine.text).at(-1), { method: 'notifications/tasks', params: { taskId, status: 'completed', result: { content: [] } } })
  t.equal(messagesIn(foreign.text)[0]?.params?.notifications && (messagesIn(foreign.text)[0]?.params?.notifications as { taskIds?: unknown }).taskIds, undefined)
  t.equal((await modern(app, 'subscriptions/listen', { notifications: { taskIds: [taskId] } }, { headers: { authorization: 'ann' } })).json.error?.code, -32021)
  mine.leave()
  foreign.leave()
})

test('revision 2025-11-25 has core tasks, which the client requests', async t => {
  const app = await serveTasks(t)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const session = await LegacySession.open(app, { capabilities: { elicitation: {} } })
  const tools = (await session.request('tools/list')).json.result?.tools as Array<{ name: string, execution?: object }>
  t.strictSame(tools.find(({ name }) => name === 'failing_job')?.execution, { taskSupport: 'required' })
  t.match((await session.request('tools/call', { ...call('greet', { name: 'a' }), task: {} })).json.error, { code: -32601 })
  t.match((await session.request('tools/call', call('failing_job'))).json.error, { code: -32601 })
  const { task } = (await session.request('tools/call', { ...call('slow_compute', { seconds: 0.05 }), task: { ttl: 1 } })).json.result as { task: { taskId: string } }
  t.match(task, { status: 'working', ttl: 3_600_000, pollInterval: 1_000 })
  t.match((await session.request('tasks/result', { taskId: task.taskId })).json.result, { content: [{ text: /took 0.05 s/ }], _meta: { 'io.modelcontextprotocol/related-task': { taskId: task.taskId } } })
  t.match((await session.request('tasks/get', { taskId: task.taskId })).json.result, { status: 'completed' })
  t.match((await session.request('tasks/list')).json.result, { tasks: [{ taskId: task.taskId }] })
  t.match((await session.request('tasks/list', { cursor: 'x' })).json.error, { code: -32602 })
  t.match((await session.request('tasks/cancel', { taskId: task.taskId })).json.error, { code: -32602 })
  const other = await LegacySession.open(app)
  t.strictSame((await other.request('tasks/list')).json.result?.tasks, [], 'tasks of callers that nobody knows belong to their session')
  t.match((await other.request('tasks/get', { taskId: task.taskId })).json.error, { code: -32602 })

  const failing = (await session.request('tools/call', { ...call('protocol_error_job'), task: {} })).json.result as { task: { taskId: string } }
  t.match((await session.request('tasks/result', { taskId: failing.task.taskId })).json.error, { code: -32603, message: 'the job broke' })
  const asking = (await session.request('tools/call', { ...call('confirm_delete', { filename: 'a.txt' }), task: {} })).json.result as { task: { taskId: string } }
  const wire = new Wire(app, { jsonrpc: '2.0', id: 'r', method: 'tasks/result', params: { taskId: asking.task.taskId } }, session.headers)
  await wire.until('elicitation/create')
  const question = messagesIn(wire.text).find(({ method }) => method === 'elicitation/create')
  await app.inject({ method: 'POST', url: '/mcp', headers: session.headers, payload: { jsonrpc: '2.0', id: question?.id, result: { action: 'accept', content: { confirm: true } } } })
  await wire.ended
  t.match(messagesIn(wire.text).at(-1), { id: 'r', result: { content: [{ text: 'a.txt is deleted' }] } })
  const old = await LegacySession.open(app, { revision: '2025-06-18' })
  t.match((await old.request('tasks/list')).json.error, { code: -32601 })
})

test('a task that runs while the application closes is run again by the next one', async t => {
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  t.teardown(() => tasks.close())
  const first = await serve(t, { sources: [fixtureSource()], tasks })
  const { taskId } = (await modern(first, 'tools/call', call('slow_compute', { seconds: 0.2 }), able)).json.result as { taskId: string }
  await first.close()
  const second = await serve(t, { sources: [fixtureSource()], tasks })
  await untilStatus(() => modern(second, 'tasks/get', { taskId }, able), 'completed')
  t.pass('it ended')
})

test('a task whose question is not answered in time fails with the reason', async t => {
  const app = await serveTasks(t, { limits: { taskInputMs: 30 } })
  const { taskId } = (await modern(app, 'tools/call', call('multi_input'), able)).json.result as { taskId: string }
  t.match(await untilStatus(() => modern(app, 'tasks/get', { taskId }, able), 'failed'), { statusMessage: /asked for input/, error: { code: -32603, message: /asked for input/ } })
  t.match((await modern(app, 'tasks/update', { taskId, inputResponses: { first: { action: 'accept', content: { value: '1' } } } }, able)).json.result, { resultType: 'complete' })
  t.match((await modern(app, 'tasks/get', { taskId }, able)).json.result, { status: 'failed' })
})

test('tasks beyond the concurrency wait, and one that takes too long fails', async t => {
  const app = await serveTasks(t, { limits: { taskConcurrency: 1, taskTimeoutMs: 100 } })
  const begin = async (args: object): Promise<string> => ((await modern(app, 'tools/call', call('slow_compute', args), able)).json.result as { taskId: string }).taskId
  const [long, short] = [await begin({ seconds: 60 }), await begin({ seconds: 0, label: 'short' })]
  t.match((await modern(app, 'tasks/get', { taskId: short }, able)).json.result, { status: 'working' }, 'its place is taken')
  t.match(await untilStatus(() => modern(app, 'tasks/get', { taskId: short }, able), 'completed'), { result: { content: [{ text: 'short took 0 s' }] } })
  t.match((await modern(app, 'tasks/get', { taskId: long }, able)).json.result, { status: 'failed', statusMessage: /did not finish within 100 ms/ }, 'which came free when the first took too long')
})

test('unknown callers without a session do not see the tasks of others', async t => {
  const app = await serveTasks(t, { sessions: false })
  const { taskId } = (await modern(app, 'tools/call', call('slow_compute', { seconds: 0 }), able)).json.result as { taskId: string }
  const legacy = (method: string, params: object): Promise<Reply> => post(app, { jsonrpc: '2.0', id: 1, method, params }, { 'mcp-protocol-version': '2025-11-25' })
  t.strictSame((await legacy('tasks/list', {})).json.result, { tasks: [] })
  t.match((await legacy('tasks/get', { taskId })).json.result, { taskId }, 'who has an id has the task')
})

test('a task store that unknown callers have filled refuses the call with 503', async t => {
  const tasks = sqliteTaskStore({ path: ':memory:', maxTasks: 4 })
  await tasks.open()
  t.teardown(() => tasks.close())
  const app = await serve(t, { sources: [fixtureSource()], tasks })
  for (let i = 0; i < 4; i++) {
    t.match(await modern(app, 'tools/call', call('slow_compute', { seconds: 60 }), able), { status: 200 }, 'many callers are one owner, which has no share')
  }
  t.match(await modern(app, 'tools/call', call('slow_compute', { seconds: 60 }), able), { status: 503, json: { error: { code: -32603, message: /have not ended/ } } })
  t.match((await modern(app, 'tools/call', call('slow_compute', {}))).json.result, { resultType: 'complete' }, 'without a task it is run')
})
