import { Disconnects, isMetered, isMissingModule, memoryBudget, observeMetrics, OpenStreams, protocolOf, record, telemetryNames as names, Totals, useMeter, within, type Observe, type Watch } from '@polyvac/core/plugin'
import type { Vacs } from '@polyvac/core'
import type { Gateway, UpstreamState } from '@polyvac/mcp-gateway'
import type { TaskState, TaskStore } from '@polyvac/tasks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks'
import { MetricsPackageError } from '../errors.js'
import { produceTotals } from './metric-producer.js'
import { version } from '../version.js'

/** Collections of so many ms share their result: callers of the route are strangers. */
const SCRAPE_MS = 1_000
/** Longest wait for the counts of the task store, in ms; a collection goes without them. */
const STORE_WAIT_MS = 2_000
const NS_PER_S = 1e9
/** The status that proxies log for a request whose client left before the headers of the response. */
const CLIENT_LEFT = 499
/** The states that gauges report, without a server or task as 0: readers of OpenTelemetry keep what is not reported. */
const UPSTREAM_STATES = ['starting', 'ready', 'waiting', 'failed', 'stopped'] as const satisfies readonly UpstreamState[]
const TASK_STATES = ['submitted', 'working', 'input-required', 'auth-required'] as const satisfies readonly TaskState[]
/** The watch for the client of a request, until the request is counted. */
const WATCH = Symbol('polyvac.watch')
interface Watched { [WATCH]?: Watch | 'counted' | undefined }

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
  const labels = new RequestLabels()
  const disconnects = new Disconnects()
  const count = (request: FastifyRequest & Watched, { elapsedTime }: FastifyReply, status: number): void => {
    const { [WATCH]: watch } = request
    if (watch === 'counted') return
    watch?.remove()
    request[WATCH] = 'counted'
    record('http.server.request.duration', elapsedTime / 1000, labels.of(request, status))
  }
  app.decorateRequest(WATCH, undefined)
  // a client that disconnects causes no onResponse, and a request that an earlier hook refuses reaches no later one
  app.addHook('onRequest', (request: FastifyRequest & Watched, reply, done) => {
    const { raw } = reply
    // a response without a socket waits behind another one: its headers are not sent
    const watch = disconnects.watch(reply, () => { count(request, reply, raw.headersSent && raw.socket !== null ? raw.statusCode : CLIENT_LEFT) })
    request[WATCH] ??= watch
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    count(request, reply, reply.raw.headersSent ? reply.raw.statusCode : CLIENT_LEFT)
    done()
  })
}

/** The labels of requests by route pattern, method and status class. Objects made for each request are slow. */
class RequestLabels {
  // @keyed none: the keys are patterns of routes, known methods and classes of statuses
  readonly #routes = new Map<string, Map<string, Array<ReturnType<typeof requestLabels>>>>()

  of (request: FastifyRequest, status: number): ReturnType<typeof requestLabels> {
    const { method, routeOptions: { url: route = 'unmatched' } } = request
    const known = names.knownMethod(method)
    const statusClass = Math.floor(status / 100)
    let methods = this.#routes.get(route)
    if (methods === undefined) this.#routes.set(route, methods = new Map())
    let classes = methods.get(known)
    if (classes === undefined) methods.set(known, classes = [])
    classes[statusClass] ??= requestLabels(known, route, statusClass, protocolOf(request))
    return classes[statusClass]
  }
}

function requestLabels (method: string, route: string, statusClass: number, protocol = 'host') {
  return {
    [names.HTTP_METHOD]: method,
    [names.HTTP_ROUTE]: route,
    [names.STATUS_CLASS]: `${statusClass}xx`,
    [names.PROTOCOL]: protocol
  }
}

/**
 * GET /metrics: all metrics in the text format of Prometheus, from a separate meter provider, so that one that the
 * application or OTLP registered works next to it. Who may read it: as for /ready.
 * @throws METRICS_PACKAGE_MISSING
 */
export async function serveMetrics (app: FastifyInstance): Promise<void> {
  const [{ PrometheusExporter, PrometheusSerializer }, sdk] = await loadExporter()
  const totals = new Totals()
  const reader = new PrometheusExporter({ preventServerStart: true, metricProducers: [produceTotals(sdk, totals)] })
  const serializer = new PrometheusSerializer('', false, undefined, true, true)
  const provider = new sdk.MeterProvider({ readers: [reader] })
  const stop = useMeter(provider.getMeter('polyvac', version), totals)
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
  const delays = new LoopDelays()
  const stop = observeMetrics(async (observe, meter) => {
    observe('polyvac.calls.running', vacs.running)
    observe('polyvac.streams.open', OpenStreams.count)
    observe('polyvac.memory.budget.used', memoryBudget.used)
    observe('polyvac.memory.budget.limit', memoryBudget.limit)
    observe('polyvac.memory.budget.refused', memoryBudget.refusals)
    const { p50, p99, max } = delays.take(meter)
    observe('nodejs.eventloop.delay.p50', p50)
    observe('nodejs.eventloop.delay.p99', p99)
    observe('nodejs.eventloop.delay.max', max)
    for (const { name, state, restarts } of gateway?.status() ?? []) {
      for (const each of UPSTREAM_STATES) observe('polyvac.mcp.upstream.state', Number(each === state), { [names.MCP_SERVER]: name, [names.MCP_STATE]: each })
      observe('polyvac.mcp.upstream.restarts', restarts, { [names.MCP_SERVER]: name })
    }
    await observeTasks(tasks(), observe)
  })
  return () => {
    delays.close()
    stop()
  }
}

/** The delay of the event loop since the last collection of each meter: collections of the others do not shorten it. */
class LoopDelays {
  /** Of meters without a collection so far. */
  readonly #first = started()
  // @keyed none: the keys are meters of the application
  readonly #windows = new Map<object, IntervalHistogram>()

  /** In seconds. Begins a new window for this meter. */
  take (meter: object): Readonly<Record<'p50' | 'p99' | 'max', number>> {
    const window = this.#windows.get(meter)
    const delay = window ?? this.#first
    const taken = { p50: delay.percentile(50) / NS_PER_S, p99: delay.percentile(99) / NS_PER_S, max: delay.max / NS_PER_S }
    if (window === undefined) this.#windows.set(meter, started())
    else window.reset()
    return taken
  }

  close (): void {
    for (const delay of [this.#first, ...this.#windows.values()]) delay.disable()
  }
}

function started (): IntervalHistogram {
  const delay = monitorEventLoopDelay()
  delay.enable()
  return delay
}

async function observeTasks (store: TaskStore | undefined, observe: Observe): Promise<void> {
  if (store === undefined) return
  const backlog = await within(store.backlog(), STORE_WAIT_MS, () => { throw new Error('the task store did not answer') })
  for (const state of TASK_STATES) {
    const { tasks = 0, since } = backlog.find(counted => counted.state === state) ?? {}
    observe('polyvac.tasks', tasks, { [names.TASK_STATE]: state })
    if (state === 'submitted') observe('polyvac.tasks.queue.age', since === undefined ? 0 : Math.max(0, Date.now() - since) / 1000)
  }
}

/** Optional packages, which are loaded only where the switch is on. */
async function loadExporter () {
  try {
    return await Promise.all([import('@opentelemetry/exporter-prometheus'), import('@opentelemetry/sdk-metrics')])
  } catch (err) {
    if (!isMissingModule(err)) throw err
    throw Object.assign(new MetricsPackageError(), { cause: err })
  }
}
