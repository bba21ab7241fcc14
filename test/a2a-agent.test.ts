import { Client, credentials } from '@grpc/grpc-js'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { test, type Test } from 'tap'
import { freePort } from './fixtures/service.js'

type Json = Record<string, any>

/** Starts the agent for compatibility kits. */
async function agent (t: Test, profile: string, ...more: string[]): Promise<string> {
  const port = await freePort()
  const child = spawn(process.execPath, [fileURLToPath(new URL('a2a-agent/agent.mjs', import.meta.url)), '--port', String(port), '--profile', profile, ...more], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NODE_OPTIONS: '' } })
  t.teardown(async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null) await once(child, 'exit')
  })
  await once(child.stdout, 'data')
  return `http://localhost:${port}`
}

async function call (url: string, method: string, messageId: string): Promise<Json> {
  const message = { messageId, role: 'ROLE_USER', parts: [{ text: 'Hello' }] }
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', 'a2a-version': '1.0' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message } }) })
  return await response.json() as Json
}

test('the id of a message selects the behaviour of the full profile', async t => {
  const base = await agent(t, 'full')
  const card = await (await fetch(`${base}/.well-known/agent-card.json`)).json() as Json
  t.match(card, { capabilities: { streaming: true, pushNotifications: true } })
  t.notOk('protocolVersion' in card, 'strict validators get the card of 1.0')
  const [{ url }] = card.supportedInterfaces
  const sent = async (id: string): Promise<Json> => (await call(`${url}/`, 'SendMessage', id)).result
  t.match(await sent('tck-complete-task-1'), { task: { status: { state: 'TASK_STATE_COMPLETED' } } })
  t.match(await sent('tck-input-required-1'), { task: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } })
  t.match(await sent('tck-reject-task-1'), { task: { status: { state: 'TASK_STATE_REJECTED' } } })
  t.match(await sent('tck-message-response-1'), { message: { parts: [{ text: 'Direct message response' }] } })
  t.match(await sent('tck-artifact-text-1'), { task: { artifacts: [{ parts: [{ text: 'Generated text content' }] }] } })
  t.match(await sent('tck-artifact-file-1'), { task: { artifacts: [{ parts: [{ raw: String, filename: 'output.txt', mediaType: 'text/plain' }] }] } })
  t.match(await sent('tck-artifact-file-url-1'), { task: { artifacts: [{ parts: [{ url: 'https://example.com/output.txt' }] }] } })
  t.match(await sent('tck-artifact-data-1'), { task: { artifacts: [{ parts: [{ data: { key: 'value', count: 42 } }] }] } })
})

test('with a port for gRPC, the agent serves it and its card lists it', async t => {
  const port = await freePort()
  const base = await agent(t, 'full', '--grpc-port', String(port))
  const { supportedInterfaces } = await (await fetch(`${base}/.well-known/agent-card.json`)).json() as Json
  const [url] = supportedInterfaces.flatMap(({ url, protocolBinding }: Json) => protocolBinding === 'GRPC' ? [url] : [])
  t.equal(url, `localhost:${port}`)
  const client = new Client(url, credentials.createInsecure())
  t.teardown(() => { client.close() })
  const same = (bytes: Buffer): Buffer => bytes
  const err = await new Promise(resolve => { client.makeUnaryRequest('/lf.a2a.v1.A2AService/ListTasks', same, same, Buffer.alloc(0), err => { resolve(err) }) })
  t.match(err, { details: /A2A-Version/ }, 'a call without a version is refused')
})

test('the profile of 0.3 asks for more where a message selects nothing, and its card is one of 0.3', async t => {
  const base = await agent(t, 'v0_3')
  const card = await (await fetch(`${base}/.well-known/agent-card.json`)).json() as Json
  t.match(card, { protocolVersion: '0.3.0', preferredTransport: 'JSONRPC' })
  const call = async (method: string, params: object): Promise<Json> => {
    const response = await fetch(card.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) })
    return await response.json() as Json
  }
  const message = { kind: 'message', messageId: 'test-1', role: 'user', parts: [{ kind: 'text', text: 'Hello' }] }
  const { result: { id, status } } = await call('message/send', { message })
  t.equal(status.state, 'input-required')
  t.match(await call('message/send', { message: { ...message, messageId: 'test-2', taskId: id } }), { result: { id, status: { state: 'input-required' } } }, 'a task can be continued')
  t.match(await call('tasks/cancel', { id }), { result: { status: { state: 'canceled' } } })
})

test('the plain profile has no streams and no webhooks, and requires an extension of messages', async t => {
  const base = await agent(t, 'plain')
  const card = await (await fetch(`${base}/.well-known/agent-card.json`)).json() as Json
  t.match(card, { capabilities: { streaming: false, pushNotifications: false } })
  t.ok(card.capabilities.extensions.some((extension: Json) => extension.uri === 'urn:a2a:tck:required-extension' && extension.required === true))
  t.match(await call(`${base}/a2a`, 'SendStreamingMessage', 'a'), { error: { code: -32004 } })
  t.match(await call(`${base}/a2a`, 'SendMessage', 'a'), { error: { code: -32008 } })
})
