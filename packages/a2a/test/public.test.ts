import { test, type Test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { steered } from '../../../test/a2a-agent/steered.mjs'
import type { LightMyRequestResponse } from 'fastify'
import { MAX_ARTIFACTS } from '../../runs/src/outcome/artifacts.js'
import { MAX_HISTORY_CHARS, MAX_HISTORY_TURNS } from '../../runs/src/conversation/stored-conversations.js'
import { IDEMPOTENT_SEND } from '../src/protocol/extensions.js'
import { MAX_EXTENSIONS } from '../src/protocol/request-headers.js'
import type { A2aOptions } from '../src/index.js'
import { serve, type Served, type ServeOptions } from './fixtures/app.js'
import { events, message, message03, result, rpc, type Json } from './fixtures/public.js'

const TWO = { vacs: { docs: { display_name: 'The docs' }, other: {} } }

async function agent (t: Test, plugin: Partial<A2aOptions> = {}, options: ServeOptions = {}): Promise<Served> {
  return await serve(t, steered, { ...options, plugin: { push: { allow: ['127.0.0.1'] }, ...plugin } })
}

/** What reached the interpreter of a task of work `report`. */
const reported = ({ artifacts }: Json): Json => JSON.parse(artifacts[0].parts[0].text) as Json
const send = async (served: Served, more: Json = {}, params: Json = {}): Promise<Json> => (await result(served, 'SendMessage', { message: message('report', more), ...params })).task
const names = ({ tasks }: Json): string[] => tasks.map(({ id }: Json) => id)

test('names come in camelCase and in snake_case, and what callers name themselves stays unchanged', async t => {
  const served = await agent(t)
  const task = (await result(served, 'SendMessage', {
    message: { message_id: 'a', role: 'ROLE_USER', parts: [{ data: { snake_key: 1, nested: { other_key: null } }, media_type: 'application/json' }], metadata: { work: 'report', my_key: { its_key: 1 } }, context_id: 'c', unknown_field: 1 },
    configuration: { history_length: 1, return_immediately: false }
  })).task
  t.match(task, { contextId: 'c', history: [{ messageId: 'a', parts: [{ data: { snake_key: 1, nested: { other_key: null } }, mediaType: 'application/json' }], metadata: { my_key: { its_key: 1 } } }] })
  t.strictSame(reported(task).message.metadata.my_key, { its_key: 1 })
  t.match(await result(served, 'ListTasks', { context_id: 'c', page_size: 1, include_artifacts: true }), { pageSize: 1, tasks: [{ id: task.id, artifacts: [{}] }] })
  t.match(await result(served, 'GetTask', { id: task.id, historyLength: null }), { history: [{}] }, 'null is as good as absent')
})

test('a skill is chosen by its id, by a data part, by the tenant, by default, or has to be', async t => {
  const served = await agent(t, {}, { vacs: TWO })
  const skill = async (more: Json, params: Json = {}): Promise<string> => (await send(served, more, params)).metadata.skillName
  t.equal(await skill({ metadata: { work: 'report', skillId: 'vac_query_other' } }), 'vac_query_other')
  t.equal(await skill({ parts: [{ data: { skillName: 'vac_query_docs', input: { query: 'typed' } } }] }), 'vac_query_docs')
  t.equal(await skill({}, { tenant: 'docs' }), 'vac_stream_docs', 'text goes to the streaming skill')
  t.match((await rpc(served, 'SendMessage', { message: message('echo') })).json(), { error: { code: -32602 } })
  t.match((await rpc(served, 'SendMessage', { tenant: 'docs', message: message('echo', { metadata: { skillId: 'vac_query_other' } }) })).json(), { error: { code: -32602 } })
  t.match((await result(served, 'SendMessage', { message: message('echo') }, { url: '/a2a/vacs/other' })).task.metadata, { skillName: 'vac_stream_other' })
  t.match(await result(served, 'message/send', { message: message03('echo') }, { version: '', url: '/a2a/vacs/other' }), { metadata: { skillName: 'vac_stream_other' } })
  const preset = await agent(t, { defaultVac: 'other' }, { vacs: TWO })
  t.equal((await send(preset)).metadata.skillName, 'vac_stream_other')
  await t.rejects(agent(t, { defaultVac: 'nope' }), { code: 'A2A_PLUGIN_OPTIONS' })
})

test('a tenant has its own tasks', async t => {
  const served = await agent(t, {}, { vacs: TWO })
  const one = await send(served, {}, { tenant: 'docs' })
  const two = await send(served, {}, { tenant: 'other' })
  t.strictSame(names(await result(served, 'ListTasks', { tenant: 'docs' })), [one.id])
  t.strictSame(new Set(names(await result(served, 'ListTasks', {}))), new Set([one.id, two.id]))
  t.match((await rpc(served, 'GetTask', { tenant: 'other', id: one.id })).json(), { error: { code: -32001 } })
  const { payload } = await served.app.inject({ url: `/a2a/v1/docs/tasks/${one.id}`, headers: { 'a2a-version': '1.0' } })
  t.match(JSON.parse(payload), { id: one.id })
})

test('files and data reach the interpreter, in both versions alike', async t => {
  const served = await agent(t, { inputModes: ['text/*', 'image/png', 'application/json'] })
  const parts = [{ text: 'Look: ' }, { raw: 'dGNr', filename: 'a.png', mediaType: 'image/png' }, { url: 'https://x.example/b.txt', mediaType: 'text/plain; charset=utf-8' }, { data: [1, { two: 3 }] }]
  const files = [{ filename: 'a.png', media_type: 'image/png', bytes: 'dGNr' }, { media_type: 'text/plain; charset=utf-8', url: 'https://x.example/b.txt' }]
  t.match(reported(await send(served, { parts })), { question: 'Look:', files, data: [[1, { two: 3 }]] })
  const older = await result(served, 'message/send', { message: message03('report', { parts: [{ kind: 'text', text: 'Look: ' }, { kind: 'file', file: { name: 'a.png', mimeType: 'image/png', bytes: 'dGNr' } }, { kind: 'file', file: { mimeType: 'text/plain; charset=utf-8', uri: 'https://x.example/b.txt' } }, { kind: 'data', data: { two: 3 } }] }) }, { version: '' })
  t.match(reported(older), { question: 'Look:', files, data: [{ two: 3 }] })
  t.match(reported(await send(served, { parts: [parts[1]] })), { question: 'a.png' }, 'a file alone is asked about by its name')
  const { artifacts: [file] } = (await result(served, 'SendMessage', { message: message('file') })).task
  t.strictSame(file, { artifactId: 'file', name: 'file', parts: [{ raw: 'dGNr', filename: 'output.txt', mediaType: 'text/plain' }] })
})

test('the earlier turns of a context become the chat history, those of one VAC and up to a bound', async t => {
  const served = await agent(t, {}, { vacs: TWO })
  const first = await send(served, { parts: [{ text: 'one' }] }, { tenant: 'docs' })
  t.match(first.contextId, /^conv_[\w-]{22}$/, 'a task outside any conversation begins one')
  const said = async (text: string, tenant = 'docs'): Promise<Json> => reported(await send(served, { parts: [{ text }], contextId: first.contextId, metadata: { work: 'report', skillId: `vac_query_${tenant}` } }, { tenant }))
  t.match((await said('two')).history, [{ role: 'user', content: 'one' }, { role: 'assistant', content: /"question":"one"/ }])
  t.strictSame((await said('elsewhere', 'other')).history, [])
  const { history } = await said('three')
  t.strictSame(history.filter(({ role }: Json) => role === 'user').map(({ content }: Json) => content), ['one', 'two'])
  t.match(await result(served, 'ListTasks', { contextId: first.contextId, tenant: 'docs' }), { totalSize: 3 })
  const older = message03('report', { contextId: first.contextId })
  t.match(reported(await result(served, 'message/send', { message: { ...older, metadata: { ...older.metadata, skillId: 'vac_query_docs' } } }, { version: '' })).history, [{ content: 'one' }, {}, { content: 'two' }, {}, { content: 'three' }, {}], 'in 0.3 alike')
  t.strictSame(reported(await send(served, { parts: [{ text: 'alone' }] }, { tenant: 'docs' })).history, [])

  const long = 'x'.repeat(MAX_HISTORY_CHARS)
  await result(served, 'SendMessage', { tenant: 'docs', message: message('echo', { contextId: 'long', parts: [{ text: long }] }) })
  t.strictSame(reported(await send(served, { contextId: 'long' }, { tenant: 'docs' })).history, [], 'a turn past the bound is left out')
  for (let n = 0; n < MAX_HISTORY_TURNS + 2; n++) await result(served, 'SendMessage', { tenant: 'docs', message: message('message', { contextId: 'many', parts: [{ text: String(n) }] }) })
  t.ok(reported(await send(served, { contextId: 'many' }, { tenant: 'docs' })).history.length <= 2 * MAX_HISTORY_TURNS)
})

test('a question back is answered in the other version, and in that of the description', async t => {
  const served = await agent(t)
  const { task } = await result(served, 'SendMessage', { message: message('ask') })
  t.match(task.status, { state: 'TASK_STATE_INPUT_REQUIRED', message: { role: 'ROLE_AGENT', parts: [{ text: 'What else is there to know?' }] } })
  t.match(await result(served, 'message/send', { message: message03('report', { taskId: task.id, parts: [{ kind: 'text', text: 'This' }] }) }, { version: '' }), { id: task.id, contextId: task.contextId, status: { state: 'completed' } })
  const { task: again } = await result(served, 'SendMessage', { message: message('ask') })
  t.match(await served.task('tasks/send', { taskId: again.id, input: { query: 'That' } }), { taskId: again.id, messages: [{ role: 'user' }, { role: 'agent' }, { role: 'user', parts: [{ text: 'That' }] }] })
})

test('a task waits for an authorization: its stream stays open meanwhile, whether a message or the application goes on with it', async t => {
  const served = await agent(t)
  const { task } = await result(served, 'SendMessage', { message: message('authorize') })
  t.match(task.status, { state: 'TASK_STATE_AUTH_REQUIRED', message: { role: 'ROLE_AGENT', parts: [{ text: 'Sign in at https://example.com/sign-in' }] } }, 'who waits is answered')
  t.match(await result(served, 'tasks/get', { id: task.id }, { version: '' }), { status: { state: 'auth-required' } })
  t.match(await served.task('tasks/get', { taskId: task.id }), { state: 'input-required', completedAt: null }, 'the description has no such state')
  t.match((await served.rpc('tasks/list', { state: 'input-required' })).body.result, { tasks: [{ taskId: task.id }] })
  t.strictSame(names(await result(served, 'ListTasks', { status: 'TASK_STATE_AUTH_REQUIRED' })), [task.id])
  t.match(await result(served, 'SendMessage', { message: message('report', { taskId: task.id }) }), { task: { id: task.id, status: { state: 'TASK_STATE_COMPLETED' } } })

  const states = (body: string): unknown[] => events(body).flatMap(({ data: { result } }) => result.statusUpdate?.status.state ?? result.status?.state ?? [])
  for (const [begin, awaited, ended] of [
    [() => rpc(served, 'SendStreamingMessage', { message: message('authorize') }), 'TASK_STATE_AUTH_REQUIRED', 'TASK_STATE_COMPLETED'],
    [() => rpc(served, 'message/stream', { message: message03('authorize') }, { version: '' }), 'auth-required', 'completed']
  ] as const) {
    const open = begin()
    const waiting = await until(async () => (await served.tasks.list('anyone', { states: ['auth-required'] })).tasks[0], 'a task asks for an authorization')
    t.equal((await served.tasks.provideInput('anyone', waiting.id, { parts: [{ type: 'text', text: 'signed in' }] })).outcome, 'accepted')
    const told = states((await open).payload)
    t.ok(told.includes(awaited))
    t.equal(told.at(-1), ended)
  }
})

test('an agent declines, fails, or answers with only a message', async t => {
  const served = await agent(t)
  const sent = async (work: string): Promise<Json> => await result(served, 'SendMessage', { message: message(work) })
  t.match((await sent('reject')).task.status, { state: 'TASK_STATE_REJECTED', message: { parts: [{ text: 'rejected' }], metadata: { code: 'VAC_REJECTED' } } })
  t.match((await sent('fail')).task.status, { state: 'TASK_STATE_FAILED', message: { metadata: { code: 'VAC_INTERPRETER_FAILED' } } })
  const { message: reply, task } = await sent('message')
  t.match(reply, { role: 'ROLE_AGENT', parts: [{ text: 'Direct message response' }] })
  t.equal(task, undefined)
  t.match(await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } }), { state: 'completed' })
  const rejected = (await sent('reject')).task
  t.match(await served.task('tasks/get', { taskId: rejected.id }), { state: 'failed', error: { code: 'VAC_REJECTED' } }, 'the description has no such state')
  t.match(await result(served, 'tasks/get', { id: rejected.id }, { version: '' }), { status: { state: 'rejected' } })
})

