import { METRICS, record, Totals, useMeter, type Total } from '@polyvac/core/plugin'
import * as sdk from '@opentelemetry/sdk-metrics'
import { InMemoryMetricExporter, AggregationTemporality, MeterProvider, PeriodicExportingMetricReader, type MetricProducer } from '@opentelemetry/sdk-metrics'
import fc from 'fast-check'
import { test, type Test } from 'tap'
import type { InterpreterExtra } from '@polyvac/core'
import type { FastifyInstance } from 'fastify'
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createHost, type HostOptions } from '../src/index.js'
import { produceTotals } from '../src/telemetry/metric-producer.js'
import { forms, PROBES, questions, type ProbeRequest } from '../../../test/probes/index.mjs'
import { until } from '../../../test/fixtures/until.js'
import { root } from '../../../test/fixtures/command.js'

/** For how long the test blocks the event loop; the metrics must show half of it. */
const BLOCK_MS = 300

/** The metrics that values are recorded of. */
const RECORDED = ['http.server.request.duration', 'gen_ai.client.token.usage', 'polyvac.call.chunks'] as const

/** Additions in another order differ in the last digits. */
function rounded (value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_key, part: unknown) => typeof part === 'number' ? Number(part.toPrecision(12)) : part))
}

/** A meter as an application has it. The function returned collects the values of a metric, by a label. */
function meter (t: Test): (name: string, label?: string) => Promise<Record<string, number>> {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1e8 })
  const provider = new MeterProvider({ readers: [reader] })
  t.teardown(() => provider.shutdown())
  t.teardown(useMeter(provider.getMeter('mine')))
  return async (name, label) => {
    const { resourceMetrics } = await reader.collect()
    const metric = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics).find(({ descriptor }) => descriptor.name === name)
    return Object.fromEntries((metric?.dataPoints ?? []).map(({ attributes, value }) => [label === undefined ? 'value' : attributes[label], value]))
  }
}

async function host (t: Test, options: HostOptions): Promise<FastifyInstance> {
  const app = await createHost({ vacs: ['demo'], stream_interpreter: () => 'x', server: { logger: false }, ...options })
  t.teardown(() => app.close())
  return app
}

/** The name of a metric in the text format of Prometheus. */
const prometheusName = (name: string): string => name.replaceAll('.', '_')

