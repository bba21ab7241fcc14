import { METRICS, type Total, type Totals } from '@polyvac/core/plugin'
import type { MetricData, MetricProducer, ResourceMetrics } from '@opentelemetry/sdk-metrics'
import { version } from '../version.js'

/** `ValueType.DOUBLE` of `@opentelemetry/api`. */
const DOUBLE = 1
const MS_PER_S = 1_000
const NS_PER_MS = 1e6

export type MetricsSdk = typeof import('@opentelemetry/sdk-metrics')

/** Gives metric readers of an SDK the sums of this process. They add their own resource. */
export function produceTotals ({ AggregationTemporality, DataPointType }: MetricsSdk, totals: Totals): MetricProducer {
  return {
    async collect () {
      const endTime = timeOf(Date.now())
      const metrics = Array.from(totals.entries(), ([name, values]): MetricData => {
        const { unit, description } = METRICS[name]
        const metric = { descriptor: { name, unit, description, valueType: DOUBLE }, aggregationTemporality: AggregationTemporality.CUMULATIVE }
        const point = <T>({ labels, since }: Total, value: T) => ({ attributes: { ...labels }, startTime: timeOf(since), endTime, value })
        return values[0]?.buckets === undefined
          ? { ...metric, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: values.map(total => point(total, total.sum)) }
          : { ...metric, dataPointType: DataPointType.HISTOGRAM, dataPoints: values.map(total => point(total, histogramOf(total))) }
      })
      const resource = { attributes: {} } as ResourceMetrics['resource']
      return { resourceMetrics: { resource, scopeMetrics: [{ scope: { name: 'polyvac', version }, metrics }] }, errors: [] }
    }
  }
}

function histogramOf ({ sum, count, min, max, buckets }: Total) {
  return { sum, count, min, max, buckets: buckets! }
}

function timeOf (ms: number): [number, number] {
  return [Math.floor(ms / MS_PER_S), ms % MS_PER_S * NS_PER_MS]
}
