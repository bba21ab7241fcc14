import { test, type Test } from 'tap'
import { status, type ClientReadableStream, type ServiceError } from '@grpc/grpc-js'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../../../test/fixtures/until.js'
import { steered } from '../../../test/a2a-agent/steered.mjs'
import { a2aGrpc, CLOSE_GRACE_MS, MAX_CALLS, MAX_DETAIL_BYTES, MAX_MESSAGE_CHARS, type A2aGrpc, type A2aGrpcOptions } from '../src/grpc/index.js'
import { loadPeers } from '../src/grpc/peers.js'
import { encodeMessage } from '../src/grpc/large-message.js'
import { fromJson, toJson } from '../src/grpc/proto-json.js'
import { serve, type ServeOptions, type Served } from './fixtures/app.js'
import { Caller, metadata, root, withDetails, type Told } from './fixtures/grpc-caller.js'
import { message, result, rpc, type Json } from './fixtures/public.js'
import { receiver } from './push/receiver.js'

async function agent (t: Test, options: ServeOptions = {}, given: A2aGrpcOptions = {}, interpreter = steered): Promise<{ served: Served, caller: Caller, grpc: A2aGrpc }> {
  const served = await serve(t, interpreter, options)
  const grpc = await a2aGrpc(served.app, given)
  await served.app.ready()
  const caller = new Caller(grpc.port)
  t.teardown(() => { caller.client.close() })
  return { served, caller, grpc }
}

/** What a call fails with; undefined where it does not. */
async function failure (answer: Promise<unknown>): Promise<Told | undefined> {
  return await answer.then(() => undefined, (err: Told) => err)
}

async function all (call: ClientReadableStream<any>): Promise<any[]> {
  const events: any[] = []
  for await (const event of call) events.push(event)
  return events
}

test('a client sends, reads, lists, streams, subscribes and cancels over gRPC, on the tasks of every other wire', async t => {
  const { served, caller } = await agent(t)
  const { task } = await caller.call('SendMessage', { message: message('echo') })
  t.match(task, { status: { state: 'TASK_STATE_COMPLETED', timestamp: /^\d{4}-.*Z$/ }, artifacts: [{ parts: [{ text: 'You said: Hello' }] }] })
  t.match(await result(served, 'GetTask', { id: task.id }), { id: task.id, status: task.status, artifacts: task.artifacts }, 'JSON-RPC reads the same task')
  t.match(await caller.call('GetTask', { id: task.id, historyLength: 0 }), { id: task.id, history: undefined })
  t.match(await caller.call('ListTasks', { contextId: task.contextId, includeArtifacts: true, pageSize: 5, statusTimestampAfter: task.status.timestamp }), { tasks: [{ id: task.id, artifacts: task.artifacts }], totalSize: 1, pageSize: 5 })
  t.match(await caller.call('SendMessage', { message: message('message') }), { message: { role: 'ROLE_AGENT', parts: [{ text: 'Direct message response' }] } })
  t.match(await all(caller.stream('SendStreamingMessage', { message: message('message') })), [{ message: { role: 'ROLE_AGENT', parts: [{ text: 'Direct message response' }] } }])

  const events = await all(caller.stream('SendStreamingMessage', { message: message('chunked') }))
  t.ok(events[0].task)
  t.equal(events.map(({ artifactUpdate }) => artifactUpdate?.artifact.parts.map(({ text = '' }: Json) => text).join('') ?? '').join(''), 'chunk-1 chunk-2')
  t.equal(events.at(-1).statusUpdate.status.state, 'TASK_STATE_COMPLETED')

  const { task: begun } = await caller.call('SendMessage', { message: message('slow'), configuration: { returnImmediately: true } })
  const followed = caller.stream('SubscribeToTask', { id: begun.id })
  const seen = all(followed)
  await once(followed, 'metadata')
  t.match(await caller.call('CancelTask', { id: begun.id }), { status: { state: 'TASK_STATE_CANCELED' } })
  const told = await seen
  t.equal(told[0].task.id, begun.id)
  t.equal(told.at(-1).statusUpdate.status.state, 'TASK_STATE_CANCELED')
})

test('files, data and metadata pass both ways unchanged', async t => {
  const { caller } = await agent(t)
  const data = { deep: [1, 'two', null, { three: true }], none: null, empty: {} }
  const parts = [{ text: 'Look' }, { data }, { raw: Buffer.from('bytes').toString('base64'), filename: 'a.txt', mediaType: 'text/plain' }]
  const { task } = await caller.call('SendMessage', { message: message('report', { parts, metadata: { work: 'report', n: 1.5 } }) })
  const heard = JSON.parse(task.artifacts[0].parts[0].text)
  t.match(heard, { question: 'Look', data: [data], files: [{ filename: 'a.txt' }] })
  t.match(task.history[0], { parts, metadata: { n: 1.5 } })
})