test('GET /metrics has the metrics of all protocols, and no path, owner or content', async t => {
  const app = await createHost({
    vacs: ['demo'],
    stream_interpreter: async function * (question) {
      yield 'text '
      if (question.includes('fail')) throw new Error('broken')
      yield { answer: 'text', source_documents: [], metadata: { usage: { prompt_tokens: 11, completion_tokens: 3 } } }
    },
    enable_a2a_agent: true,
    enable_mcp_server: true,
    telemetry: { prometheus: true },
    authenticate: () => ({ owner: 'owner-canary', scopes: ['admin'] }),
    server: { logger: false }
  })
  t.teardown(() => app.close())
  const post = async (url: string, payload: object, headers: Record<string, string> = {}): Promise<void> => { await app.inject({ method: 'POST', url, payload, headers }) }
  for (const text of ['content-canary', 'fail content-canary']) {
    for (const [, { path, body, headers }] of questions(text, 'demo')) await post(path, body, headers)
  }
  await post('/path-canary', {})
  await post('/mcp', {})
  for (const url of ['/vac/demo/search?q=x', '/.well-known/agent-card.json', '/openapi.json']) await app.inject(url)
  const { statusCode, headers, payload } = await app.inject('/metrics')
  t.equal(statusCode, 200)
  t.match(headers['content-type'], 'text/plain; version=0.0.4')
  t.notMatch(payload, /canary/)
  /** The sum of the values of a metric whose labels have all of these words. */
  const sumOf = (name: RegExp, words: readonly string[]): number => payload.split('\n').filter(line => name.test(line) && words.every(word => line.includes(`="${word}"`)))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  for (const [protocol, probe] of Object.entries(PROBES)) {
    const asked = forms({ [protocol]: probe }).length
    for (const outcome of ['completed', 'failed']) t.equal(sumOf(/^gen_ai_client_operation_duration\w*_count/, [protocol, outcome, 'demo']), asked, `${protocol} ${outcome}`)
    t.equal(sumOf(/^gen_ai_client_token_usage\w*_sum/, [protocol, 'input']), 11 * asked, `${protocol}: tokens`)
  }
  t.match(payload, /http_server_request_duration[^{]*_count\{.*http_route="\/vac\/:vector_name".*polyvac_status_class="2xx"/)
  // each route names its protocol, whatever its path
  const protocols = new Map([...payload.matchAll(/http_server_request_duration[^{]*_count\{(.*)\}/g)].map(([, labels = '']) =>
    [/http_route="([^"]*)"/.exec(labels)?.[1], /polyvac_protocol="([^"]*)"/.exec(labels)?.[1]]))
  t.match(Object.fromEntries(protocols), {
    '/vac/:vector_name': 'direct',
    '/vac/:vector_name/search': 'direct',
    '/openai/v1/chat/completions': 'openai',
    '/a2a/tasks/send': 'a2a',
    '/.well-known/agent-card.json': 'a2a',
    '/mcp': 'mcp',
    '/mcp/tools': undefined,
    '/openapi.json': 'host',
    unmatched: 'host'
  })
  const needTraffic = ['polyvac.tasks', 'polyvac.push.deliveries', 'polyvac.mcp.upstream.state', 'polyvac.mcp.upstream.restarts']
  for (const name of Object.keys(METRICS).filter(name => !needTraffic.includes(name))) t.match(payload, `# HELP ${prometheusName(name)}`, name)
  await app.close()
  t.notMatch((await import('@polyvac/core/plugin')).isMetered(), true, 'a closed host records nothing')
})

test('sums of the process are those of an SDK, for any values and labels', async t => {
  const labels = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('', 'x', 'y'), { maxKeys: 2 })
  const values = fc.array(fc.tuple(fc.constantFrom(...RECORDED), fc.oneof(fc.nat(200), fc.double({ min: 0, max: 200, noNaN: true })), labels), { maxLength: 40 })
  await fc.assert(fc.asyncProperty(values, async list => {
    const totals = new Totals()
    const collect = (options: { producer?: MetricProducer }) => {
      const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
      const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1e8, metricProducers: options.producer === undefined ? [] : [options.producer] })
      const provider = new MeterProvider({ readers: [reader] })
      const stop = useMeter(provider.getMeter('polyvac'), options.producer && totals)
      return async () => {
        const { resourceMetrics } = await reader.collect()
        stop()
        await provider.shutdown()
        return Object.fromEntries(resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)
          .filter(({ descriptor }) => RECORDED.includes(descriptor.name as typeof RECORDED[number]))
          .map(({ descriptor: { name, unit, description, valueType }, dataPoints, ...rest }) =>
            [name, { unit, description, valueType, ...rest, points: new Map(dataPoints.map(({ attributes, value }) => [JSON.stringify(Object.entries(attributes).sort()), rounded(value)])) }]))
      }
    }
    const [bySdk, byTotals] = [collect({}), collect({ producer: produceTotals(sdk, totals) })]
    for (const [name, value, set] of list) record(name, value, set)
    assert.deepEqual(await byTotals(), await bySdk())
  }), { numRuns: 200 })
  t.pass()
})

test('a metric has at most 2,000 sets of labels, and the rest in one', t => {
  const totals = new Totals()
  for (let i = 0; i < 3_000; i++) totals.record('polyvac.call.chunks', 1, { name: String(i) })
  const [[, points]] = [...totals.entries()] as [[string, readonly Total[]]]
  t.equal(points.length, 2_000)
  t.equal(points.find(({ labels }) => labels['otel.metric.overflow'] === 'true')?.sum, 1_001)
  t.end()
})

test('without the switch there is no route', async t => {
  const app = await host(t, {})
  t.equal((await app.inject('/metrics')).statusCode, 404)
})

