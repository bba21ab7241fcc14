import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import * as tracesSdk from '@opentelemetry/sdk-trace-base'
import { keepSampledContexts, traceParent } from '@polyvac/core/plugin'
import { test, type Test } from 'tap'
import type { InterpreterExtra } from '@polyvac/core'
import type { FastifyInstance } from 'fastify'
import { executionAsyncResource } from 'node:async_hooks'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createHost } from '../src/index.js'
import { ratioOfTraces } from '../src/telemetry/open-telemetry.js'
import { SampledContexts } from '../src/telemetry/sampled-contexts.js'
import { SampledIds } from '../src/telemetry/sampled-ids.js'
import { linesOf, recordSpans, takeSpans } from '../../../test/fixtures/traces.js'
import { until } from '../../../test/fixtures/until.js'

const { ParentBasedSampler, SamplingDecision, TraceIdRatioBasedSampler } = tracesSdk
const everything = join(createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json'), '..', 'dist', 'index.js')

// the contexts of a service that keeps a ratio of its traces

/** Whether the next trace that begins is kept. */
let isKept = false
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const MODERN = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' }
}
const UNSAMPLED = `00-${TRACE}-${PARENT}-00`

const contexts = new SampledContexts(() => true)
recordSpans({
  contextManager: contexts,
  sampler: new ParentBasedSampler({
    root: { shouldSample: () => ({ decision: isKept ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD }), toString: () => 'steered' }
  })
})
keepSampledContexts(contexts)

/** Waits for `held` where the question is `hold`, uses a tool and a library with spans, answers with its trace. */
let held: Promise<unknown> = Promise.resolve()
let runs = 0
async function stream_interpreter (question: string, _vac: string, _history: unknown, { callTool }: InterpreterExtra): Promise<string> {
  await delay(5)
  runs++
  if (question === 'hold') await held
  await callTool!('everything', 'echo', { message: 'hello' })
  trace.getTracer('library').startActiveSpan('library', span => { span.end() })
  return traceParent()?.traceparent ?? 'none'
}

/** Lines of the log. */
const lines: string[] = []

async function host (t: Test): Promise<FastifyInstance> {
  const app = await createHost({
    vacs: ['demo'],
    stream_interpreter,
    enable_a2a_agent: true,
    enable_mcp_server: true,
    mcp_servers: [{ name: 'everything', command: process.execPath, args: [everything], inherit_env: [] }],
    server: { logger: { level: 'info', stream: { write: (line: string) => { lines.push(line) } } } }
  })
  t.teardown(() => app.close())
  await app.ready()
  await app.polyvac.gateway!.settled()
  isKept = false
  await takeSpans()
  return app
}

async function ask (app: FastifyInstance, question: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await app.inject({ method: 'POST', url: '/vac/demo', headers, payload: { user_input: question } })
  return (response.json() as { answer: string }).answer
}

/** Whether asynchronous steps keep a context. Node.js before 24 marks each of them while a storage is on. */
async function isOn (): Promise<boolean> {
  await delay(1)
  return Object.getOwnPropertySymbols(executionAsyncResource()).some(({ description }) => description === 'kResourceStore')
}
const canLook = Number.parseInt(process.versions.node) < 24 ? {} : { skip: 'Node.js 24 keeps contexts without marks' }

const CALL = 'INTERNAL invoke_agent demo < SERVER POST /vac/:vector_name'
const KEPT = [
  `CLIENT tools/call echo < INTERNAL execute_tool echo < ${CALL}`, `INTERNAL execute_tool echo < ${CALL}`, CALL, `INTERNAL library < ${CALL}`,
  'SERVER POST /vac/:vector_name'
].sort()

test('a request whose trace is dropped has no context, and its tools no spans', async t => {
  const app = await host(t)
  t.equal(await ask(app, 'hello'), 'none')
  t.strictSame(await takeSpans(), [])
})

