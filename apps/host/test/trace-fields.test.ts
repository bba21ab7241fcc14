import { test, type Test } from 'tap'
import type { Interpreter } from '@polyvac/core'
import type { FastifyInstance } from 'fastify'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHost, type HostOptions } from '../src/index.js'
import { testDatabase } from '../../../test/fixtures/postgres.js'
import { linesOf, recordSpans, takeSpans } from '../../../test/fixtures/traces.js'
import { questions } from '../../../test/probes/index.mjs'
import { until } from '../../../test/fixtures/until.js'

// what leaves the process: to webhooks, to language models, and to the replica that runs a task

const traceIdOf = (n: number): string => n.toString(16).padStart(32, 'a')
const PARENT = 'b7ad6b7169203331'

recordSpans()

async function host (t: Test, options: HostOptions): Promise<FastifyInstance> {
  const app = await createHost({ vacs: ['demo'], stream_interpreter: () => 'answer', enable_a2a_agent: true, server: { logger: false }, ...options })
  t.teardown(() => app.close())
  await app.ready()
  return app
}

async function receiver (t: Test, answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<{ origin: string, received: IncomingHttpHeaders[] }> {
  const received: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    received.push(request.headers)
    request.resume().on('end', () => { answer(request, response) })
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}

/** Sends a task in the dialect of the description. */
async function sendTask (app: FastifyInstance, params: object, headers: Record<string, string> = {}): Promise<{ taskId: string }> {
  const { result } = (await app.inject({
    method: 'POST', url: '/a2a/tasks/send', headers, payload: { jsonrpc: '2.0', id: 1, method: 'tasks/send', params: { skillName: 'vac_query_demo', ...params } }
  })).json() as { result: { taskId: string } }
  return result
}

test('a task of the description is linked to its request and to the trace of its metadata, and shows neither', async t => {
  const app = await host(t, {})
  const { taskId } = await sendTask(app, { input: { query: 'hello' }, clientMetadata: { traceparent: `00-${traceIdOf(1)}-${PARENT}-01` } })
  const { payload } = await app.inject({ method: 'POST', url: '/a2a/tasks/get', payload: { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { taskId } } })
  const spans = await takeSpans()
  const request = spans.find(({ name }) => name === 'POST /a2a/tasks/send')!
  const run = spans.find(({ name }) => name === 'run_task')!
  t.equal(run.parentSpanContext, undefined, 'a root')
  t.strictSame(run.links.map(({ context }) => context.spanId), [request.spanContext().spanId, PARENT])
  t.ok(linesOf(spans).includes('INTERNAL invoke_agent demo < CONSUMER run_task'))
  t.match(run.attributes, { 'polyvac.skill': 'vac_query_demo', 'polyvac.task.attempt': 0 })
  t.notMatch(payload, request.spanContext().traceId)
})

test('a task is not linked to traces that were not sampled', async t => {
  const app = await host(t, {})
  const field = (n: number, flags: string): { traceparent: string } => ({ traceparent: `00-${traceIdOf(n)}-${PARENT}-${flags}` })
  for (const [named, links] of [['00', []], ['01', [traceIdOf(6)]]] as const) {
    await sendTask(app, { input: { query: 'hello' }, clientMetadata: field(6, named) }, field(5, '00'))
    const spans = await takeSpans()
    t.notOk(spans.some(({ name }) => name === 'POST /a2a/tasks/send'), 'the request is not sampled')
    t.strictSame(spans.filter(({ name }) => name === 'run_task').map(({ links }) => links.map(({ context }) => context.traceId)), [links])
  }
})

for (const binding of ['JSON-RPC', 'HTTP+JSON']) {
  test(`a message of A2A 1.0 over ${binding}: the traceparent of its metadata and of the request's is linked, its webhook gets that of the delivery`, async t => {
    const { origin, received } = await receiver(t, (_request, response) => { response.end() })
    const app = await host(t, { push: { allow: [new URL(origin).host] } })
    const metadata = { traceparent: `00-${traceIdOf(4)}-${PARENT}-01`, tracestate: 'vendor=1' }
    const params = {
      message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hello' }], metadata },
      metadata: { traceparent: `00-${traceIdOf(7)}-${PARENT}-01` },
      configuration: { taskPushNotificationConfig: { url: `${origin}/hook` } }
    }
    const send = async (method: string, params: object) => await app.inject({
      method: 'POST', url: '/a2a', headers: { 'a2a-version': '1.0' }, payload: { jsonrpc: '2.0', id: 1, method, params }
    })
    const sent = binding === 'JSON-RPC'
      ? (await send('SendMessage', params)).json().result
      : (await app.inject({ method: 'POST', url: '/a2a/v1/message:send', headers: { 'a2a-version': '1.0' }, payload: params })).json()
    const { id } = sent.task as { id: string }
    await until(() => received.length > 0, 'a state is delivered')
    await until(async () => (await send('GetTask', { id })).json().result.status.state === 'TASK_STATE_COMPLETED', 'the task has run')
    const task = await send('GetTask', { id })
    const spans = await takeSpans()
    const request = spans.find(({ name }) => name === (binding === 'JSON-RPC' ? 'POST /a2a' : 'POST /a2a/v1/message::send'))!.spanContext()
    const { links } = spans.find(({ name }) => name === 'run_task')!
    t.strictSame(links.map(({ context: { traceId, spanId, traceState } }) => [traceId, spanId, traceState?.serialize()]), [
      [request.traceId, request.spanId, undefined], [traceIdOf(4), PARENT, 'vendor=1'], [traceIdOf(7), PARENT, undefined]
    ])
    const deliveries = spans.filter(({ name }) => name === 'POST')
    for (const { links } of deliveries) t.equal(links[0]?.context.spanId, request.spanId)
    const ids = deliveries.map(span => span.spanContext())
    t.ok(ids.some(({ traceId, spanId }) => received[0]!.traceparent === `00-${traceId}-${spanId}-01`), 'the header of the delivery')
    t.strictSame(task.json().result.history[0].metadata, metadata, 'the message is shown as it was sent')
    t.notMatch(task.payload, request.traceId)
  })
}

test('a task that another replica continues is linked to its request', async t => {
  const url = await testDatabase(t)
  const ran: string[] = []
  const wait: Interpreter = async (_question, _vac, _history, { signal }) => {
    ran.push('first')
    return await new Promise((resolve, reject) => { signal.addEventListener('abort', () => { reject(new Error('aborted')) }) })
  }
  const first = await host(t, { tasks: { url }, stream_interpreter: wait })
  const sent = sendTask(first, { input: { query: 'hello' } })
  await until(() => ran.length === 1, 'the first replica runs the task')
  await host(t, { tasks: { url }, stream_interpreter: () => { ran.push('second'); return 'answer' } })
  // a replica that closes releases its tasks
  await first.close()
  await sent.catch(() => {})
  await until(() => ran.length === 2, 'the second replica runs the task')
  const spans = await takeSpans()
  t.strictSame(ran, ['first', 'second'])
  const request = spans.find(({ name }) => name === 'POST /a2a/tasks/send')!.spanContext()
  const runs = spans.filter(({ name }) => name === 'run_task')
  t.strictSame(runs.map(({ links }) => links.map(({ context }) => context.spanId)), [[request.spanId], [request.spanId]])
  t.equal(new Set([request, ...runs.map(span => span.spanContext())].map(({ traceId }) => traceId)).size, 3, 'each is a trace apart')
})

test('a webhook gets the traceparent of its delivery, which is linked to the request of the task', async t => {
  const { origin, received } = await receiver(t, (_request, response) => { response.end() })
  const app = await host(t, { push: { allow: [new URL(origin).host] } })
  await sendTask(app, { input: { query: 'hello' }, pushNotificationConfig: { url: `${origin}/hook-canary` } }, { traceparent: `00-${traceIdOf(2)}-${PARENT}-01` })
  await until(() => received.length === 3, 'each state is delivered')
  const spans = await takeSpans()
  const deliveries = spans.filter(({ name }) => name === 'POST')
  const request = spans.find(({ name }) => name === 'POST /a2a/tasks/send')!.spanContext()
  t.strictSame(received.map(({ traceparent }) => traceparent).sort(), deliveries.map(span => {
    const { traceId, spanId } = span.spanContext()
    t.not(traceId, request.traceId, 'a trace apart')
    t.strictSame(span.links.map(({ context }) => context.spanId), [request.spanId])
    t.match(span.attributes, { 'server.address': '127.0.0.1', 'http.response.status_code': 200 })
    return `00-${traceId}-${spanId}-01`
  }).sort())
  t.notMatch(JSON.stringify(spans.map(({ name, attributes }) => [name, attributes])), /canary/)
})

test('a language model gets the traceparent of the call in each form of each protocol, and nothing else of the caller', async t => {
  const delta = { id: 'c1', object: 'chat.completion.chunk', created: 0, model: 'parrot', choices: [{ index: 0, delta: { content: 'hello' }, finish_reason: 'stop' }] }
  const { origin, received } = await receiver(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify(delta)}\n\ndata: [DONE]\n\n`)
  })
  const app = await host(t, { vacs: { chat: { model: 'parrot', openai: { base_url: `${origin}/v1` } } }, stream_interpreter: 'openai', enable_mcp_server: true })
  const secrets = { traceparent: `00-${traceIdOf(3)}-${PARENT}-01`, baggage: 'a=canary', 'x-secret': 'canary' }
  for (const [what, { path, body, headers }, probe] of questions('hi', 'chat')) {
    const response = await app.inject({ method: 'POST', url: path, payload: body, headers: { ...headers, ...secrets } })
    t.equal(probe.textOf(response.body), 'hello', what)
    const { traceId, spanId } = (await takeSpans()).find(({ name }) => name === 'invoke_agent chat')!.spanContext()
    t.equal(traceId === traceIdOf(3), probe.isTask !== true && probe.isKept !== true, `${what}: a task is a trace apart`)
    t.strictSame(received.map(({ traceparent }) => traceparent), [`00-${traceId}-${spanId}-01`], what)
    t.notMatch(JSON.stringify(received.splice(0)), /canary/, what)
  }
})
