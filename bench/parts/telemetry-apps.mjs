// The servers of the scenario `telemetry`: each process decides about OpenTelemetry before it loads its app.
import { AsyncLocalStorage } from 'node:async_hooks'
import { register } from 'node:module'

/** As in an application that has not installed the package. */
const REFUSE = `export async function resolve (name, context, next) {
  if (name !== '@opentelemetry/api') return await next(name, context)
  throw Object.assign(new Error("Cannot find package '@opentelemetry/api'"), { code: 'ERR_MODULE_NOT_FOUND' })
}`
const SAMPLED = '0.01'

export function refuseOpenTelemetry () {
  register(`data:text/javascript,${encodeURIComponent(REFUSE)}`)
}

/** What Node.js 20 does for promises once any package has entered an AsyncLocalStorage. */
export function enterStorage () {
  new AsyncLocalStorage().run({}, () => {})
}

/** Traces as the host makes them where a ratio of them is kept, with an exporter that discards them. */
export async function startTraces () {
  await startSdk({})
}

/** Metrics as the host makes them. */
export async function startMetrics () {
  await startSdk({ metricReaders: [await discardingReader()], traces: false })
}

/** Both. */
export async function startBoth () {
  await startSdk({ metricReaders: [await discardingReader()] })
}

/** Both, with contexts of all requests and values that the SDK records: as in an application that starts the SDK. */
export async function startPlain () {
  await startSdk({ metricReaders: [await discardingReader()], isHost: false })
}

const discarding = { export (_items, done) { done({ code: 0 }) }, async forceFlush () {}, async shutdown () {} }

async function discardingReader () {
  const { metrics } = await import('@opentelemetry/sdk-node')
  return new metrics.PeriodicExportingMetricReader({ exporter: discarding, exportIntervalMillis: 10_000 })
}

async function startSdk ({ metricReaders = [], traces = true, isHost = true }) {
  const sdk = await import('@opentelemetry/sdk-node')
  if (traces) Object.assign(process.env, { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: SAMPLED })
  else process.env.OTEL_TRACES_EXPORTER = 'none'
  const options = {
    ...traces && { traceExporter: discarding },
    metricReaders,
    instrumentations: [],
    autoDetectResources: false
  }
  if (isHost) return await (await import('../../apps/host/dist/open-telemetry.js')).startSdk(sdk, options)
  new sdk.NodeSDK(options).start()
  const { metrics } = await import('@opentelemetry/api')
  const { useMeter } = await import('@polyvac/core/plugin')
  useMeter(metrics.getMeter('polyvac'))
}

/** The floor: a bare route, the SDK alone, and an empty span in each request. */
export async function startBareSpans () {
  await startSdk({ isHost: false })
  const { context, SpanKind, trace } = await import('@opentelemetry/api')
  const tracer = trace.getTracer('bare')
  return request => {
    const span = tracer.startSpan('POST', { kind: SpanKind.SERVER })
    request.raw.once('close', () => { span.end() })
    return next => context.with(trace.setSpan(context.active(), span), next)
  }
}