test('a meter provider of the application has the same metrics besides /metrics, each with a separate window', async t => {
  const collect = meter(t)
  const app = await host(t, { telemetry: { prometheus: true } })
  const blockLoop = async (): Promise<void> => {
    // the histogram counts a turn of the loop when the next one begins
    await delay(100)
    const end = performance.now() + BLOCK_MS
    while (performance.now() < end);
    await delay(100)
  }
  const scrape = async (): Promise<string> => (await app.inject('/metrics')).payload
  const longest = 'nodejs.eventloop.delay.max'
  const scraped = (payload: string): number => Number(/^nodejs_eventloop_delay_max[^ ]* (\S+)/m.exec(payload)?.[1])
  await app.inject({ method: 'POST', url: '/vac/demo', payload: { user_input: 'x' } })
  t.ok((await collect('polyvac.memory.budget.limit'))['value']! > 0)
  for (const round of [1, 2]) {
    await blockLoop()
    t.ok((await collect(longest))['value']! >= BLOCK_MS / 2_000, `round ${round}: the application`)
    const payload = await scrape()
    t.ok(scraped(payload) >= BLOCK_MS / 2_000, `round ${round}: /metrics after it`)
    t.match(payload, /http_server_request_duration[^{]*_count\{/)
    // a text is shared for a second
    await delay(1_100)
  }
  for (const [label, value] of [['http.route', '/vac/:vector_name'], ['polyvac.status_class', '2xx']] as const) {
    t.ok(value in await collect('http.server.request.duration', label), value)
  }
})

test('a request whose client leaves is counted once, before the headers of its response as 4xx', async t => {
  const collect = meter(t)
  const running = new Set<string>()
  const app = await host(t, {
    async * stream_interpreter (question: string, _vac: string, _history: unknown, { signal }: InterpreterExtra) {
      if (question === 'streams') yield 'first'
      running.add(question)
      if (question !== 'ends') await new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }) })
    }
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const counts = async (): Promise<Record<string, number>> =>
    JSON.parse(JSON.stringify(await collect('http.server.request.duration', 'polyvac.status_class'), (_key, value: { count?: number }) => value.count ?? value))
  for (const question of ['waits', 'streams']) {
    const abort = new AbortController()
    const call = fetch(`${url}/vac/streaming/demo`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ user_input: question }), signal: abort.signal })
    call.catch(() => {})
    await until(() => running.has(question), `${question}: the interpreter runs`)
    if (question === 'streams') await (await call).body!.getReader().read()
    abort.abort()
    await until(() => app.polyvac.vacs.running === 0, `${question}: the interpreter ends`)
  }
  await until(async () => Object.keys(await counts()).length === 2, 'both are counted')
  t.equal((await fetch(`${url}/vac/streaming/demo`, { method: 'POST' })).status, 400)
  await until(async () => (await counts())['4xx'] === 2, 'the refused request is counted')
  t.strictSame(await counts(), { '4xx': 2, '2xx': 1 })

  running.clear()
  const ask = (question: string): string => {
    const body = JSON.stringify({ user_input: question })
    return `POST /vac/streaming/demo HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  }
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(ask('waits') + ask('ends'))
  await until(() => running.has('waits') && running.has('ends') && app.polyvac.vacs.running === 1, 'the second answer waits behind the first one')
  socket.destroy()
  await until(async () => (await counts())['4xx'] === 4, 'both are counted')
  t.strictSame(await counts(), { '4xx': 4, '2xx': 1 })
})

test('requests to webhooks are counted by their outcome, also those without an answer', async t => {
  const received: Record<string, number> = { '/ok': 0, '/busy': 0, '/gone': 0, '/cut': 0 }
  const statuses: Record<string, number> = { '/ok': 200, '/busy': 500, '/gone': 410 }
  const server = createServer((request, response) => {
    const { url = '' } = request
    received[url]!++
    if (url === '/cut') request.socket.destroy()
    else request.resume().on('end', () => { response.writeHead(statuses[url]!).end() })
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const { port } = server.address() as AddressInfo
  const collect = meter(t)
  const app = await host(t, { enable_a2a_agent: true, push: { allow: [`127.0.0.1:${port}`] } })
  const deliveries = (): Promise<Record<string, number>> => collect('polyvac.push.deliveries', 'polyvac.outcome')
  t.strictSame(await deliveries(), {})
  for (const path of Object.keys(received)) {
    const params = { skillName: 'vac_query_demo', input: { query: 'hello' }, pushNotificationConfig: { url: `http://127.0.0.1:${port}${path}` } }
    await app.inject({ method: 'POST', url: '/a2a/tasks/send', payload: { jsonrpc: '2.0', id: 1, method: 'tasks/send', params } })
  }
  await until(() => Object.values(received).every(requests => requests > 0), 'each receiver has a request')
  // a failed delivery is tried again
  await until(async () => {
    const { delivered, retry, disable } = await deliveries()
    return delivered === received['/ok'] && disable === received['/gone'] && retry === received['/busy']! + received['/cut']!
  }, 'each request is counted')
  t.equal(received['/gone'], 1)
})

