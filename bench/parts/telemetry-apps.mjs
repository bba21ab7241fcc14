// The servers of the scenario `telemetry`: each process decides about OpenTelemetry before it loads its app.
import { register } from 'node:module'

/** As in an application that has not installed the package. */
const REFUSE = `export async function resolve (name, context, next) {
  if (name !== '@opentelemetry/api') return await next(name, context)
  throw Object.assign(new Error("Cannot find package '@opentelemetry/api'"), { code: 'ERR_MODULE_NOT_FOUND' })
}`
const PASS = 'export async function resolve (name, context, next) { return await next(name, context) }'
const SAMPLED = '0.01'
const discarding = { export (_items, done) { done({ code: 0 }) }, async forceFlush () {}, async shutdown () {} }

export function refuseOpenTelemetry () {
  useHook(REFUSE)
}

/** All sides have a hook: one costs a direct call about 8 %, long after all modules are loaded. */
export function keepOpenTelemetry () {
  useHook(PASS)
}

function useHook (code) {
  register(`data:text/javascript,${encodeURIComponent(code)}`)
}

/** Traces and metrics as the host makes them where a ratio of the traces is kept, with exporters that discard them. */
export async function startBoth () {
  keepOpenTelemetry()
  Object.assign(process.env, { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: SAMPLED })
  const sdk = await import('@opentelemetry/sdk-node')
  const { startSdk } = await import('../../apps/host/dist/telemetry/open-telemetry.js')
  await startSdk(sdk, {
    traceExporter: discarding,
    metricReaders: [new sdk.metrics.PeriodicExportingMetricReader({ exporter: discarding, exportIntervalMillis: 10_000 })],
    instrumentations: [],
    autoDetectResources: false
  })
}
