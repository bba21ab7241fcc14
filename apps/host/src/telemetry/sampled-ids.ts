import { ROOT_CONTEXT, SpanKind } from '@opentelemetry/api'
import type { IdGenerator, Sampler } from '@opentelemetry/sdk-trace-base'

export type TracesSdk = Pick<typeof import('@opentelemetry/sdk-trace-base'), 'RandomIdGenerator' | 'SamplingDecision' | 'TraceIdRatioBasedSampler'>

/**
 * Draws the id of a trace before its first span is made, and asks the sampler about it. The span of a trace that is
 * kept gets this id, so that the sampler of the SDK decides alike. A span that the SDK drops takes twice as long.
 */
export class SampledIds implements IdGenerator {
  readonly #ids: IdGenerator
  readonly #sampler: Sampler
  readonly #dropped: number
  #next: string | undefined

  constructor ({ RandomIdGenerator, SamplingDecision, TraceIdRatioBasedSampler }: TracesSdk, ratio: number) {
    this.#ids = new RandomIdGenerator()
    this.#sampler = new TraceIdRatioBasedSampler(ratio)
    this.#dropped = SamplingDecision.NOT_RECORD
  }

  /** Whether a trace that begins with the next span is kept. */
  readonly keepsNext = (): boolean => {
    const id = this.#ids.generateTraceId()
    const isKept = this.#sampler.shouldSample(ROOT_CONTEXT, id, '', SpanKind.INTERNAL, {}, []).decision !== this.#dropped
    this.#next = isKept ? id : undefined
    return isKept
  }

  generateTraceId (): string {
    const id = this.#next ?? this.#ids.generateTraceId()
    this.#next = undefined
    return id
  }

  generateSpanId (): string { return this.#ids.generateSpanId() }
}
