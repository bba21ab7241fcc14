import { test, type Test } from 'tap'
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client'
import { Message, Role, TaskState, verifyAgentCardSignature, type StreamResponse, type Task } from '@a2a-js/sdk'
import { A2AClient as Client02 } from 'a2a-js-0-2/client'
import { ClientFactory as ClientFactory03 } from 'a2a-js-0-3/client'
import type { Task as Task03 } from 'a2a-js-0-3'
import { importJWK } from 'jose'
import { until } from '../../../test/fixtures/until.js'
import { steered } from '../../../test/a2a-agent/steered.mjs'
import { SigningKeys, type A2aOptions } from '../src/index.js'
import { listen, serve, type Served } from './fixtures/app.js'
import { receiver, type Receiver } from './push/receiver.js'

interface Agent { readonly served: Served, readonly base: string, readonly hook: Receiver }

/** The steered agent on a port, and a receiver of webhooks that it may reach. */
async function agent (t: Test, plugin: Partial<A2aOptions> = {}): Promise<Agent> {
  const hook = await receiver(t)
  const served = await serve(t, steered, { plugin: { push: { allow: ['127.0.0.1'] }, rootRpc: true, ...plugin } })
  return { served, hook, base: `http://127.0.0.1:${await listen(served.app)}` }
}

let made = 0
const message10 = (work: string, more: object = {}): Message => Message.fromJSON({ messageId: `m${++made}`, role: 'ROLE_USER', parts: [{ text: 'Hello' }], metadata: { work, ms: 60_000 }, ...more })
const message03 = (work: string, more: object = {}): { kind: 'message', messageId: string, role: 'user', parts: { kind: 'text', text: string }[], metadata: object } =>
  ({ kind: 'message', messageId: `m${++made}`, role: 'user', parts: [{ kind: 'text', text: 'Hello' }], metadata: { work, ms: 60_000 }, ...more })

async function all<T> (events: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const event of events) list.push(event)
  return list
}

const told = ({ payload }: StreamResponse): string | undefined => payload?.$case
const textOf10 = ({ artifacts }: Pick<Task, 'artifacts'>): string | undefined => {
  const content = artifacts[0]?.parts[0]?.content
  return content?.$case === 'text' ? content.value : undefined
}

for (const [binding, Transport] of [['JSON-RPC', JsonRpcTransportFactory], ['HTTP+JSON', RestTransportFactory]] as const) {
  test(`client 1.3.0 over ${binding}: send, stream, get, list, cancel, subscribe and push`, async t => {
    const { served, base, hook } = await agent(t)
    const factory = new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports: [new Transport()], preferredTransports: [Transport === RestTransportFactory ? 'HTTP+JSON' : 'JSONRPC'] }))
    const client = await factory.createFromUrl(base)
    const params = { tenant: '', configuration: undefined, metadata: undefined }

    const sent = await client.sendMessage({ ...params, message: message10('echo') }) as Task
    t.equal(sent.status?.state, TaskState.TASK_STATE_COMPLETED)
    t.equal(textOf10(sent), 'You said: Hello')
    const got = await client.getTask({ tenant: '', id: sent.id, historyLength: 0 })
    t.equal(got.id, sent.id)
    t.strictSame(got.history, [])
    t.ok((await client.listTasks({ tenant: '', contextId: sent.contextId, status: TaskState.TASK_STATE_UNSPECIFIED, pageSize: 10, pageToken: '', statusTimestampAfter: undefined, includeArtifacts: true })).tasks.some(({ id }) => id === sent.id))

    const reply = await client.sendMessage({ ...params, message: message10('message') }) as Message
    t.equal(reply.role, Role.ROLE_AGENT)
    t.strictSame(reply.parts[0]?.content, { $case: 'text', value: 'Direct message response' })

    const events = await all(client.sendMessageStream({ ...params, message: message10('chunked') }))
    t.equal(told(events[0] as StreamResponse), 'task', 'the task comes first')
    t.equal(events.map(event => event.payload?.$case === 'artifactUpdate' ? event.payload.value.artifact?.parts.map(({ content }) => content?.$case === 'text' ? content.value : '').join('') : '').join(''), 'chunk-1 chunk-2')
    const last = events.at(-1)?.payload
    t.equal(last?.$case === 'statusUpdate' ? last.value.status?.state : undefined, TaskState.TASK_STATE_COMPLETED)

    const begun = await client.sendMessage({ ...params, message: message10('slow'), configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, historyLength: undefined, returnImmediately: true } }) as Task
    t.ok([TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING].includes(begun.status?.state as TaskState))
    const config = await client.createTaskPushNotificationConfig({ tenant: '', id: '', taskId: begun.id, url: hook.url, token: 'HUSH', authentication: { scheme: 'Bearer', credentials: 'SECRET' } })
    t.not(config.id, '')
    t.equal(config.token, '', 'secrets are never read back')
    t.match(await client.getTaskPushNotificationConfig({ tenant: '', taskId: begun.id, id: config.id }), { id: config.id, url: hook.url })
    t.equal((await client.listTaskPushNotificationConfig({ tenant: '', taskId: begun.id, pageSize: 0, pageToken: '' })).configs.length, 1)
    const readers = served.readers()
    const followed = all(client.resubscribeTask({ tenant: '', id: begun.id }))
    await until(() => served.readers() > readers, 'the subscriber reads the events')
    const canceled = await client.cancelTask({ tenant: '', id: begun.id, metadata: undefined })
    t.equal(canceled.status?.state, TaskState.TASK_STATE_CANCELED)
    const seen = await followed
    t.equal(told(seen[0] as StreamResponse), 'task', 'a subscriber gets the task as it stands first')
    const end = seen.at(-1)?.payload
    t.equal(end?.$case === 'statusUpdate' ? end.value.status?.state : undefined, TaskState.TASK_STATE_CANCELED)
    await until(() => hook.received.some(({ body }) => body.includes('TASK_STATE_CANCELED')), 'the webhook has the cancel')
    t.match(hook.received.at(-1)?.headers, { 'content-type': 'application/a2a+json', authorization: 'Bearer SECRET', 'x-a2a-notification-token': 'HUSH' })
    await client.deleteTaskPushNotificationConfig({ tenant: '', taskId: begun.id, id: config.id })
    await t.rejects(client.getTaskPushNotificationConfig({ tenant: '', taskId: begun.id, id: config.id }), /push notification config/)
    await t.rejects(client.getTask({ tenant: '', id: 'nope', historyLength: undefined }), { name: /TaskNotFound/ })

    const asked = await client.sendMessage({ ...params, message: message10('ask') }) as Task
    t.equal(asked.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED)
    t.strictSame(asked.status?.message?.parts[0]?.content, { $case: 'text', value: 'What else is there to know?' })
    const answered = await client.sendMessage({ ...params, message: message10('echo', { taskId: asked.id }) }) as Task
    t.equal(answered.status?.state, TaskState.TASK_STATE_COMPLETED)
    t.equal(answered.contextId, asked.contextId)
    t.match(await served.task('tasks/get', { taskId: sent.id }), { state: 'completed' }, 'the other dialect sees the same tasks')
  })
}

