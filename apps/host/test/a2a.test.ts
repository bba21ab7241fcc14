import { Client, credentials, Metadata, status } from '@grpc/grpc-js'
import { verifyNotification } from '@polyvac/a2a'
import { openDatabase } from '@polyvac/sqlite'
import t, { test } from 'tap'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createHost, type HostOptions } from '../src/index.js'
import { listen } from '../src/guards/listen.js'
import { runPolyvac } from '../../../test/fixtures/command.js'
import { until } from '../../../test/fixtures/until.js'
import { start, words, workspace, type Frame } from './task-service.js'

// most of their time they wait
t.jobs = 3

const METHODS = ['send', 'sendSubscribe', 'resubscribe', 'get', 'list', 'cancel', 'pushNotification/set', 'pushNotification/get', 'pushNotification/delete']
const ask = (query: string, vac = 'slow') => ({ skillName: `vac_stream_${vac}`, input: { query } })
const numbers = (frames: readonly Frame[]): number[] => frames.map(({ id }) => id)
const upTo = (last: number, first = 1): number[] => Array.from({ length: last - first + 1 }, (_, index) => first + index)

test('a task survives the SIGKILL of its host: the next host completes it, and a subscriber resumes without a gap', async t => {
  const { folder, attempts } = await workspace(t)
  const first = await start(t, folder)
  const seen: Frame[] = []
  for await (const frame of first.follow('tasks/sendSubscribe', ask('20 words, 400 ms'))) {
    seen.push(frame)
    if (seen.filter(({ data }) => data.delta !== undefined).length === 4) first.kill('SIGKILL')
  }
  t.strictSame(await first.ended, { code: null, signal: 'SIGKILL' })
  t.strictSame(numbers(seen), upTo(seen.length))
  const { taskId, data: { state } } = seen.at(-1)!
  t.equal(state, 'working')

  const second = await start(t, folder)
  t.match(await second.call('tasks/get', { taskId }), { taskId, state: 'working', completedAt: null })
  const rest: Frame[] = []
  for await (const frame of second.follow('tasks/resubscribe', { taskId }, { after: seen.length })) rest.push(frame)
  t.strictSame(numbers(rest), upTo(seen.length + rest.length, seen.length + 1), 'the numbers go on where they were')
  t.match(rest.at(-1)?.data, { state: 'completed', progress: 1, artifacts: [{ name: 'streaming_response', content: { final_answer: words(20), stream_completed: true } }] })
  t.strictSame(await attempts(), ['20 words, 400 ms: attempt 0', '20 words, 400 ms: attempt 1'])

  const all: Frame[] = []
  for await (const frame of second.follow('tasks/resubscribe', { taskId }, { after: 0 })) all.push(frame)
  t.strictSame(all.map(({ id, data: { messages } }) => [id, messages]), [...seen, ...rest].map(({ id, data: { messages } }) => [id, messages]), 'a replay is what both followers saw')
})

test('SIGTERM ends a host with a running task: exit 0, and the next start continues the task', async t => {
  const { folder, attempts } = await workspace(t)
  const first = await start(t, folder, '--grace', '2')
  const { taskId, state } = await first.call('tasks/send', ask('25 words, 300 ms'))
  t.match(state, /^(submitted|working)$/, 'a streaming skill is answered at once')
  const waiting = first.call('tasks/send', { skillName: 'vac_query_my_docs', input: { query: '30 words, 300 ms' } })
  const follower = (async () => {
    const frames: Frame[] = []
    for await (const frame of first.follow('tasks/resubscribe', { taskId }, { after: 0 })) frames.push(frame)
    return frames
  })()
  await until(async () => (await attempts()).length === 2, 'both interpreters run')
  first.kill('SIGTERM')
  const left = await waiting
  t.match(left, { state: 'working', completedAt: null }, 'who waits for the end is given the record, whose id leads to it')
  t.strictSame(await first.ended, { code: 0, signal: null })
  const seen = await follower
  t.strictSame(numbers(seen), upTo(seen.length), 'a follower is let go in the middle')
  t.strictSame((await attempts()).sort(), ['25 words, 300 ms: attempt 0', '25 words, 300 ms: stopped', '30 words, 300 ms: attempt 0', '30 words, 300 ms: stopped'])

  const second = await start(t, folder)
  const record = await until(async () => {
    const record = await second.call('tasks/get', { taskId })
    return record.state === 'completed' && record
  }, 'the next host completes the streaming task')
  t.match(record, { error: null, artifacts: [{ content: { final_answer: words(25) } }] })
  t.match(await until(async () => {
    const other = await second.call('tasks/get', { taskId: left.taskId })
    return other.state === 'completed' && other
  }, 'the next host completes the other task'), { artifacts: [{ name: 'response', content: { answer: words(30) } }] })
  t.equal((await attempts()).length, 6, 'each was begun once more')
  const rest: Frame[] = []
  for await (const frame of second.follow('tasks/resubscribe', { taskId }, { after: seen.length })) rest.push(frame)
  t.strictSame(numbers([...seen, ...rest]), upTo(seen.length + rest.length), 'and goes on with the next host without a gap')
})