test('webhooks are made, read, listed and deleted over gRPC', async t => {
  const hook = await receiver(t)
  const { caller } = await agent(t, { plugin: { push: { allow: ['127.0.0.1'] } } })
  const { task: { id: taskId } } = await caller.call('SendMessage', { message: message('slow'), configuration: { returnImmediately: true } })
  const { id } = await caller.call('CreateTaskPushNotificationConfig', { taskId, url: hook.url, token: 'HUSH', authentication: { scheme: 'Bearer', credentials: 'SECRET' } })
  t.strictSame(await caller.call('GetTaskPushNotificationConfig', { taskId, id }), { id, taskId, url: hook.url, authentication: { scheme: 'Bearer' } }, 'without its secrets')
  t.match(await caller.call('ListTaskPushNotificationConfigs', { taskId }), { configs: [{ id }] })
  t.strictSame(await caller.call('DeleteTaskPushNotificationConfig', { taskId, id }), {})
  await t.rejects(caller.call('GetTaskPushNotificationConfig', { taskId, id }), { code: status.NOT_FOUND })
  await caller.call('CancelTask', { id: taskId })
})

test('errors carry the status, the reason and the fields of A2A 1.0', async t => {
  const { caller } = await agent(t)
  const refused = (code: number, reason: string): Json => ({ code, told: [{ type: 'ErrorInfo', reason, domain: 'a2a-protocol.org' }] })
  t.match(await failure(caller.call('GetTask', { id: 'nope' })), { ...refused(status.NOT_FOUND, 'TASK_NOT_FOUND'), details: /no task of this id/ })
  t.match(await failure(caller.call('GetTask', { id: 'nope' }, { 'a2a-version': '9.9' })), refused(status.FAILED_PRECONDITION, 'VERSION_NOT_SUPPORTED'))
  t.match(await failure(caller.call('GetTask', { id: 'nope' }, { 'a2a-version': '' })), refused(status.FAILED_PRECONDITION, 'VERSION_NOT_SUPPORTED'), 'none named is 0.3')
  t.match(await failure(caller.call('GetExtendedAgentCard', {})), refused(status.FAILED_PRECONDITION, 'UNSUPPORTED_OPERATION'))
  t.match(await failure(caller.call('SendMessage', { message: { messageId: 'm', parts: [{ text: 'x' }] } })), { code: status.INVALID_ARGUMENT, told: [{}, { type: 'BadRequest', fieldViolations: [{ field: 'message.role' }] }] })
  const { task } = await caller.call('SendMessage', { message: message('echo') })
  t.match(await failure(caller.call('CancelTask', { id: task.id })), refused(status.FAILED_PRECONDITION, 'TASK_NOT_CANCELABLE'))
  const err = await all(caller.stream('SubscribeToTask', { id: task.id })).catch(withDetails)
  t.match(err, refused(status.FAILED_PRECONDITION, 'UNSUPPORTED_OPERATION'), 'a stream is refused alike')
  const many = await caller.call('SendMessage', { message: message('echo', { parts: Array.from({ length: 300 }, () => ({ filename: 'x' })) }) }).catch(err => err as Told)
  t.ok((many.metadata.get('grpc-status-details-bin')[0] as Buffer).length <= MAX_DETAIL_BYTES, 'the details fit into headers')
  t.equal(many.code, status.INVALID_ARGUMENT)
  const wordy = await failure(caller.call('SendMessage', { message: message('echo', { parts: Array.from({ length: 100 }, () => ({ url: '' })) }) }))
  t.equal(wordy?.details.length, MAX_MESSAGE_CHARS, 'and so does the message')
})

test('bytes that are not a message are refused with INVALID_ARGUMENT', async t => {
  const { caller, served } = await agent(t)
  const err = await new Promise<ServiceError | null>(resolve => { caller.client.makeUnaryRequest('/lf.a2a.v1.A2AService/GetTask', (bytes: Buffer) => bytes, bytes => bytes, Buffer.from([0x7f]), metadata({}), err => { resolve(err) }) })
  t.match(err, { code: status.INVALID_ARGUMENT, details: /cannot be read/ })
  t.notMatch(served.logged(), 'a gRPC call failed')
})

test('a message over the bound is refused', async t => {
  const { caller } = await agent(t, {}, { maxMessageBytes: 1000 })
  await t.rejects(caller.call('SendMessage', { message: message('echo', { parts: [{ text: 'x'.repeat(1000) }] }) }), { code: status.RESOURCE_EXHAUSTED })
})

