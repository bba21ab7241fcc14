import { test, type Test } from 'tap'
import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createHost } from '../src/index.js'
import { startSdk } from '../src/telemetry/open-telemetry.js'
import { until } from '../../../test/fixtures/until.js'
import { MetricsPackageError, TelemetrySdkMissingError } from '../src/errors.js'
import { emptyFolder, polyvac, withoutPackage } from '../../../test/fixtures/command.js'

const cli = fileURLToPath(new URL('../../polyvac/bin/polyvac.js', import.meta.url))

/** An interpreter that asks, or does not end before its task is aborted. */
const WAITS = `export async function * stream_interpreter (question, vac, history, { signal }) {
  if (question === 'ask') return { input_required: 'canary-question' }
  await new Promise(resolve => { signal.addEventListener('abort', resolve) })
  yield 'canary-answer'
}`

/** Runs the command with these variables until it serves; `stop` resolves to its exit code. */
async function start (t: Test, env: Record<string, string>, service: object = { stream_interpreter: 'echo' }) {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-otlp-'))
  await writeFile(join(folder, 'vac_config.yaml'), JSON.stringify({ kind: 'vacConfig', vac: { demo: {} }, service }))
  await writeFile(join(folder, 'waits.mjs'), WAITS)
  const child = spawn(process.execPath, [cli, 'start', '--port', '0', '--grace', '5'], { cwd: folder, env: { PATH: process.env['PATH'], ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  for (const pipe of [child.stdout, child.stderr]) pipe.on('data', chunk => { out += String(chunk) })
  const exited = new Promise<number | null>(resolve => { child.once('exit', resolve) })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
    await rm(folder, { recursive: true, force: true })
  })
  const url = await until(() => /http:\/\/[\d.]+:\d+/.exec(out)?.[0], 'the banner shows the address')
  return { url, stop: async () => { child.kill('SIGTERM'); return await exited } }
}

async function collector (t: Test): Promise<{ received: string[], endpoint: string }> {
  const received: string[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => { chunks.push(chunk as Buffer) })
    request.on('end', () => {
      received.push(`${request.url} ${Buffer.concat(chunks).toString('latin1')}`)
      response.end()
    })
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return { received, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** What is used of a request to `/v1/metrics` in JSON. */
interface Exported {
  readonly resourceMetrics: Array<{ scopeMetrics: Array<{ metrics: Array<{ name: string, gauge?: { dataPoints: DataPoint[] }, histogram?: Histogram }> }> }>
}
interface Histogram {
  readonly dataPoints: Array<{
    count: number | string, sum: number, min: number, max: number, bucketCounts: Array<number | string>, startTimeUnixNano: string, timeUnixNano: string
  }>
}
interface DataPoint { readonly attributes: Array<{ value: { stringValue: string } }>, readonly asInt?: number, readonly asDouble?: number }

async function ask (url: string): Promise<void> {
  const body = JSON.stringify({ user_input: 'canary-question' })
  await (await fetch(`${url}/vac/demo`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).text()
}

test('OTEL_EXPORTER_OTLP_ENDPOINT sends the spans of the service when it ends at the latest', async t => {
  const { received, endpoint } = await collector(t)
  const { url, stop } = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })
  await ask(url)
  t.equal(await stop(), 0)
  const traces = received.filter(text => text.startsWith('/v1/traces')).join()
  for (const part of ['polyvac', 'POST /vac/:vector_name', 'invoke_agent demo']) t.ok(traces.includes(part), part)
  t.notMatch(received.join(), /canary/)
})

test('OTEL_SDK_DISABLED=true sends nothing, and a collector that is not there does not fail the end', async t => {
  const { received, endpoint } = await collector(t)
  const disabled = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: 'true' })
  await ask(disabled.url)
  t.equal(await disabled.stop(), 0)
  t.strictSame(received, [])
  const lost = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })
  await ask(lost.url)
  t.equal(await lost.stop(), 0)
})

test('the gauges of a service arrive at a collector', async t => {
  const { received, endpoint } = await collector(t)
  const token = 'canary-token'
  const tokens = [{ owner: 'canary-owner', sha256: createHash('sha256').update(token).digest('hex') }]
  const { url, stop } = await start(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_METRIC_EXPORT_INTERVAL: '100',
    OTEL_METRIC_EXPORT_TIMEOUT: '100'
  }, {
    stream_interpreter: './waits.mjs',
    enable_a2a_agent: true,
    tasks: { store: 'memory' },
    auth: { tokens },
    // three of 1,024 executors
    limits: { owner_share: 0.002 },
    memory_budget: 200
  })
  const send = async (text: string): Promise<void> => {
    const params = { message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] }, configuration: { returnImmediately: true } }
    const { status } = await fetch(`${url}/a2a`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', authorization: `Bearer ${token}` },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
    })
    t.equal(status, 200)
  }
  /** The gauges of the last export. */
  const gauges = (): Map<string, number> => {
    const last = received.findLast(text => text.startsWith('/v1/metrics '))
    const { resourceMetrics } = JSON.parse(last?.slice('/v1/metrics '.length) ?? '{"resourceMetrics":[]}') as Exported
    const metrics = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics).flatMap(({ metrics }) => metrics)
    return new Map(metrics.flatMap(({ name, gauge }) => (gauge?.dataPoints ?? []).map(({ attributes, asInt, asDouble }) =>
      [[name, ...attributes.map(({ value }) => value.stringValue)].join(' '), Number(asInt ?? asDouble)])))
  }
  await send('ask')
  await until(() => gauges().get('polyvac.tasks input-required') === 1, 'a task has asked')
  for (let i = 0; i < 5; i++) await send('wait')
  await until(() => gauges().get('polyvac.tasks working') === 3, 'three tasks run')
  await until(() => gauges().get('polyvac.tasks submitted') === 2, 'two tasks wait')
  const age = await until(() => gauges().get('polyvac.tasks.queue.age'), 'the queue has an age')
  await until(() => gauges().get('polyvac.tasks.queue.age')! > age, 'the oldest task grows older')
  t.equal(gauges().get('polyvac.calls.running'), 3)
  t.equal(gauges().get('polyvac.memory.budget.limit'), 200 * 2 ** 20)
  await until(() => gauges().get('polyvac.memory.budget.used')! > 0, 'tasks hold memory')
  await until(() => {
    const [p50, p99, max] = ['p50', 'p99', 'max'].map(name => gauges().get(`nodejs.eventloop.delay.${name}`)!)
    return p50! > 0 && p50! <= p99! && p99! <= max!
  }, 'the delays of the event loop')
  await stop()
  t.notMatch(received.join(), /canary/)
})