test('two hosts on one file: a task sent to one is read, followed and canceled through the other', async t => {
  const { folder, attempts } = await workspace(t)
  const [one, other] = await Promise.all([start(t, folder), start(t, folder)])
  const { taskId } = await one.call('tasks/send', ask('600 words, 100 ms'))
  t.match(await other.call('tasks/get', { taskId }), { taskId, metadata: { skillName: 'vac_stream_slow', isStreaming: true } })
  t.match(await other.call('tasks/list', {}), { tasks: [{ taskId }] })

  const stop = new AbortController()
  const frames: Frame[] = []
  for await (const frame of other.follow('tasks/resubscribe', { taskId }, { after: 0, signal: stop.signal })) {
    frames.push(frame)
    if (frame.data.delta !== undefined) stop.abort()
  }
  t.strictSame(numbers(frames), upTo(frames.length))
  t.match(await other.call('tasks/cancel', { taskId }), { taskId, state: 'canceled' })
  t.match(await one.call('tasks/get', { taskId }), { state: 'canceled' })
  await until(async () => (await attempts()).includes('600 words, 100 ms: stopped'), 'the interpreter is stopped')
  t.pass('the interpreter is stopped, whichever host it runs in')
  t.match(await one.call('tasks/cancel', { taskId }), { error: { code: -32002, data: { code: 'A2A_TASK_NOT_CANCELABLE' } } })
})

test('a receiver that fails twice gets every update in order, signed with the keys of the host', async t => {
  const received: Array<{ headers: IncomingHttpHeaders, body: string }> = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += String(piece)
    received.push({ headers: request.headers, body })
    response.writeHead(received.length <= 2 ? 500 : 204).end()
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const { folder } = await workspace(t, `  push: { allow: [${JSON.stringify(new URL(origin).host)}] }\n`)
  // both deliver, and share keys that were made as they started
  const [host, other] = await Promise.all([start(t, folder), start(t, folder)])
  const keySet = async ({ url }: { url: string }): Promise<string> => await (await fetch(`${url}/.well-known/jwks.json`)).text()
  const keys = await keySet(host)
  t.match(JSON.parse(keys), { keys: [{ kty: 'EC', crv: 'P-256', use: 'sig', kid: String }] })
  t.equal(await keySet(other), keys)
  const { taskId } = await host.call('tasks/send', { ...ask('3 words, 50 ms'), pushNotificationConfig: { url: `${origin}/hook`, token: 'known to both' } })
  const { deliveries, ...config } = await host.call('tasks/pushNotification/get', { taskId })
  t.ok(Array.isArray(deliveries))
  t.strictSame(config,
    { taskId, pushNotificationConfig: { id: 'default', url: `${origin}/hook` } }, 'the token is not read back')
  await until(() => received.some(({ body }) => JSON.parse(body).data.state === 'completed'), 'the webhook receives the completed task')

  const ids: string[] = []
  for (const { headers, body } of received) {
    const { id, taskId: signed } = await verifyNotification({ headers, body, jwksUrl: `${host.url}/.well-known/jwks.json`, audience: origin })
    t.equal(signed, taskId)
    t.equal(headers['x-a2a-notification-token'], 'known to both')
    ids.push(id)
  }
  t.equal(new Set(ids.slice(0, 3)).size, 1, 'the first update has one id in all three tries')
  const updates = [...new Map(received.map(({ body }, index) => [ids[index], JSON.parse(body)])).values()]
  t.match(updates.map(({ type, taskId: told }) => [type, told]), updates.map(() => ['task_update', taskId]))
  t.strictSame(updates.map(({ data }) => data.state), ['submitted', 'working', 'completed'])
  t.match(updates.at(-1).data.artifacts, [{ content: { final_answer: words(3) } }])

  t.match(await host.call('tasks/send', { ...ask('1 words, 1 ms'), pushNotificationConfig: { url: 'http://127.0.0.1:9/hook' } }),
    { error: { code: -32602, data: { code: 'PUSH_URL_REFUSED' } } }, 'another address of this machine is refused')
  t.equal((await stat(join(folder, '.polyvac', 'push-keys.json'))).mode & 0o077, 0, 'the keys are their owner\'s alone')
  host.kill('SIGTERM')
  await host.ended
  t.equal(await keySet(await start(t, folder)), keys, 'a restart does not change them')
  t.equal(received.length, 5, 'nothing was sent that had been accepted')
})