test('one call too many of a connection waits until another one has ended', async t => {
  const { caller } = await agent(t, {}, { maxCalls: 1 })
  const first = caller.stream('SendStreamingMessage', { message: message('slow') })
  const [{ task }] = await once(first, 'data')
  const second = caller.call('GetTask', { id: task.id })
  t.equal(await Promise.race([second, delay(100, 'waits')]), 'waits')
  first.on('error', () => {}).cancel()
  t.match(await second, { id: task.id })

  const { grpc } = await agent(t)
  const session = connect(`http://127.0.0.1:${grpc.port}`)
  t.teardown(() => { session.destroy() })
  const [{ maxConcurrentStreams }] = await once(session, 'remoteSettings')
  t.equal(maxConcurrentStreams, MAX_CALLS, 'every client is told')
})

test('callers are named by `authenticate`, from metadata, and see only their own tasks', async t => {
  const { caller } = await agent(t, {
    plugin: {
      authenticate: ({ headers }) => headers.authorization === undefined ? undefined : { owner: String(headers.authorization) },
      extendedCard: card => ({ ...card, description: 'more of it' })
    }
  })
  const ada = { authorization: 'Bearer ada' }
  const { task } = await caller.call('SendMessage', { message: message('echo') }, ada)
  await t.rejects(caller.call('GetTask', { id: task.id }), { code: status.UNAUTHENTICATED })
  await t.rejects(caller.call('GetTask', { id: task.id }, { authorization: 'Bearer bob' }), { code: status.NOT_FOUND })
  t.match(await caller.call('GetExtendedAgentCard', {}, ada), { description: 'more of it', skills: [{}], supportedInterfaces: [{ protocolVersion: '1.0' }] })
})

test('a client that leaves ends its stream and not its task', async t => {
  const { caller, served } = await agent(t, { plugin: { maxStreams: 1 } })
  const call = caller.stream('SendStreamingMessage', { message: message('slow') })
  const [first] = await once(call, 'data')
  call.on('error', () => {}).cancel()
  await until(async () => {
    const again = caller.stream('SubscribeToTask', { id: first.task.id })
    const isOpen = await Promise.race([once(again, 'data').then(() => true), once(again, 'error').then(() => false)]).catch(() => false)
    again.on('error', () => {}).cancel()
    return isOpen
  }, 'its place is free')
  t.match(await caller.call('GetTask', { id: first.task.id }), { status: { state: 'TASK_STATE_WORKING' } }, 'its place is free again, and the task goes on')
  await result(served, 'CancelTask', { id: first.task.id })
})

test('a reader that takes nothing holds its stream up, and is cut off in the end', async t => {
  const served = await serve(t, async function * () {
    for (let made = 0; made < 400; made++) yield 'x'.repeat(16_384)
  }, { plugin: { stallMs: 200, maxStreams: 1 } })
  const grpc = await a2aGrpc(served.app)
  await served.app.ready()
  const session = connect(`http://127.0.0.1:${grpc.port}`)
  t.teardown(() => { session.destroy() })
  const type = root.lookupType('lf.a2a.v1.SendMessageRequest')
  const bytes = Buffer.from(type.encode(fromJson(type, { message: message('any') })).finish())
  const call = session.request({ ':method': 'POST', ':path': '/lf.a2a.v1.A2AService/SendStreamingMessage', 'content-type': 'application/grpc', te: 'trailers', 'a2a-version': '1.0' })
  call.end(Buffer.concat([Buffer.from([0, 0, 0, bytes.length >> 8, bytes.length & 255]), bytes]))
  const isFull = async (): Promise<boolean> => (await rpc(served, 'SubscribeToTask', { id: 'none' })).statusCode === 429
  await until(isFull, 'the stream has begun')
  await until(async () => !await isFull(), 'the reader is cut off')
  let taken = 0
  call.on('data', (piece: Buffer) => { taken += piece.length })
  const [trailers] = await once(call, 'trailers')
  t.equal(trailers['grpc-status'], String(status.UNAVAILABLE))
  t.ok(taken < 3_000_000, `${taken} bytes of 6.5 million were sent before`)
})

test('open streams do not hold up `app.close()`, and report to their readers that the task goes on', async t => {
  const { caller, served } = await agent(t)
  const streams = [['SendStreamingMessage', 'slow'], ['SendStreamingMessage', 'authorize']].map(([name = '', work = '']) => caller.stream(name, { message: message(work) }))
  await Promise.all(streams.map(async call => await once(call, 'data')))
  const ended = streams.map(async call => await all(call).catch(err => err as ServiceError))
  await served.app.close()
  for (const err of await Promise.all(ended)) t.match(err, { code: status.UNAVAILABLE, details: /read the task, or subscribe to it again/ })
})