test('a request whose trace is kept has the context in every step, next to others that have none', async t => {
  const app = await host(t)
  let release = (): void => {}
  held = new Promise<void>(resolve => { release = resolve })
  isKept = true
  const kept = ask(app, 'hold')
  await until(() => contexts.isOn, 'the request has begun')
  isKept = false
  t.equal(await ask(app, 'hello'), 'none', 'while the storage is on')
  release()
  const traceparent = await kept
  const spans = await takeSpans()
  t.strictSame(linesOf(spans), KEPT)
  t.ok(spans.every(span => span.spanContext().traceId === traceparent.split('-')[1]))
  t.match(spans.find(({ name }) => name.startsWith('POST'))?.attributes, {
    'http.request.method': 'POST', 'http.route': '/vac/:vector_name', 'url.path': '/vac/demo', 'http.response.status_code': 200
  })
})

test('a trace that its caller dropped is passed on', async t => {
  const app = await host(t)
  isKept = true
  t.match(await ask(app, 'hello', { traceparent: UNSAMPLED }), new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`))
  t.strictSame(await takeSpans(), [])
  t.equal(contexts.isOn, false)
})

test('the storage is off after the last span', canLook, async t => {
  const app = await host(t)
  t.equal(await isOn(), false)
  isKept = true
  await ask(app, 'hello')
  await until(() => !contexts.isOn, 'the request has ended')
  t.equal(await isOn(), false)
  contexts.enter()
  contexts.with(ROOT_CONTEXT, () => {})
  t.equal(await isOn(), true, 'the mark is there while it is on')
  contexts.leave()
  t.equal(await isOn(), false)
  await takeSpans()
})

test('a task runs in a separate trace that is linked, and its request keeps no context while it waits', async t => {
  const app = await host(t)
  let release = (): void => {}
  held = new Promise<void>(resolve => { release = resolve })
  isKept = true
  const before = runs
  const params = { skillName: 'vac_query_demo', input: { query: 'hold' } }
  const sent = app.inject({ method: 'POST', url: '/a2a/tasks/send', payload: { jsonrpc: '2.0', id: 1, method: 'tasks/send', params } })
  await until(() => runs > before, 'the task runs')
  isKept = false
  release()
  t.match((await sent).payload, /completed/)
  const spans = await takeSpans()
  const request = spans.find(({ name }) => name === 'POST /a2a/tasks/send')!
  const run = spans.find(({ name }) => name === 'run_task')!
  t.strictSame(run.links.map(({ context }) => context.spanId), [request.spanContext().spanId])
  t.ok(linesOf(spans).includes('INTERNAL library < INTERNAL invoke_agent demo < CONSUMER run_task'))
  t.match(lines.find(line => line.includes('"task run"')), run.spanContext().traceId, 'after the run has given up its context')
  await until(() => !contexts.isOn, 'all spans have ended')
})

test('a stream that only waits keeps no context', async t => {
  const app = await host(t)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const post = async (path: string, body: object, headers: Record<string, string> = {}): Promise<Response> => await fetch(`${url}${path}`, {
    method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body })
  })
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
  const session = (await post('/mcp', { method: 'initialize', params })).headers.get('mcp-session-id')!
  let release = (): void => {}
  held = new Promise<void>(resolve => { release = resolve })
  const sent = await post('/a2a/tasks/send', { method: 'tasks/send', params: { skillName: 'vac_stream_demo', input: { query: 'hold' } } })
  const { result: { taskId } } = await sent.json() as { result: { taskId: string } }
  const streams: Record<string, (signal: AbortSignal) => Promise<Response>> = {
    'GET of an MCP session': async signal => await fetch(`${url}/mcp`, { headers: { accept: 'text/event-stream', 'mcp-session-id': session }, signal }),
    'GET of HTTP with SSE': async signal => await fetch(`${url}/mcp`, { headers: { accept: 'text/event-stream' }, signal }),
    'subscriptions/listen': async signal => await fetch(`${url}/mcp`, {
      method: 'POST',
      signal,
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params: { notifications: {}, _meta: MODERN } })
    }),
    'tasks/resubscribe': async signal => await fetch(`${url}/a2a/tasks/resubscribe`, {
      method: 'POST',
      signal,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/resubscribe', params: { taskId } })
    })
  }
  for (const [name, open] of Object.entries(streams)) {
    const leave = new AbortController()
    isKept = true
    const response = await open(leave.signal)
    isKept = false
    t.equal(response.status, 200, name)
    await until(() => !contexts.isOn, `${name}: its context is given up`)
    leave.abort()
    await response.text().catch(() => {})
    const spans = await until(async () => { const list = await takeSpans(); return list.length > 0 && list }, `${name}: its span has ended`)
    t.ok(spans.some(({ name }) => /^(?:GET|POST) /.test(name)), name)
  }
  release()
})

test('a call over MCP has a span where its request or `_meta` has a trace that is kept', async t => {
  const app = await host(t)
  const call = async (meta: object): Promise<string[]> => {
    const _meta = { ...MODERN, ...meta }
    const { statusCode } = await app.inject({
      method: 'POST',
      url: '/mcp',
      headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'vac_query_demo' },
      payload: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'vac_query_demo', arguments: { query: 'hello' }, _meta } }
    })
    t.equal(statusCode, 200)
    return linesOf(await takeSpans()).filter(line => line.startsWith('SERVER'))
  }
  t.strictSame(await call({}), [])
  t.strictSame(await call({ traceparent: `00-${TRACE}-${PARENT}-01` }), [`SERVER tools/call vac_query_demo < ${PARENT}`])
  isKept = true
  t.strictSame(await call({}), ['SERVER POST /mcp', 'SERVER tools/call vac_query_demo < SERVER POST /mcp'])
})

test('which share of the traces the variables ask for', t => {
  const ratio = (sampler: string, arg?: string): number | undefined => ratioOfTraces({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: arg })
  t.equal(ratio('traceidratio', '0.25'), 0.25)
  t.equal(ratio('parentbased_traceidratio', ' 0 '), 0)
  for (const arg of [undefined, '', 'x', '-1', '1', '2']) t.equal(ratio('traceidratio', arg), undefined, `all, as the SDK does with ${arg}`)
  t.equal(ratio('always_off'), 0)
  t.equal(ratio('parentbased_always_off', '1'), 0)
  for (const name of ['always_on', 'parentbased_always_on', 'jaeger_remote', '', 'ALWAYS_OFF', ' traceidratio']) t.equal(ratio(name, '0.1'), undefined, name)
  t.end()
})

test('the sampler of the SDK keeps the traces that were chosen before, and no others', t => {
  const ids = new SampledIds(tracesSdk, 0.25)
  const sampler = new TraceIdRatioBasedSampler(0.25)
  let kept = 0
  for (let i = 0; i < 2_000; i++) {
    const isKept = ids.keepsNext()
    if (!isKept) continue
    kept++
    const id = ids.generateTraceId()
    t.equal(sampler.shouldSample(ROOT_CONTEXT, id).decision, SamplingDecision.RECORD_AND_SAMPLED)
    t.not(ids.generateTraceId(), id, 'an id is used once')
  }
  t.ok(kept > 350 && kept < 650, `${kept} of 2000`)
  t.match(ids.generateSpanId(), /^[0-9a-f]{16}$/)
  t.end()
})

test('contexts are kept by the manager that the API has taken', t => {
  t.ok(contexts.isUsedBy({ context }))
  t.notOk(new SampledContexts(() => true).isUsedBy({ context }), 'another one was registered before')
  t.end()
})

test('a step without a span has its context while it is synchronous, and a function can be bound to one', async t => {
  const mine = ROOT_CONTEXT.setValue(Symbol('mine'), 1)
  t.equal(context.with(mine, () => context.active()), mine)
  t.equal(context.active(), ROOT_CONTEXT)
  t.throws(() => context.with(mine, () => { throw new Error('x') }), /x/)
  t.equal(context.active(), ROOT_CONTEXT)
  t.equal(context.bind(mine, () => context.active())(), mine)
  t.equal(context.bind(mine, 'text'), 'text')
  contexts.enter()
  t.equal(await context.with(mine, async () => { await delay(1); return context.active() }), mine)
  contexts.leave()
})