test('a state that a server or task has left is 0 in the next collection', async t => {
  const [states, tasks] = [meter(t), meter(t)]
  const app = await host(t, {
    enable_a2a_agent: true,
    tasks: { store: 'memory' },
    stream_interpreter: (question: string) => question === 'ask' ? { input_required: 'which?' } : 'answer',
    mcp_servers: { calm: { command: process.execPath, args: [`${root}/packages/mcp-gateway/test/fixtures/bad-server.mjs`] } }
  })
  await app.ready()
  const upstream = (): Promise<Record<string, number>> => states('polyvac.mcp.upstream.state', 'polyvac.mcp.state')
  const none = { starting: 0, ready: 0, waiting: 0, failed: 0, stopped: 0 }
  t.strictSame(await upstream(), { ...none, starting: 1 })
  await app.polyvac.gateway!.settled()
  t.strictSame(await upstream(), { ...none, ready: 1 })

  const send = async (params: object): Promise<string> => (await app.inject({
    method: 'POST', url: '/a2a/tasks/send', payload: { jsonrpc: '2.0', id: 1, method: 'tasks/send', params: { skillName: 'vac_query_demo', ...params } }
  })).json().result.taskId
  const counts = (): Promise<Record<string, number>> => tasks('polyvac.tasks', 'polyvac.task.state')
  const ended = { submitted: 0, working: 0, 'input-required': 0, 'auth-required': 0 }
  const taskId = await send({ input: { query: 'ask' } })
  t.strictSame(await counts(), { ...ended, 'input-required': 1 })
  await send({ taskId, input: { query: 'this one' } })
  t.strictSame(await counts(), ended)
})

test('restarts of an external MCP server are counted by its name', async t => {
  const collect = meter(t)
  const command = { command: process.execPath, args: [`${root}/packages/mcp-gateway/test/fixtures/bad-server.mjs`] }
  const app = await host(t, { mcp_servers: { bad: command, calm: command } })
  await app.ready()
  await app.polyvac.gateway!.settled()
  const restarts = (): Promise<Record<string, number>> => collect('polyvac.mcp.upstream.restarts', 'polyvac.mcp.server')
  t.strictSame(await restarts(), { bad: 0, calm: 0 })
  for (const count of [1, 2]) {
    const { statusCode } = await app.inject({ method: 'POST', url: '/mcp/call', payload: { server: 'bad', tool: 'exit', arguments: {} } })
    t.equal(statusCode, 500)
    await until(async () => (await restarts())['bad'] === count, `${count} restarts`)
  }
  t.equal((await restarts())['calm'], 0)
})

test('a call of a tool that is refused for a mistake of its caller is rejected, one that fails has failed', async t => {
  const collect = meter(t)
  const app = await host(t, { mcp_servers: { bad: { command: process.execPath, args: [`${root}/packages/mcp-gateway/test/fixtures/bad-server.mjs`] } } })
  await app.ready()
  await app.polyvac.gateway!.settled()
  const outcomes = async (): Promise<string[]> => Object.keys(await collect('gen_ai.client.operation.duration', 'polyvac.outcome'))
  for (const [tool, status, expected] of [['echo', 400, ['rejected']], ['exit', 500, ['rejected', 'failed']]] as const) {
    const { statusCode } = await app.inject({ method: 'POST', url: '/mcp/call', payload: { server: 'bad', tool, arguments: {} } })
    t.equal(statusCode, status)
    t.strictSame(await outcomes(), expected)
  }
})