test('a tasks path that cannot be written is a start-up error that names the remedy', async t => {
  const { folder } = await workspace(t, '  tasks: { path: interpreter.mjs/tasks.db }\n')
  const { code, stdout, stderr } = await runPolyvac(['start'], folder)
  t.equal(code, 1)
  t.match(stderr, /tasks cannot be kept in .*interpreter\.mjs\/tasks\.db: .*service\.tasks\.path.*service\.tasks\.store: memory/)
  t.notMatch(stdout, /http:/)
})

/** A host in this process, its tasks in memory unless the options say otherwise. */
async function host (t: { teardown: (end: () => unknown) => void }, options: HostOptions = {}) {
  const app = await createHost({
    vacs: { a: {}, b_c: { display_name: 'Second' } },
    stream_interpreter: (question: string) => `heard ${question}`,
    enable_a2a_agent: true,
    tasks: { store: 'memory' },
    watchDocuments: false,
    ...options
  })
  t.teardown(() => app.close())
  const post = async (method: string, params: object, headers = {}) => await app.inject({ method: 'POST', url: `/a2a/${method}`, headers, payload: { jsonrpc: '2.0', id: 1, method, params } })
  const call = async (method: string, params: object, headers = {}) => (await post(method, params, headers)).json()
  const skills = async (): Promise<string[]> => (await app.inject('/.well-known/agent.json')).json().skills.map(({ name }: { name: string }) => name)
  return { app, post, call, skills }
}

test('without enable_a2a_agent every path of the agent answers 501', async t => {
  const { app } = await host(t, { enable_a2a_agent: false })
  for (const [method, url] of [['GET', '/.well-known/agent.json'], ['GET', '/.well-known/agent-card.json'], ['GET', '/a2a/vacs/a/.well-known/agent-card.json'], ['GET', '/.well-known/ai-catalog.json'], ['POST', '/a2a'], ['POST', '/a2a/vacs/a'], ['POST', '/a2a/v1/message:send'], ['GET', '/a2a/v1/tasks/x'], ...METHODS.map(name => ['POST', `/a2a/tasks/${name}`])] as Array<['GET' | 'POST', string]>) {
    const response = await app.inject({ method, url, ...(method === 'POST' && { payload: {} }) })
    t.equal(response.statusCode, 501, url)
    t.strictSame(response.json(), { error: { code: 'A2A_NOT_ENABLED', message: 'A2A agent not enabled: set enable_a2a_agent' } })
  }
})

test('a2a_vac_names limits the VACs of A2A; the direct routes have all', async t => {
  const names = ['vac_query_a', 'vac_stream_a', 'vac_query_b_c', 'vac_stream_b_c']
  t.strictSame(await (await host(t)).skills(), names)
  t.strictSame(await (await host(t, { a2a_vac_names: null })).skills(), names)
  t.strictSame(await (await host(t, { a2a_vac_names: [] })).skills(), [])

  const { app, call, skills } = await host(t, { a2a_vac_names: ['b_c'] })
  t.strictSame(await skills(), ['vac_query_b_c', 'vac_stream_b_c'])
  t.match((await call('tasks/send', { skillName: 'vac_query_b_c', input: { query: 'x' } })).result, { state: 'completed', artifacts: [{ name: 'response', content: { answer: 'heard x' } }] })
  const hidden = await call('tasks/send', { skillName: 'vac_query_a', input: { query: 'x' } })
  t.match(hidden.result, { state: 'failed', artifacts: [], error: { code: 'A2A_SKILL_NOT_FOUND', message: /no skill is named "vac_query_a"/ } })
  t.equal((await app.inject({ method: 'POST', url: '/vac/a', payload: { user_input: 'x' } })).json().answer, 'heard x')
  await t.rejects(host(t, { a2a_vac_names: ['a', 'd'] }), { code: 'UNKNOWN_A2A_VAC', message: /names d, .*configured: a, b_c/ })
})