test('client 0.3.14 gets the error of a stream that does not begin', async t => {
  const { base } = await agent(t)
  const client = await new ClientFactory03().createFromUrl(base)
  await t.rejects(all(client.resubscribeTask({ id: 'none' })), { message: /task not found/ })
  await t.rejects(all(client.sendMessageStream({ message: { ...message03('echo'), parts: [] } as never })), { message: /message\.parts/ })
})

test('client 0.3.14: send, stream, get, cancel, resubscribe and push', async t => {
  const { base, hook, served } = await agent(t)
  const client = await new ClientFactory03().createFromUrl(base)
  const sent = await client.sendMessage({ message: message03('echo') as never }) as Task03
  t.match(sent, { kind: 'task', status: { state: 'completed' }, artifacts: [{ parts: [{ kind: 'text', text: 'You said: Hello' }] }] })
  t.match(await client.getTask({ id: sent.id, historyLength: 0 }), { id: sent.id, history: undefined })
  t.match(await client.sendMessage({ message: message03('message') as never }), { kind: 'message', role: 'agent', parts: [{ kind: 'text', text: 'Direct message response' }] })
  const events = await all(client.sendMessageStream({ message: message03('chunked') as never }))
  t.match(events[0], { kind: 'task' })
  t.match(events.at(-1), { kind: 'status-update', final: true, status: { state: 'completed' } })
  t.equal(events.filter(event => 'final' in event && event.final).length, 1)
  t.equal(events.map(event => event.kind === 'artifact-update' ? event.artifact.parts.map(part => part.kind === 'text' ? part.text : '').join('') : '').join(''), 'chunk-1 chunk-2')

  const begun = await client.sendMessage({ message: message03('slow') as never, configuration: { blocking: false } }) as Task03
  const config = { taskId: begun.id, pushNotificationConfig: { id: 'hook', url: hook.url, token: 'HUSH' } }
  t.strictSame(await client.setTaskPushNotificationConfig(config), { taskId: begun.id, pushNotificationConfig: { id: 'hook', url: hook.url } })
  t.strictSame(await client.getTaskPushNotificationConfig({ id: begun.id, pushNotificationConfigId: 'hook' } as never), { taskId: begun.id, pushNotificationConfig: { id: 'hook', url: hook.url } })
  t.equal((await client.listTaskPushNotificationConfig({ id: begun.id })).length, 1)
  const readers = served.readers()
  const followed = all(client.resubscribeTask({ id: begun.id }))
  await until(() => served.readers() > readers, 'the subscriber reads the events')
  t.match(await client.cancelTask({ id: begun.id }), { status: { state: 'canceled' } })
  const seen = await followed
  t.match(seen[0], { kind: 'task', id: begun.id })
  t.match(seen.at(-1), { kind: 'status-update', final: true, status: { state: 'canceled' } })
  await until(() => hook.received.some(({ body }) => body.includes('canceled')), 'the webhook has the cancel')
  t.match(JSON.parse(hook.received.at(-1)?.body ?? '{}'), { kind: 'task', id: begun.id }, 'a config made in 0.3 gets the task as 0.3 has it')
  t.equal(hook.received.at(-1)?.headers['content-type'], 'application/json')
  await client.deleteTaskPushNotificationConfig({ id: begun.id, pushNotificationConfigId: 'hook' })
  t.equal((await client.listTaskPushNotificationConfig({ id: begun.id })).length, 0)
  await t.rejects(client.getTask({ id: 'nope' }), { message: 'Task not found' })
  const asked = await client.sendMessage({ message: message03('ask') as never }) as Task03
  t.match(asked.status, { state: 'input-required', message: { parts: [{ text: 'What else is there to know?' }] } })
  t.match(await client.sendMessage({ message: message03('echo', { taskId: asked.id }) as never }), { id: asked.id, contextId: asked.contextId, status: { state: 'completed' } })
  t.match(await served.task('tasks/get', { taskId: begun.id }), { state: 'canceled' })
})

