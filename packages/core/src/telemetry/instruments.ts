import { METRICS, type Labels, type Meter, type MetricName, type Observe } from './metrics.js'

/** Bounds of the histograms of times, in seconds: those of the semantic conventions for HTTP, and longer answers. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120]
/** Those of the semantic conventions for tokens. */
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576]

type Recorder = (value: number, labels?: Labels) => void

/** One set of instruments for each meter: of `/metrics`, and of a provider of the application or of OTLP. */
const meters = new Set<ReadonlyMap<MetricName, Recorder>>()
/** Reports values to one meter: a source that keeps a window of time has one for each meter. */
type Source = (observe: Observe, meter: object) => Promise<void> | void
const sources = new Set<Source>()
type Observed = Map<MetricName, Array<readonly [number, Labels | undefined]>>

/** Whether a meter is in use: checked before labels are made. */
export function isMetered (): boolean { return meters.size > 0 }

/**
 * Creates all instruments with a meter, beside those of other meters. Returns the function that ends their use.
 * @example useMeter(metrics.getMeter('polyvac', version))
 */
export function useMeter (meter: Meter): () => void {
  const recorders = new Map<MetricName, Recorder>()
  // all observable instruments of one collection share what the sources reported at it
  let observed: Promise<Observed> | undefined
  const observe = (): Promise<Observed> => {
    if (observed !== undefined) return observed
    observed = collect(meter)
    observed.finally(() => { setImmediate(() => { observed = undefined }) })
    return observed
  }
  for (const [name, { kind, unit, description }] of Object.entries(METRICS) as Array<[MetricName, typeof METRICS[MetricName]]>) {
    if (kind === 'counter') {
      const counter = meter.createCounter(name, { unit, description })
      recorders.set(name, (value, labels) => counter.add(value, labels))
    } else if (kind === 'histogram') {
      const histogram = meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: unit === 's' ? SECONDS : TOKENS } })
      recorders.set(name, (value, labels) => histogram.record(value, labels))
    } else {
      const instrument = kind === 'total' ? meter.createObservableCounter(name, { unit, description }) : meter.createObservableGauge(name, { unit, description })
      instrument.addCallback(async result => {
        for (const [value, labels] of (await observe()).get(name) ?? []) result.observe(value, labels)
      })
    }
  }
  meters.add(recorders)
  return () => { meters.delete(recorders) }
}

/** Records a value of a counter or histogram; nothing without a meter. */
export function record (name: MetricName, value: number, labels?: Labels): void {
  for (const recorders of meters) recorders.get(name)?.(value, labels)
}

/**
 * Adds a source of values that are read at each collection, never per request. Returns the function that removes it.
 */
export function observeMetrics (source: Source): () => void {
  sources.add(source)
  return () => { sources.delete(source) }
}

/** Asks every source once for all instruments of a meter. One that fails has no values. */
async function collect (meter: object): Promise<Observed> {
  const values: Observed = new Map()
  const observe: Observe = (name, value, labels) => {
    const list = values.get(name)
    if (list === undefined) values.set(name, [[value, labels]])
    else list.push([value, labels])
  }
  await Promise.allSettled([...sources].map(async source => { await source(observe, meter) }))
  return values
}
