import { keepSampledContexts, Totals, useMeter, within } from '@polyvac/core/plugin'
import type { MetricProducer, MetricReader } from '@opentelemetry/sdk-metrics'
import { TelemetrySdkMissingError } from '../errors.js'
import { produceTotals, type MetricsSdk } from './metric-producer.js'
import type { TracesSdk } from './sampled-ids.js'
import { version } from '../version.js'

/** Longest time in ms for the last spans and metrics: the collector may not answer, and closing has a second in all. */
const FLUSH_MS = 500

const SDK = '@opentelemetry/sdk-node'

interface Sdk {
  start (): void
  shutdown (): Promise<void>
}

/** A reader, and the private list of its option `metricProducers`. */
type Reader = Pick<MetricReader, 'selectAggregationTemporality'> & { readonly _metricProducers?: MetricProducer[] }

/**
 * Version 0.301 no longer exports the packages that it is made of. Their types are not named here: the declarations of
 * this package compile without them.
 */
interface SdkModule {
  readonly NodeSDK: new (options: object) => Sdk
  readonly metrics?: object
  readonly node?: object
}

/** Whether the standard variables of OpenTelemetry ask for spans or metrics. */
export function isTelemetryWanted (env: NodeJS.ProcessEnv): boolean {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return false
  return Object.entries(env).some(([name, value = '']) => value.trim() !== '' &&
    (name.startsWith('OTEL_EXPORTER_OTLP_') || ((name === 'OTEL_TRACES_EXPORTER' || name === 'OTEL_METRICS_EXPORTER') && value.trim() !== 'none')))
}

/** The share of the traces that the sampler keeps, read as in the SDK; undefined where it keeps all or is unknown. */
export function ratioOfTraces (env: NodeJS.ProcessEnv): number | undefined {
  const [, kind] = /^(?:parentbased_)?(traceidratio|always_off)$/.exec(env['OTEL_TRACES_SAMPLER'] ?? '') ?? []
  if (kind !== 'traceidratio') return kind === undefined ? undefined : 0
  const ratio = env['OTEL_TRACES_SAMPLER_ARG']?.trim() ?? ''
  // as in the SDK: without a number between 0 and 1 it keeps all
  return ratio !== '' && Number(ratio) >= 0 && Number(ratio) < 1 ? Number(ratio) : undefined
}

/**
 * Starts the SDK of OpenTelemetry where the variables of the environment ask for it, before anything makes a span.
 * Returns the function that sends what is left, within half a second, and ends the SDK.
 * @throws TELEMETRY_SDK_MISSING
 */
export async function startTelemetry (): Promise<() => Promise<void>> {
  if (!isTelemetryWanted(process.env)) return async () => {}
  process.env['OTEL_SERVICE_NAME'] ??= 'polyvac'
  let module: SdkModule
  try {
    module = await import(SDK) as SdkModule
  } catch (err) {
    throw Object.assign(new TelemetrySdkMissingError(), { cause: err })
  }
  return await startSdk(module)
}

/** Starts the SDK, with contexts and sums as the host keeps them. @param options of the SDK, besides the environment */
export async function startSdk (module: SdkModule, options: object = {}): Promise<() => Promise<void>> {
  const { NodeSDK, metrics } = module
  const sampled = await keepSampled(module)
  const sdk = new NodeSDK({ ...options, ...sampled })
  const totals = sendTotals(sdk, metrics as MetricsSdk | undefined)
  sdk.start()
  const api = await import('@opentelemetry/api')
  const stopMeter = useMeter(api.metrics.getMeter('polyvac', version), totals)
  // the API keeps the context manager of an SDK that was started before this one
  const stopKeeping = sampled?.contextManager.isUsedBy(api) === true ? keepSampledContexts(sampled.contextManager) : undefined
  return async () => {
    stopMeter()
    stopKeeping?.()
    await within(sdk.shutdown().catch(() => { /* the collector is not reachable: what is left is lost */ }), FLUSH_MS)
  }
}

/** The options of the SDK for contexts of only sampled traces; undefined where all are kept. */
async function keepSampled ({ node }: SdkModule) {
  const isSilent = process.env['OTEL_TRACES_EXPORTER']?.trim() === 'none'
  const ratio = ratioOfTraces(process.env)
  if (ratio === undefined && !isSilent) return undefined
  const { SampledContexts } = await import('./sampled-contexts.js')
  // an SDK without an exporter makes no spans: the sampler of another tracer provider decides
  if (ratio === undefined || isSilent || node === undefined) return { contextManager: new SampledContexts(() => true) }
  const { SampledIds } = await import('./sampled-ids.js')
  const idGenerator = new SampledIds(node as TracesSdk, ratio)
  return { idGenerator, contextManager: new SampledContexts(idGenerator.keepsNext) }
}

/**
 * Adds the sums of the process to what the readers send that the SDK made of the environment: it has no option for it.
 * Undefined where there are none, where they look different, or where they send differences instead of sums:
 * instruments of the SDK then record each value, in 3 µs instead of 0.1.
 */
function sendTotals (sdk: Sdk, metrics: MetricsSdk | undefined): Totals | undefined {
  if (metrics === undefined) return undefined
  const { _meterProviderConfig: config } = sdk as Sdk & { _meterProviderConfig?: { readers?: readonly Reader[] } }
  const { AggregationTemporality: { CUMULATIVE }, InstrumentType: { COUNTER, HISTOGRAM } } = metrics
  const totals = new Totals()
  const lists = config?.readers?.map(reader => {
    const isCumulative = [COUNTER, HISTOGRAM].every(type => reader.selectAggregationTemporality(type) === CUMULATIVE)
    return isCumulative ? reader._metricProducers : undefined
  })
  if (lists === undefined || lists.length === 0 || lists.some(list => !Array.isArray(list))) return undefined
  for (const list of lists) list!.push(produceTotals(metrics, totals))
  return totals
}
