// The servers of the scenario `telemetry`: each process decides about OpenTelemetry before it loads its app.
import { register } from 'node:module'

/** As in an application that has not installed the package. */
const REFUSE = `export async function resolve (name, context, next) {
  if (name !== '@opentelemetry/api') return await next(name, context)
  throw Object.assign(new Error("Cannot find package '@opentelemetry/api'"), { code: 'ERR_MODULE_NOT_FOUND' })
}`
const SAMPLED = 0.01

export function refuseOpenTelemetry () {
  register(`data:text/javascript,${encodeURIComponent(REFUSE)}`)
}

/** Traces and metrics as the host makes them, with an exporter that discards them. */
export async function startOpenTelemetry () {
  const { NodeSDK, metrics, node } = await import('@opentelemetry/sdk-node')
  const { useMeter } = await import('@polyvac/core/plugin')
  const api = await import('@opentelemetry/api')
  const discarding = { export (_items, done) { done({ code: 0 }) }, async forceFlush () {}, async shutdown () {} }
  new NodeSDK({
    sampler: new node.ParentBasedSampler({ root: new node.TraceIdRatioBasedSampler(SAMPLED) }),
    traceExporter: discarding,
    metricReaders: [new metrics.PeriodicExportingMetricReader({ exporter: discarding, exportIntervalMillis: 10_000 })],
    instrumentations: [],
    autoDetectResources: false
  }).start()
  useMeter(api.metrics.getMeter('polyvac'))
}