test('a stream that has sent the end of its task, a message or a question ends without an error', async t => {
  const { caller } = await agent(t)
  for (const work of ['echo', 'message', 'fail', 'reject', 'ask']) t.ok((await all(caller.stream('SendStreamingMessage', { message: message(work) }))).length > 0, work)
})

test('`close` ends the calls there are and takes no more', async t => {
  const { caller, grpc: { close } } = await agent(t)
  const call = caller.stream('SendStreamingMessage', { message: message('slow') })
  await once(call, 'data')
  const ended = all(call).catch(err => err as ServiceError)
  const begun = performance.now()
  await close()
  t.ok(performance.now() - begun >= CLOSE_GRACE_MS - 1, 'they had their time to end by themselves')
  t.match(await ended, { code: /\d/ })
  await t.rejects(caller.call('ListTasks', {}), { code: status.UNAVAILABLE })
})

test('a missing package or plugin is named', async t => {
  await t.rejects(loadPeers(async () => { throw new Error('not there') }), { code: 'A2A_GRPC_MISSING', message: /@grpc\/grpc-js/ })
  const { app } = await serve(t, steered)
  await a2aGrpc(app, { prefix: '/elsewhere' })
  await t.rejects(async () => await app.ready(), { code: 'A2A_PLUGIN_OPTIONS', message: /POST \/elsewhere\/a2a/ })
  const { grpc: { port } } = await agent(t)
  const { app: late } = await serve(t, steered)
  await a2aGrpc(late, { port })
  await t.rejects(async () => await late.ready(), { code: 'A2A_GRPC_CANNOT_LISTEN', message: new RegExp(`127.0.0.1:${port}`) })
})

test('a large message has the fields of one that is encoded at once', async t => {
  const long = '\u{1F600}"'.repeat(150_000)
  const data = {
    list: Array.from({ length: 10_000 }, (_, i) => ({ i, text: 'source', no: null, yes: true })),
    [long]: [[long, 1], [], null, {}],
    nested: { long, members: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, i])) }
  }
  const artifact = {
    artifactId: 'a',
    name: 'a',
    metadata: data,
    parts: [
      { text: long }, { raw: Buffer.alloc(500_000, 1).toString('base64'), filename: 'f', mediaType: 'x/y' }, { data }, { data: long }, { data: null }, { text: 'short', metadata: {} }
    ]
  }
  const task = { id: '1', contextId: '2', status: { state: 'TASK_STATE_COMPLETED', timestamp: '2026-01-01T00:00:00.000Z' }, artifacts: [artifact, artifact], history: [] }
  const type = root.lookupType('lf.a2a.v1.Task')
  const decode = (bytes: Uint8Array): string => JSON.stringify(toJson(type, type.decode(bytes) as never))
  t.ok(decode(await encodeMessage(type, task)) === decode(type.encode(fromJson(type, task)).finish()))
})

test('steps of an answer are data parts of status updates, where the message or the request asks for them', async t => {
  const interpreter = async function * (): AsyncGenerator<never> {
    for (const chunk of [{ tool_call: { id: 'c', name: 'weather', input: { city: 'Oslo' } } }, 'sunny', { tool_result: { id: 'c', output: [7, null] } }]) yield chunk as never
  }
  const { caller } = await agent(t, {}, {}, interpreter)
  const stepsOf = (events: any[]): unknown[] => events.flatMap(({ statusUpdate }) => statusUpdate?.status.message?.parts.map(({ data }: Json) => data.step) ?? [])
  const expected = [{ tool_call: { id: 'c', name: 'weather', input: { city: 'Oslo' } } }, { tool_result: { id: 'c', state: 'completed', output: [7, null] } }]
  const sent = { message: message('x') }
  t.strictSame(stepsOf(await all(caller.stream('SendStreamingMessage', sent))), [])
  t.strictSame(stepsOf(await all(caller.stream('SendStreamingMessage', { message: message('x'), metadata: { steps: true } }))), expected)
  const asked = message('x')
  t.strictSame(stepsOf(await all(caller.stream('SendStreamingMessage', { message: { ...asked, metadata: { ...asked.metadata, steps: true } } }))), expected)
})

test('the form of a question is a data part next to its text', async t => {
  const form = { input_schema: { type: 'string', enum: ['red', 'blue'] }, choices: ['red', 'blue'] }
  const { caller } = await agent(t, {}, {}, async () => ({ input_required: 'Which?', ...form }) as never)
  const { task } = await caller.call('SendMessage', { message: message('x') })
  t.match(task.status, { state: 'TASK_STATE_INPUT_REQUIRED', message: { parts: [{ text: 'Which?' }, { data: form }] } })
})
