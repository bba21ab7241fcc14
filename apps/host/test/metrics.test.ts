import { METRICS, useMeter } from '@polyvac/core/plugin'
import { InMemoryMetricExporter, AggregationTemporality, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { test } from 'tap'
import { setTimeout as delay } from 'node:timers/promises'
import { createHost } from '../src/index.js'

/** For how long the test blocks the event loop; the metrics must show half of it. */
const BLOCK_MS = 300

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
  const post = async (url: string, payload: object): Promise<void> => { await app.inject({ method: 'POST', url, payload }) }
  await post('/vac/demo', { user_input: 'content-canary' })
  await post('/vac/demo', { user_input: 'fail content-canary' })
  await post('/vac/streaming/demo', { user_input: 'content-canary' })
  await post('/openai/v1/chat/completions', { model: 'demo', messages: [{ role: 'user', content: 'content-canary' }] })
  await post('/a2a/tasks/send', { jsonrpc: '2.0', id: 1, method: 'tasks/send', params: { skillName: 'vac_query_demo', input: { query: 'content-canary' } } })
  await post('/path-canary', {})
  const { statusCode, headers, payload } = await app.inject('/metrics')
  t.equal(statusCode, 200)
  t.match(headers['content-type'], 'text/plain; version=0.0.4')
  t.notMatch(payload, /canary/)
  for (const [protocol, outcome] of [['direct', 'completed'], ['direct', 'failed'], ['openai', 'completed'], ['a2a', 'completed']] as const) {
    t.match(payload, new RegExp(`gen_ai_client_operation_duration(_seconds)?_count\\{.*polyvac_protocol="${protocol}".*polyvac_outcome="${outcome}"`), `${protocol} ${outcome}`)
  }
  t.match(payload, /gen_ai_client_token_usage[^{]*_sum\{.*gen_ai_token_type="input".*\} 11\n/)
  t.match(payload, /http_server_request_duration[^{]*_count\{.*http_route="\/vac\/:vector_name".*polyvac_status_class="2xx"/)
  const needTraffic = ['polyvac.tasks', 'polyvac.push.deliveries', 'polyvac.mcp.upstream.state', 'polyvac.mcp.upstream.restarts']
  for (const name of Object.keys(METRICS).filter(name => !needTraffic.includes(name))) t.match(payload, `# HELP ${prometheusName(name)}`, name)
  await app.close()
  t.notMatch((await import('@polyvac/core/plugin')).isMetered(), true, 'a closed host records nothing')
})

test('without the switch there is no route', async t => {
  const app = await createHost({ vacs: ['demo'], stream_interpreter: () => 'x', server: { logger: false } })
  t.teardown(() => app.close())
  t.equal((await app.inject('/metrics')).statusCode, 404)
})

test('a meter provider of the application has the same metrics beside /metrics, each with a separate window', async t => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1e8 })
  const provider = new MeterProvider({ readers: [reader] })
  t.teardown(() => provider.shutdown())
  t.teardown(useMeter(provider.getMeter('mine')))
  const app = await createHost({ vacs: ['demo'], stream_interpreter: () => 'x', telemetry: { prometheus: true }, server: { logger: false } })
  t.teardown(() => app.close())
  const blockLoop = async (): Promise<void> => {
    // the histogram counts a turn of the loop when the next one begins
    await delay(100)
    const end = performance.now() + BLOCK_MS
    while (performance.now() < end);
    await delay(100)
  }
  const scrape = async (): Promise<string> => (await app.inject('/metrics')).payload
  const collected = async (name: string): Promise<number> => {
    await reader.forceFlush()
    const metrics = exporter.getMetrics().at(-1)!.scopeMetrics.flatMap(({ metrics }) => metrics)
    return metrics.find(({ descriptor }) => descriptor.name === name)!.dataPoints[0]!.value as number
  }
  const longest = 'nodejs.eventloop.delay.max'
  const scraped = (payload: string): number => Number(/^nodejs_eventloop_delay_max[^ ]* (\S+)/m.exec(payload)?.[1])
  await app.inject({ method: 'POST', url: '/vac/demo', payload: { user_input: 'x' } })
  t.ok(await collected('polyvac.memory.budget.limit') > 0)
  for (const round of [1, 2]) {
    await blockLoop()
    t.ok(await collected(longest) >= BLOCK_MS / 2_000, `round ${round}: the application`)
    const payload = await scrape()
    t.ok(scraped(payload) >= BLOCK_MS / 2_000, `round ${round}: /metrics after it`)
    t.match(payload, /http_server_request_duration[^{]*_count\{/)
    // a text is shared for a second
    await delay(1_100)
  }
  const durations = exporter.getMetrics().at(-1)!.scopeMetrics.flatMap(({ metrics }) => metrics).find(({ descriptor }) => descriptor.name === 'http.server.request.duration')
  t.match(durations?.dataPoints[0]?.attributes, { 'http.route': '/vac/:vector_name', 'polyvac.status_class': '2xx' })
})