test('`a2a` sets the default VAC, the media types, the card and the port of gRPC, whose callers are authenticated', async t => {
  const free = createServer().listen(0, '127.0.0.1')
  await once(free, 'listening')
  const { port } = free.address() as AddressInfo
  await new Promise(resolve => free.close(resolve))
  const { app } = await host(t, {
    a2a: { default_vac: 'b_c', input_modes: ['text/plain'], strict_card: true, grpc: { port } },
    authenticate: ({ headers }) => headers.authorization === undefined ? undefined : { owner: String(headers.authorization) }
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const card = (await app.inject('/.well-known/agent-card.json')).json()
  t.notOk('protocolVersion' in card, 'the pure one of 1.0')
  t.match(card, { defaultInputModes: ['text/plain'], supportedInterfaces: [{}, {}, { url: `127.0.0.1:${port}`, protocolBinding: 'GRPC' }] })
  const send = async (part: object) => (await app.inject({ method: 'POST', url: '/a2a', headers: { 'a2a-version': '1.0', authorization: 'Bearer ada' }, payload: { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [part] } } } })).json()
  t.match(await send({ text: '{}', mediaType: 'application/json' }), { error: { code: -32005 } })
  const { result: { task } } = await send({ text: 'x' })
  t.match(task, { metadata: { skillName: 'vac_stream_b_c' } })

  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  t.teardown(() => { client.close() })
  const listed = async (owner?: string): Promise<string> => await new Promise((resolve, reject) => {
    const metadata = new Metadata()
    metadata.set('a2a-version', '1.0')
    if (owner !== undefined) metadata.set('authorization', `Bearer ${owner}`)
    const same = (bytes: Buffer): Buffer => bytes
    client.makeUnaryRequest('/lf.a2a.v1.A2AService/ListTasks', same, same, Buffer.alloc(0), metadata, (err, bytes) => { err === null ? resolve(String(bytes)) : reject(err) })
  })
  t.ok((await listed('ada')).includes(task.id))
  t.notOk((await listed('bob')).includes(task.id), 'who did not send it does not see it')
  await t.rejects(listed(), { code: status.UNAUTHENTICATED })

  const { app: open } = await host(t, { a2a: { grpc: { port: 0 } } })
  t.notMatch((await open.inject('/.well-known/agent-card.json')).body, 'GRPC', 'no card lists a port that nobody knows before')
  const { app: taken } = await host(t, { a2a: { grpc: { port } } })
  await t.rejects(listen(taken, { host: '127.0.0.1', port: 0 }), { code: 'A2A_GRPC_CANNOT_LISTEN' })
})

test('authenticated callers have separate tasks; the card is public', async t => {
  const { app, post, call } = await host(t, {
    stream_interpreter: (question, vectorName, history, { principal }) => `heard ${principal?.owner}`,
    authenticate: ({ headers: { authorization } }) => authorization === undefined ? undefined : { owner: authorization.slice('Bearer '.length) }
  })
  t.equal((await app.inject('/.well-known/agent.json')).statusCode, 200)
  const stranger = await post('tasks/list', {})
  t.equal(stranger.statusCode, 401)
  t.match(stranger.json(), { jsonrpc: '2.0', id: null, error: { code: -32600, data: { code: 'UNAUTHENTICATED' } } })
  const ada = { authorization: 'Bearer ada' }
  const { result: { taskId, artifacts } } = await call('tasks/send', { skillName: 'vac_query_a', input: { query: 'x' } }, ada)
  t.match(artifacts, [{ content: { answer: 'heard ada' } }])
  t.match(await call('tasks/get', { taskId }, ada), { result: { taskId } })
  const bob = { authorization: 'Bearer bob' }
  t.match(await call('tasks/get', { taskId }, bob), { error: { code: -32001, data: { code: 'A2A_TASK_NOT_FOUND' } } })
  t.strictSame((await call('tasks/list', {}, bob)).result, { tasks: [] })
})