test('a list has filters, pages and a total; artifacts only when they are asked for', async t => {
  const served = await agent(t)
  const ids: string[] = []
  for (let n = 0; n < 5; n++) {
    ids.unshift((await send(served, { contextId: n % 2 === 0 ? 'even' : 'odd' })).id)
    const now = Date.now()
    await until(() => Date.now() > now, 'the next task is newer')
  }
  const { task: asked } = await result(served, 'SendMessage', { message: message('ask', { contextId: 'ask' }) })
  const seen: string[] = []
  let pageToken = ''
  do {
    const page = await result(served, 'ListTasks', { pageSize: 2, pageToken })
    t.match(page, { pageSize: 2, totalSize: 6, nextPageToken: String })
    seen.push(...names(page))
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  t.strictSame(seen, [asked.id, ...ids], 'newest status first, each once')
  t.match(await result(served, 'ListTasks', { contextId: 'odd' }), { totalSize: 2, tasks: [{ contextId: 'odd' }, { contextId: 'odd' }] })
  t.strictSame(names(await result(served, 'ListTasks', { status: 'TASK_STATE_INPUT_REQUIRED' })), [asked.id])
  t.match(await result(served, 'ListTasks', { status: 'TASK_STATE_AUTH_REQUIRED' }), { tasks: [], totalSize: 0 })
  const [last] = (await result(served, 'ListTasks', { pageSize: 1 })).tasks
  t.strictSame(names(await result(served, 'ListTasks', { statusTimestampAfter: last.status.timestamp })), [asked.id], 'of that time, or later')
  t.notOk('artifacts' in last)
  t.strictSame((await result(served, 'ListTasks', { pageSize: 1, includeArtifacts: true })).tasks[0].artifacts, [], 'asked for, they are there even if there are none')
  const { payload } = await served.app.inject({ url: '/a2a/v1/tasks?contextId=odd&pageSize=1&includeArtifacts=true&historyLength=0', headers: { 'a2a-version': '1.0', accept: 'application/a2a+json' } })
  t.match(JSON.parse(payload), { totalSize: 2, tasks: [{ artifacts: [{}], history: undefined }] })
})

test('history is as long as it is asked for', async t => {
  const served = await agent(t)
  const { task } = await result(served, 'SendMessage', { message: message('ask') })
  await result(served, 'SendMessage', { message: message('ask', { taskId: task.id }) })
  const length = async (historyLength?: number): Promise<number | undefined> => (await result(served, 'GetTask', { id: task.id, ...(historyLength === undefined ? {} : { historyLength }) })).history?.length
  t.equal(await length(), 3)
  t.equal(await length(2), 2)
  t.equal(await length(99), 3)
  t.equal(await length(0), undefined)
  t.equal((await result(served, 'SendMessage', { message: message('echo'), configuration: { historyLength: 0 } })).task.history, undefined)
})

test('a stream begins with the task and ends with its end, or its question', async t => {
  const served = await agent(t)
  const stream = async (work: string): Promise<Json[]> => events((await rpc(served, 'SendStreamingMessage', { message: message(work) })).payload).map(({ data }) => data.result)
  const chunked = await stream('chunked')
  t.ok(chunked[0]?.task)
  // two chunks may come as one piece where the machine is slow
  const pieces = chunked.flatMap(({ artifactUpdate }) => artifactUpdate === undefined ? [] : [[artifactUpdate.artifact.artifactId, artifactUpdate.append === true, artifactUpdate.lastChunk === true]])
  t.strictSame([pieces[0], ...pieces.slice(-1)], [['streaming_response', false, false], ['streaming_response', true, true]], 'one artifact, that grows')
  t.ok(pieces.slice(1, -1).every(([, append, last]) => append === true && last === false))
  t.equal(chunked.at(-1)?.statusUpdate.status.state, 'TASK_STATE_COMPLETED')
  const asked = await stream('ask')
  t.equal(asked.at(-1)?.statusUpdate.status.state, 'TASK_STATE_INPUT_REQUIRED')
  const file = await stream('file')
  t.match(file.find(({ artifactUpdate }) => artifactUpdate !== undefined), { artifactUpdate: { artifact: { parts: [{ raw: 'dGNr' }] }, lastChunk: true } })
  const over = await served.app.inject({ method: 'POST', url: '/a2a/v1/message:stream', payload: { message: message('chunked') }, headers: { 'a2a-version': '1.0' } })
  t.match(over.headers['content-type'], /^text\/event-stream/)
  t.ok(events(over.payload)[0]?.data.task, 'over HTTP the events are bare')
})

test('Last-Event-ID brings what was missed, also of a task that has ended', async t => {
  const served = await agent(t)
  const all = events((await rpc(served, 'SendStreamingMessage', { message: message('chunked') })).payload)
  const id = all[0]?.data.result.task.id
  const seen = all[1]
  const rest = events((await rpc(served, 'SubscribeToTask', { id }, { headers: { 'last-event-id': String(seen?.id) } })).payload)
  t.strictSame(rest.map(({ data }) => data), all.slice(2).map(({ data }) => data))
  t.match((await rpc(served, 'SubscribeToTask', { id }, { headers: { 'last-event-id': '999' } })).json(), { error: { code: -32602 } })
})

test('a message sent again is the same task, for those who ask for it', async t => {
  const served = await agent(t)
  const named = { headers: { 'a2a-extensions': IDEMPOTENT_SEND } }
  const same = message('echo', { messageId: 'same' })
  const sent = async (options: object, body = same): Promise<Json> => (await rpc(served, 'SendMessage', { message: body }, options)).json() as Json
  const one = await sent(named)
  t.equal((await sent(named)).result.task.id, one.result.task.id)
  t.match(await sent(named, { ...same, parts: [{ text: 'other' }] }), { error: { code: -32602 } })
  t.match(await sent(named, { ...same, parts: [...same.parts, { raw: 'dGNr' }] }), { error: { code: -32602 } }, 'other files are another message')
  t.equal((await sent(named, { ...same, metadata: { ...same.metadata, trace: 'second' } })).result.task.id, one.result.task.id, 'other metadata are not')
  t.match(await sent(named, { ...same, metadata: { ...same.metadata, skillId: 'vac_query_docs' } }), { error: { code: -32602, data: [{ reason: 'TASK_CONFLICT' }] } }, 'another skill is')
  t.not((await sent({})).result.task.id, one.result.task.id, 'by itself a message id means nothing')
  const keyed = { headers: { 'idempotency-key': 'k' } }
  t.equal((await sent(keyed)).result.task.id, (await sent(keyed)).result.task.id)
})

test('the active extensions are named in the response, and a request names at most 64', async t => {
  const served = await agent(t)
  const { task } = await result(served, 'SendMessage', { message: message('ask') })
  const get = async (extensions: string[]): Promise<LightMyRequestResponse> => await rpc(served, 'GetTask', { id: task.id }, { headers: { 'a2a-extensions': extensions.join() } })
  t.equal((await get([IDEMPOTENT_SEND, 'urn:x'])).headers['a2a-extensions'], IDEMPOTENT_SEND)
  t.match((await get(Array<string>(MAX_EXTENSIONS + 1).fill('urn:x'))).json(), { error: { code: -32602 } })
})

test('an answer brings at most so many artifacts, and none of another shape', async t => {
  const made = (count: number, part: object = { text: 'a' }): unknown => Array.from({ length: count }, () => ({ name: 'a', parts: [part] }))
  const given = new Map<string, unknown>([['most', made(MAX_ARTIFACTS)], ['more', made(MAX_ARTIFACTS + 1)], ['two', made(1, { text: 'a', url: 'b' })], ['none', made(1, {})], ['odd', 'x']])
  const served = await serve(t, question => ({ answer: 'x', artifacts: given.get(question) as never }))
  const sent = async (text: string): Promise<Json> => (await result(served, 'SendMessage', { message: message('', { parts: [{ text }] }) })).task
  const { artifacts } = await sent('most')
  t.equal(artifacts.length, MAX_ARTIFACTS + 1, 'and the answer')
  t.equal(new Set(artifacts.map(({ artifactId }: Json) => artifactId)).size, MAX_ARTIFACTS + 1, 'each has an id of its own')
  for (const odd of ['more', 'two', 'none', 'odd']) t.match((await sent(odd)).status, { state: 'TASK_STATE_FAILED', message: { metadata: { code: 'VAC_INVALID_RESULT' } } }, odd)
})

test('a webhook in a message gets every event, and its secrets are never read back', async t => {
  const { receiver } = await import('./push/receiver.js')
  const hook = await receiver(t)
  const served = await agent(t)
  const { task } = await result(served, 'SendMessage', { message: message('echo'), configuration: { taskPushNotificationConfig: { url: hook.url, token: 'HUSH', authentication: { scheme: 'Bearer', credentials: 'SECRET' } } } })
  await until(() => hook.received.some(({ body }) => body.includes('TASK_STATE_COMPLETED')), 'the webhook has the end')
  for (const { body } of hook.received) t.equal(Object.keys(JSON.parse(body) as Json).length, 1, 'a StreamResponse has one member')
  const { configs, nextPageToken } = await result(served, 'ListTaskPushNotificationConfigs', { taskId: task.id })
  t.match([configs.length, nextPageToken], [1, ''])
  t.strictSame(configs[0], { id: configs[0].id, taskId: task.id, url: hook.url, authentication: { scheme: 'Bearer' } })
  for (const id of ['a', 'b', 'c']) await result(served, 'CreateTaskPushNotificationConfig', { taskId: task.id, id, url: hook.url })
  const page = await result(served, 'ListTaskPushNotificationConfigs', { taskId: task.id, pageSize: 3 })
  t.equal(page.configs.length, 3)
  t.equal((await result(served, 'ListTaskPushNotificationConfigs', { taskId: task.id, pageSize: 3, pageToken: page.nextPageToken })).configs.length, 1)
  const list = async (params: Json): Promise<[ids: string[], next: string]> => {
    const { configs, nextPageToken } = await result(served, 'ListTaskPushNotificationConfigs', { taskId: task.id, pageSize: 1, ...params })
    return [configs.map(({ id }: Json) => id), nextPageToken]
  }
  const [[, second = '', third = '', last = '']] = await list({ pageSize: 4 })
  const [, next] = await list({})
  await result(served, 'DeleteTaskPushNotificationConfig', { taskId: task.id, id: second })
  t.match(await list({ pageToken: next }), [[third], /./], 'where the config that a page begins with was deleted, it goes on with the one after it')
  for (const id of [third, last]) await result(served, 'DeleteTaskPushNotificationConfig', { taskId: task.id, id })
  t.strictSame(await list({ pageToken: next }), [[], ''], 'and ends where there is none')
  for (const pageToken of ['nope', Buffer.from('x a').toString('base64url')]) t.match((await rpc(served, 'ListTaskPushNotificationConfigs', { taskId: task.id, pageToken })).json(), { error: { code: -32602, data: [{}, { fieldViolations: [{ field: 'pageToken' }] }] } }, pageToken)
  t.match((await rpc(served, 'CreateTaskPushNotificationConfig', { taskId: task.id, url: 'http://169.254.169.254/' })).json(), { error: { code: -32602 } })
  t.strictSame(await result(served, 'DeleteTaskPushNotificationConfig', { taskId: task.id, id: 'gone' }), {}, 'to delete what is not there is no error')
})

test('answers over HTTP have the media type that the request names', async t => {
  const served = await agent(t)
  const type = async (headers: Record<string, string>): Promise<unknown> => (await served.app.inject({ method: 'POST', url: '/a2a/v1/message:send', payload: JSON.stringify({ message: message('echo') }), headers: { 'a2a-version': '1.0', ...headers } })).headers['content-type']
  t.match(await type({ 'content-type': 'application/a2a+json' }), /^application\/a2a\+json/)
  t.match(await type({ 'content-type': 'application/json', accept: 'application/a2a+json, application/json' }), /^application\/json/)
})