test('client 0.2.5 sends to the root, which the card names as the address of the agent', async t => {
  const { base } = await agent(t)
  const client = new Client02(base)
  const sent = await client.sendMessage({ message: message03('echo') as never })
  t.match(sent, { result: { kind: 'task', status: { state: 'completed' }, artifacts: [{ parts: [{ text: 'You said: Hello' }] }] } })
  const { id } = (sent as { result: Task03 }).result
  t.match(await client.getTask({ id }), { result: { id } })
  t.match(await client.cancelTask({ id }), { error: { code: -32002 } })
  const begun = await client.sendMessage({ message: message03('slow') as never, configuration: { blocking: false, acceptedOutputModes: [] } })
  t.match(await client.cancelTask({ id: (begun as { result: Task03 }).result.id }), { result: { status: { state: 'canceled' } } })
  await t.rejects(all(client.sendMessageStream({ message: message03('echo') as never })), /streaming/, 'it refuses by itself: the card of the description has no such member')
})

test('a task that one client begins is read, followed and canceled by the others', async t => {
  const { base, served } = await agent(t)
  const newer = await new ClientFactory().createFromUrl(base)
  const older = await new ClientFactory03().createFromUrl(base)
  const begun = await served.task('tasks/send', { skillName: 'vac_stream_docs', input: { query: 'x' }, clientMetadata: { from: 'description' } })
  await served.reached(begun.taskId, ['completed'])
  t.match(await newer.getTask({ tenant: '', id: begun.taskId, historyLength: undefined }), { metadata: { clientMetadata: { from: 'description' } } })
  t.match(await older.getTask({ id: begun.taskId }), { status: { state: 'completed' }, artifacts: [{ parts: [{ text: 'You said: x' }] }] })

  t.match(await new Client02(base).getTask({ id: begun.taskId }), { result: { status: { state: 'completed' } } })

  const slow = await older.sendMessage({ message: message03('slow') as never, configuration: { blocking: false } }) as Task03
  const readers = served.readers()
  const frames = served.frames('tasks/resubscribe', { taskId: slow.id })
  const seen = all(newer.resubscribeTask({ tenant: '', id: slow.id }))
  await until(() => served.readers() === readers + 2, 'both subscribers read the events')
  t.match(await served.task('tasks/cancel', { taskId: slow.id }), { state: 'canceled' })
  t.equal((await frames).at(-1)?.data.state, 'canceled')
  const end = (await seen).at(-1)?.payload
  t.equal(end?.$case === 'statusUpdate' ? end.value.status?.state : undefined, TaskState.TASK_STATE_CANCELED)
})

test('the signature of a card is one that the client verifies, and a changed card is not', async t => {
  const keys = await SigningKeys.generate()
  const { base } = await agent(t, { push: { keys, allow: ['127.0.0.1'] } })
  const client = await new ClientFactory().createFromUrl(base)
  const verify = verifyAgentCardSignature(async (kid, jku) => {
    t.equal(jku, `${base}/.well-known/jwks.json`)
    const { keys } = await (await fetch(jku as string)).json() as { keys: { kid: string }[] }
    return await importJWK(keys.find(key => key.kid === kid) as never, 'ES256') as never
  })
  const card = await client.getAgentCard()
  t.equal(card.signatures.length, 1)
  await verify(card)
  await t.rejects(verify({ ...card, name: 'Somebody else' }))
})
