import { isMetered, memoryBudget, observeMetrics, OpenStreams, record, telemetryNames as names, useMeter, within, type Observe } from '@polyvac/core/plugin'
import type { Vacs } from '@polyvac/core'
import type { Gateway } from '@polyvac/mcp-gateway'
import type { TaskStore } from '@polyvac/tasks'
import type { FastifyInstance } from 'fastify'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { MetricsPackageError } from './errors.js'
import { version } from './version.js'

/** Collections of so many ms share their result: callers of the route are strangers. */
const SCRAPE_MS = 1_000
/** Longest wait for the counts of the task store, in ms; a collection goes without them. */
const STORE_WAIT_MS = 2_000
const NS_PER_S = 1e9
/** Protocols by the first part of a route pattern. */
const PROTOCOLS: Readonly<Record<string, string>> = { vac: 'direct', openai: 'openai', a2a: 'a2a', mcp: 'mcp' }

/** What the gauges read. */
export interface Measured {
  readonly vacs: Vacs
  readonly tasks: () => TaskStore | undefined
  readonly gateway: Gateway | undefined
}

/** Measures requests and what the process holds, where a meter is in use: of OTLP, or of GET /metrics. */
export function measure (app: FastifyInstance, measured: Measured): void {
  if (!isMetered()) return
  const stop = observe(measured)
  app.addHook('onClose', async () => { stop() })
  app.addHook('onResponse', async (request, reply) => {
    const { url: route = 'unmatched' } = request.routeOptions
    record('http.server.request.duration', reply.elapsedTime / 1000, {
      [names.HTTP_METHOD]: names.knownMethod(request.method),
      [names.HTTP_ROUTE]: route,
      [names.STATUS_CLASS]: `${Math.floor(reply.statusCode / 100)}xx`,
      [names.PROTOCOL]: PROTOCOLS[route.split('/')[1] ?? ''] ?? 'host'
    })
  })
}

/**
 * GET /metrics: all metrics in the text format of Prometheus, from a separate meter provider, so that one that the
 * application or OTLP registered works beside it. Who may read it: as for /ready.
 * @throws METRICS_PACKAGE_MISSING
 */
export async function serveMetrics (app: FastifyInstance): Promise<void> {
  const [{ PrometheusExporter, PrometheusSerializer }, { MeterProvider }] = await loadExporter()
  const reader = new PrometheusExporter({ preventServerStart: true })
  const serializer = new PrometheusSerializer('', false, undefined, true, true)
  const provider = new MeterProvider({ readers: [reader] })
  const stop = useMeter(provider.getMeter('polyvac', version))
  app.addHook('onClose', async () => {
    stop()
    await provider.shutdown()
  })
  let scraped: { readonly at: number, readonly text: Promise<string> } | undefined
  app.get('/metrics', { schema: { summary: 'Metrics in the text format of Prometheus', tags: ['host'] } }, async (_request, reply) => {
    if (scraped === undefined || performance.now() - scraped.at > SCRAPE_MS) {
      scraped = { at: performance.now(), text: reader.collect().then(({ resourceMetrics }) => serializer.serialize(resourceMetrics)) }
    }
    reply.type('text/plain; version=0.0.4; charset=utf-8')
    return await scraped.text
  })
}

/** Reports at each collection what the process knows anyway. Returns the function that stops it. */
function observe ({ vacs, tasks, gateway }: Measured): () => void {
  const delay = monitorEventLoopDelay()
  delay.enable()
  const stop = observeMetrics(async observe => {
    observe('polyvac.calls.running', vacs.running)
    observe('polyvac.streams.open', OpenStreams.count)
    observe('polyvac.memory.budget.used', memoryBudget.used)
    observe('polyvac.memory.budget.limit', memoryBudget.limit)
    observe('polyvac.memory.budget.refused', memoryBudget.refusals)
    observe('nodejs.eventloop.delay.p50', delay.percentile(50) / NS_PER_S)
    observe('nodejs.eventloop.delay.p99', delay.percentile(99) / NS_PER_S)
    observe('nodejs.eventloop.delay.max', delay.max / NS_PER_S)
    delay.reset()
    for (const { name, state, restarts } of gateway?.status() ?? []) {
      observe('polyvac.mcp.upstream.state', 1, { [names.MCP_SERVER]: name, [names.MCP_STATE]: state })
      observe('polyvac.mcp.upstream.restarts', restarts, { [names.MCP_SERVER]: name })
    }
    await observeTasks(tasks(), observe)
  })
  return () => {
    delay.disable()
    stop()
  }
}

async function observeTasks (store: TaskStore | undefined, observe: Observe): Promise<void> {
  if (store === undefined) return
  const backlog = await within(store.backlog(), STORE_WAIT_MS, () => { throw new Error('the task store did not answer') })
  for (const { state, tasks, since } of backlog) {
    observe('polyvac.tasks', tasks, { [names.TASK_STATE]: state })
    if (state === 'submitted') observe('polyvac.tasks.queue.age', Math.max(0, Date.now() - since) / 1000)
  }
  if (!backlog.some(({ state }) => state === 'submitted')) observe('polyvac.tasks.queue.age', 0)
}

/** Optional packages, which are loaded only where the switch is on. */
async function loadExporter () {
  try {
    return await Promise.all([import('@opentelemetry/exporter-prometheus'), import('@opentelemetry/sdk-metrics')])
  } catch (err) {
    if ((err as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw err
    throw Object.assign(new MetricsPackageError(), { cause: err })
  }
}
