import { METRICS, type Labels, type MetricName } from './metrics.js'

/** Bounds of the histograms of times, in seconds: those of the semantic conventions for HTTP, and longer answers. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120]
/** Those of the semantic conventions for tokens. */
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576]

/** The upper bounds of the buckets of a histogram, ascending. */
export function boundsOf (name: MetricName): number[] {
  return METRICS[name].unit === 's' ? SECONDS : TOKENS
}

/** Most sets of labels for a metric, as in the SDK of OpenTelemetry. */
const MAX_SERIES = 2_000
/** What the SDK calls the set of labels that counts the rest. */
const OVERFLOW: Labels = { 'otel.metric.overflow': 'true' }

/** All values with one set of labels since `since`, in ms of the epoch. A counter has no buckets. */
export interface Total {
  readonly labels: Labels
  readonly since: number
  sum: number
  count: number
  min: number
  max: number
  /** How many values were at most as high as each boundary and above the one before, and how many above the last. */
  readonly buckets: { readonly boundaries: number[], readonly counts: number[] } | undefined
}

/**
 * Sums of counters and histograms, by name and labels. An SDK sorts the labels of each value and makes a text of them,
 * which takes longer than the rest of telemetry. Labels that are made once are found by their identity here.
 */
export class Totals {
  // @keyed none: the keys are names of metrics
  readonly #series = new Map<MetricName, Series>()

  record (name: MetricName, value: number, labels: Labels = {}): void {
    let series = this.#series.get(name)
    if (series === undefined) this.#series.set(name, series = new Series(METRICS[name].kind === 'histogram' ? boundsOf(name) : undefined))
    series.record(value, labels)
  }

  /** The metrics that have values. */
  * entries (): Generator<readonly [MetricName, readonly Total[]]> {
    for (const [name, series] of this.#series) yield [name, series.totals()]
  }
}

class Series {
  readonly #boundaries: number[] | undefined
  // @keyed none: the keys are labels that the code made; each leads to an entry of `#byText`
  readonly #byIdentity = new WeakMap<Labels, Total>()
  // @keyed labels: a VAC, a server, a route, a status | holds: sums since the start | whose: the process | bound:
  //   MAX_SERIES for a metric; the rest is one series | share: of no owner: labels have no name that a caller chose |
  //   test: apps/host/test/metrics.test.ts: a metric has at most 2,000 sets of labels, and the rest in one
  readonly #byText = new Map<string, Total>()

  constructor (boundaries: number[] | undefined) {
    this.#boundaries = boundaries
  }

  record (value: number, labels: Labels): void {
    let total = this.#byIdentity.get(labels)
    if (total === undefined) this.#byIdentity.set(labels, total = this.#find(labels))
    total.sum += value
    total.count++
    if (total.buckets === undefined) return
    if (value < total.min) total.min = value
    if (value > total.max) total.max = value
    const { boundaries, counts } = total.buckets
    let at = 0
    while (at < boundaries.length && value > boundaries[at]!) at++
    counts[at]!++
  }

  /** Copies: a reader sends them later. */
  totals (): Total[] {
    return Array.from(this.#byText.values(), total => ({ ...total, buckets: copyOf(total.buckets) }))
  }

  #find (labels: Labels): Total {
    const text = textOf(labels)
    const known = this.#byText.get(text)
    if (known !== undefined) return known
    if (this.#byText.size >= MAX_SERIES - 1 && labels !== OVERFLOW) return this.#find(OVERFLOW)
    const boundaries = this.#boundaries
    const buckets = boundaries && { boundaries, counts: Array<number>(boundaries.length + 1).fill(0) }
    const total = { labels, since: Date.now(), sum: 0, count: 0, min: Infinity, max: -Infinity, buckets }
    this.#byText.set(text, total)
    return total
  }
}

function copyOf (buckets: Total['buckets']): Total['buckets'] {
  return buckets && { ...buckets, counts: buckets.counts.slice() }
}

function textOf (labels: Labels): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => a < b ? -1 : 1))
}
