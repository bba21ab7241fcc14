import { METRICS, type Labels, type Meter, type MetricName, type Observe } from './metrics.js'
import { boundsOf, Totals } from './totals.js'

type Recorder = (name: MetricName, value: number, labels: Labels | undefined) => void

/**
 * One for each meter: of `/metrics`, and of a provider of the application or of OTLP. It records with instruments, or
 * adds to sums that metric readers collect. An array: loops over a Set are slow.
 */
let recorders: readonly Recorder[] = []
/** Reports values to one meter: a source that keeps a window of time has one for each meter. */
type Source = (observe: Observe, meter: object) => Promise<void> | void
// @keyed none: the values are functions of the code
const sources = new Set<Source>()
type Observed = Map<MetricName, Array<readonly [number, Labels | undefined]>>

/** Whether values are recorded: checked before labels are made. */
export function isMetered (): boolean { return recorders.length > 0 }

/**
 * Creates all instruments with a meter, besides those of other meters. Returns the function that ends their use.
 * @param totals counts and histograms go there, and the meter gets the rest
 * @example useMeter(metrics.getMeter('polyvac', version))
 */
export function useMeter (meter: Meter, totals?: Totals): () => void {
  const instruments = new Map<MetricName, (value: number, labels?: Labels) => void>()
  // all observable instruments of one collection share what the sources reported at it
  let observed: Promise<Observed> | undefined
  const observe = (): Promise<Observed> => {
    if (observed !== undefined) return observed
    observed = collect(meter)
    void observed.finally(() => { setImmediate(() => { observed = undefined }) })
    return observed
  }
  for (const [name, { kind, unit, description }] of Object.entries(METRICS) as Array<[MetricName, typeof METRICS[MetricName]]>) {
    if (totals !== undefined && (kind === 'counter' || kind === 'histogram')) continue
    if (kind === 'counter') {
      const counter = meter.createCounter(name, { unit, description })
      instruments.set(name, (value, labels) => counter.add(value, labels))
    } else if (kind === 'histogram') {
      const histogram = meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: boundsOf(name) } })
      instruments.set(name, (value, labels) => histogram.record(value, labels))
    } else {
      const instrument = kind === 'total' ? meter.createObservableCounter(name, { unit, description }) : meter.createObservableGauge(name, { unit, description })
      instrument.addCallback(async result => {
        for (const [value, labels] of (await observe()).get(name) ?? []) result.observe(value, labels)
      })
    }
  }
  const recorder: Recorder = totals === undefined
    ? (name, value, labels) => { instruments.get(name)?.(value, labels) }
    : (name, value, labels) => { totals.record(name, value, labels) }
  recorders = [...recorders, recorder]
  return () => { recorders = recorders.filter(other => other !== recorder) }
}

/** Records a value of a counter or histogram; nothing without a meter. */
export function record (name: MetricName, value: number, labels?: Labels): void {
  for (let i = 0; i < recorders.length; i++) recorders[i]!(name, value, labels)
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
  // @keyed none: the keys are names of metrics, and it lives for one collection
  const values: Observed = new Map()
  const observe: Observe = (name, value, labels) => {
    const list = values.get(name)
    if (list === undefined) values.set(name, [[value, labels]])
    else list.push([value, labels])
  }
  await Promise.allSettled([...sources].map(async source => { await source(observe, meter) }))
  return values
}