const ASKED = 50
for (const [preference, scopes] of [['cumulative', 2], ['delta', 1]] as const) {
  test(`with ${preference} sums and a sampler of a ratio, that share of the traces and all values arrive`, async t => {
    const { received, endpoint } = await collector(t)
    const { url, stop } = await start(t, {
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: preference,
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.5'
    })
    for (let i = 0; i < ASKED; i++) await ask(url)
    t.equal(await stop(), 0)
    const sent = received.findLast(text => text.startsWith('/v1/metrics '))!
    const { resourceMetrics: [metrics] } = JSON.parse(sent.slice('/v1/metrics '.length)) as Exported
    // instruments of the SDK have one scope, and sums of the process a second one
    t.equal(metrics!.scopeMetrics.length, scopes)
    const named = (name: string): Histogram['dataPoints'] => metrics!.scopeMetrics.flatMap(({ metrics }) => metrics).find(metric => metric.name === name)?.histogram?.dataPoints ?? []
    const [calls] = named('gen_ai.client.operation.duration')
    t.equal(Number(calls?.count), ASKED)
    t.equal(calls?.bucketCounts.reduce((sum: number, count) => sum + Number(count), 0), ASKED)
    t.ok(calls!.sum > 0 && calls!.min <= calls!.max && calls!.max <= calls!.sum)
    t.ok(BigInt(calls!.startTimeUnixNano) <= BigInt(calls!.timeUnixNano))
    t.equal(named('http.server.request.duration').reduce((sum: number, { count }) => sum + Number(count), 0), ASKED)
    const traces = received.filter(text => text.startsWith('/v1/traces')).join()
    const kept = traces.match(/"invoke_agent demo"/g)?.length ?? 0
    t.ok(kept > 5 && kept < ASKED - 5, `${kept} of ${ASKED}`)
    t.equal(traces.match(/"POST \/vac\/:vector_name"/g)?.length, kept)
  })
}

test('an SDK that exports nothing but NodeSDK, such as 0.301, sends that share of the traces and all values', async t => {
  const { received, endpoint } = await collector(t)
  const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_METRICS_EXPORTER: 'otlp', OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' }
  t.teardown(() => { for (const name of Object.keys(variables)) delete process.env[name] })
  Object.assign(process.env, variables)
  const { NodeSDK } = await import('@opentelemetry/sdk-node')
  const stop = await startSdk({ NodeSDK })
  const app = await createHost({ vacs: ['demo'], stream_interpreter: 'echo', server: { logger: false } })
  for (let i = 0; i < ASKED; i++) await app.inject({ method: 'POST', url: '/vac/demo', payload: { user_input: 'hello' } })
  await app.close()
  await stop()
  const kept = received.join().match(/"invoke_agent demo"/g)?.length ?? 0
  t.ok(kept > 5 && kept < ASKED - 5, `${kept} of ${ASKED}`)
  t.match(received.join(), new RegExp(`"gen_ai.client.operation.duration".*?"count":${ASKED},`))
})

for (const [name, missing, service, env] of [
  ['@opentelemetry/sdk-node', new TelemetrySdkMissingError(), '', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }],
  ['@opentelemetry/exporter-prometheus', new MetricsPackageError(), 'telemetry: { prometheus: true }', {}],
  ['@opentelemetry/sdk-metrics', new MetricsPackageError(), 'telemetry: { prometheus: true }', {}]
] as const) {
  test(`without ${name} a service that needs it ends with ${missing.code}, and others start`, async t => {
    const folder = await emptyFolder(t)
    const write = (service: string): Promise<void> => writeFile(join(folder, 'vac_config.yaml'),
      `kind: vacConfig\nvac: { demo: {} }\nservice:\n  stream_interpreter: echo\n  ${service}\n`)
    const NODE_OPTIONS = withoutPackage(name)
    await write('')
    await polyvac(t, ['start'], folder, { NODE_OPTIONS }).url()
    await write(service)
    const { out, ended } = polyvac(t, ['start'], folder, { NODE_OPTIONS, ...env })
    t.equal(await ended, 1)
    t.equal(out.stderr, `polyvac: ${missing.message}\n`)
    t.match(out.stderr, new RegExp(`install .*${name}@`), 'the message names the package')
  })
}