test('the switches of tasks and webhooks reach their engines', async t => {
  const { app, post, call } = await host(t, {
    stream_interpreter: (question, vectorName, history, { signal }) => new Promise((resolve, reject) => { signal.addEventListener('abort', () => { reject(signal.reason) }) }),
    tasks: { store: 'memory', max_tasks: 1 },
    push: { enabled: false },
    public_url: 'https://agents.example/base'
  })
  t.match((await app.inject('/.well-known/agent.json')).json(), { url: 'https://agents.example/base', metadata: { push_notifications: false } })
  t.equal((await app.inject('/.well-known/jwks.json')).statusCode, 404)
  const { result: { taskId } } = await call('tasks/send', { skillName: 'vac_stream_a', input: { query: 'x' } })
  t.match(await call('tasks/pushNotification/set', { taskId, pushNotificationConfig: { url: 'https://receiver.example' } }), { error: { code: -32003, data: { code: 'A2A_PUSH_NOT_SUPPORTED' } } })
  const full = await post('tasks/send', { skillName: 'vac_stream_a', input: { query: 'x' } })
  t.match([full.statusCode, full.headers['retry-after']], [503, '1'])
  t.match(full.json(), { error: { data: { code: 'TASK_TOO_MANY' } } })
  t.match(await call('tasks/cancel', { taskId }), { result: { state: 'canceled' } })
  t.match(await call('tasks/send', { skillName: 'vac_stream_a', input: { query: 'x' } }), { result: { taskId: String } }, 'an ended task makes room')
})

test('tasks.max_size and tasks.input_ttl are taken, and a full store answers 503 with Retry-After', async t => {
  const { post, call } = await host(t, {
    stream_interpreter: (question, vectorName, history, { signal }) => new Promise((resolve, reject) => { signal.addEventListener('abort', () => { reject(signal.reason) }) }),
    tasks: { store: 'memory', max_size: '300KB', input_ttl: '1d' }
  })
  const send = { skillName: 'vac_stream_a', input: { query: 'x'.repeat(200_000) } }
  await call('tasks/send', send)
  const refused = await until(async () => {
    const { statusCode, headers, body } = await post('tasks/send', send)
    return statusCode === 503 && { headers, body }
  }, 'the store is full')
  t.match(refused, { headers: { 'retry-after': '1' }, body: /TASK_STORE_FULL/ })
})

test('tasks.max_task_size is the longest log of a task', async t => {
  const { call } = await host(t, { stream_interpreter: () => 'x'.repeat(5_000), tasks: { store: 'memory', max_task_size: '4KB' } })
  const { result: { taskId } } = await call('tasks/send', { skillName: 'vac_stream_a', input: { query: 'x' } })
  const failed = await until(async () => {
    const { result } = await call('tasks/get', { taskId })
    return result.state === 'failed' && result
  }, 'the task has failed')
  t.match(JSON.stringify(failed), /TASK_TOO_LARGE/)
})

test('the routes of the agent are in the OpenAPI document', async t => {
  const { app } = await host(t)
  const { paths } = (await app.inject('/openapi.json')).json()
  t.strictSame(Object.keys(paths).filter(path => path.startsWith('/a2a/tasks/')).sort(), METHODS.map(name => `/a2a/tasks/${name}`).sort())
  t.ok(paths['/.well-known/agent.json'].get)
  t.ok(paths['/.well-known/agent-card.json'].get)
  t.ok(paths['/a2a'].post)
  t.ok(paths['/a2a/v1/message:send'].post)
})

test('tasks.store: memory writes no file', async t => {
  const { folder } = await workspace(t, '  tasks: { store: memory }\n')
  const app = await createHost({ config: join(folder, 'vac_config.yaml'), server: { logger: false } })
  t.teardown(() => app.close())
  const sent = await app.inject({
    method: 'POST', url: '/a2a/tasks/send', payload: { jsonrpc: '2.0', id: 1, method: 'tasks/send', params: { skillName: 'vac_query_slow', input: { query: '2 words, 1 ms' } } }
  })
  t.match(sent.json(), { result: { state: 'completed' } })
  t.notOk(existsSync(join(folder, '.polyvac')))
})

test('readiness names a task store that cannot write, and recovers with it', async t => {
  const { folder } = await workspace(t)
  const { app } = await host(t, { tasks: { path: join(folder, 'kept', 'tasks.db') } })
  t.strictSame((await app.inject('/ready')).json(), { status: 'ready', reasons: [] })
  const other = await openDatabase(join(folder, 'kept', 'tasks.db'))
  t.teardown(() => { other.close() })
  other.exec('BEGIN EXCLUSIVE')
  const busy = await app.inject('/ready')
  t.equal(busy.statusCode, 503)
  t.match(busy.json(), { status: 'not ready', reasons: [{ part: 'tasks', reason: 'the task store cannot write; the log has the reason' }] })
  other.exec('ROLLBACK')
  await until(async () => (await app.inject('/ready')).statusCode === 200, 'the host is ready again')
  t.equal((await readFile(join(folder, 'kept', 'push-keys.json'), 'utf8')).includes('"d"'), true, 'the signing keys are beside the tasks')
})
