import { useMeter, within } from '@polyvac/core/plugin'
import { TelemetrySdkMissingError } from './errors.js'
import { version } from './version.js'

/** Longest time in ms for the last spans and metrics: the collector may not answer, and closing has a second in all. */
const FLUSH_MS = 500

const SDK = '@opentelemetry/sdk-node'

interface Sdk {
  start (): void
  shutdown (): Promise<void>
}

/** Whether the standard variables of OpenTelemetry ask for spans or metrics. */
export function isTelemetryWanted (env: NodeJS.ProcessEnv): boolean {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return false
  return Object.entries(env).some(([name, value = '']) => value.trim() !== '' &&
    (name.startsWith('OTEL_EXPORTER_OTLP_') || ((name === 'OTEL_TRACES_EXPORTER' || name === 'OTEL_METRICS_EXPORTER') && value.trim() !== 'none')))
}

/**
 * Starts the SDK of OpenTelemetry where the variables of the environment ask for it, before anything makes a span.
 * Returns the function that sends what is left, within half a second, and ends the SDK.
 * @throws TELEMETRY_SDK_MISSING
 */
export async function startTelemetry (): Promise<() => Promise<void>> {
  if (!isTelemetryWanted(process.env)) return async () => {}
  process.env['OTEL_SERVICE_NAME'] ??= 'polyvac'
  let NodeSDK: new () => Sdk
  try {
    ({ NodeSDK } = await import(SDK) as { NodeSDK: new () => Sdk })
  } catch (err) {
    throw Object.assign(new TelemetrySdkMissingError(), { cause: err })
  }
  const sdk = new NodeSDK()
  sdk.start()
  const { metrics } = await import('@opentelemetry/api')
  const stopMeter = useMeter(metrics.getMeter('polyvac', version))
  return async () => {
    stopMeter()
    await within(sdk.shutdown().catch(() => { /* the collector is not reachable: what is left is lost */ }), FLUSH_MS)
  }
}