test('an open stream of any protocol is counted, until it ends or its client leaves', async t => {
  const collect = meter(t)
  const open = async (): Promise<number | undefined> => (await collect('polyvac.streams.open'))['value']
  const running = new Set<() => void>()
  const app = await host(t, {
    enable_a2a_agent: true,
    enable_mcp_server: true,
    mcp_servers: { bad: { command: process.execPath, args: [`${root}/packages/mcp-gateway/test/fixtures/bad-server.mjs`] } },
    async * stream_interpreter (_question: string, _vac: string, _history: unknown, { signal }: InterpreterExtra) {
      yield 'first '
      await new Promise<void>(resolve => {
        running.add(resolve)
        signal.addEventListener('abort', () => { resolve() })
      })
      yield 'last'
    }
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
  const post = async (path: string, body: object, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> => await fetch(`${url}${path}`, {
    method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body), ...signal !== undefined && { signal }
  })
  const mcp = { accept: 'application/json, text/event-stream' }
  /** Headers of requests to a new session. */
  const openSession = async (): Promise<Record<string, string>> => {
    const { headers } = await post('/mcp', rpc('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }), mcp)
    return { ...mcp, 'mcp-session-id': headers.get('mcp-session-id')! }
  }
  interface Opened { readonly response: Response, readonly last: RegExp, end (): unknown }
  /** A stream of an answer of the interpreter. */
  const answer = (ask: () => ProbeRequest) => async (signal: AbortSignal): Promise<Opened> => {
    const { path, body, headers } = ask()
    const response = await post(path, body, headers, signal)
    await until(() => running.size > 0, `${path}: the interpreter runs`)
    return { response, last: /last/, end () { for (const end of running) end() } }
  }
  const opens: Record<string, (signal: AbortSignal) => Promise<Opened>> = {
    ...Object.fromEntries(forms(PROBES, ['stream']).map(([what, ask]) => [what, answer(() => ask('hello', 'demo'))])),
    'GET of an MCP session': async signal => {
      const headers = await openSession()
      const response = await fetch(`${url}/mcp`, { headers, signal })
      return { response, last: /data:/, end: async () => { await fetch(`${url}/mcp`, { method: 'DELETE', headers }) } }
    },
    'POST of an MCP session': async signal => {
      const body = rpc('tools/call', { name: 'vac_stream_demo', arguments: { query: 'hello' }, _meta: { progressToken: 1 } })
      const headers = await openSession()
      return await answer(() => ({ path: '/mcp', body, headers }))(signal)
    },
    'POST /mcp/call': async signal => {
      // the server reports progress for two seconds, then the result
      const call = { server: 'bad', tool: 'progress', arguments: { steps: 21, ms: 100 } }
      return { response: await post('/mcp/call', call, { accept: 'text/event-stream' }, signal), last: /event: result/, end () {} }
    }
  }
  for (const [protocol, begin] of Object.entries(opens)) {
    t.equal(await open(), 0, `${protocol}: none`)
    const ended = await begin(new AbortController().signal)
    t.equal(ended.response.status, 200, protocol)
    t.equal(await open(), 1, `${protocol}: one is open`)
    await ended.end()
    t.match(await ended.response.text(), ended.last, protocol)
    await until(async () => await open() === 0, `${protocol}: it has ended`)
    running.clear()
    const abort = new AbortController()
    const left = await begin(abort.signal)
    t.equal(await open(), 1, `${protocol}: the next one is open`)
    abort.abort()
    await left.response.text().catch(() => {})
    await until(async () => await open() === 0, `${protocol}: its client has left`)
    // a task goes on without readers
    await left.end()
    running.clear()
  }
  const early = new AbortController()
  const refused = t.rejects(post('/mcp/call', { server: 'bad', tool: 'hang', arguments: {} }, { accept: 'text/event-stream' }, early.signal))
  await until(async () => await open() === 1, 'POST /mcp/call: a call without events is open')
  early.abort()
  await refused
  await until(async () => await open() === 0, 'POST /mcp/call: its client has left before the first event')
})
