/** A metric: OpenTelemetry and Prometheus get the same. Labels have few values: never a path, an owner or an id. */
interface Metric {
  readonly kind: 'counter' | 'histogram' | 'gauge' | 'total'
  readonly unit: string
  readonly description: string
}

/**
 * Every metric by its name. `total` is a count that the process keeps anyway and that is read at each collection.
 * Names without `polyvac.` are those of the semantic conventions.
 */
export const METRICS = {
  'http.server.request.duration': { kind: 'histogram', unit: 's', description: 'Time of an HTTP request, by route pattern, method, status class and protocol' },
  'gen_ai.client.operation.duration': { kind: 'histogram', unit: 's', description: 'Time of a call of a VAC or an external MCP tool, by protocol and outcome' },
  'gen_ai.client.token.usage': { kind: 'histogram', unit: '{token}', description: 'Tokens of a call, where its interpreter reports them, by type' },
  'polyvac.call.time_to_first_chunk': { kind: 'histogram', unit: 's', description: 'Time from a call to its first text' },
  'polyvac.call.chunks': { kind: 'counter', unit: '{chunk}', description: 'Pieces of text that calls streamed' },
  'polyvac.calls.running': { kind: 'gauge', unit: '{call}', description: 'Answers in progress, over all protocols' },
  'polyvac.streams.open': { kind: 'gauge', unit: '{stream}', description: 'Responses in progress that are sent as streams' },
  'polyvac.tasks': { kind: 'gauge', unit: '{task}', description: 'Tasks that have not ended, by state; at most 10,000 are counted' },
  'polyvac.tasks.queue.age': { kind: 'gauge', unit: 's', description: 'Age of the oldest task that waits for an executor' },
  'polyvac.push.deliveries': { kind: 'counter', unit: '{delivery}', description: 'Requests to webhooks, by outcome' },
  'polyvac.mcp.upstream.state': { kind: 'gauge', unit: '{server}', description: '1 for the state that an external MCP server is in and 0 for the others, by server' },
  'polyvac.mcp.upstream.restarts': { kind: 'total', unit: '{restart}', description: 'Restarts of an external MCP server' },
  'nodejs.eventloop.delay.p50': { kind: 'gauge', unit: 's', description: 'Median delay of the event loop since the last collection' },
  'nodejs.eventloop.delay.p99': { kind: 'gauge', unit: 's', description: '99th percentile of the delay of the event loop since the last collection' },
  'nodejs.eventloop.delay.max': { kind: 'gauge', unit: 's', description: 'Longest delay of the event loop since the last collection' },
  'polyvac.memory.budget.used': { kind: 'gauge', unit: 'By', description: 'Bytes that requests, responses and sessions hold' },
  'polyvac.memory.budget.limit': { kind: 'gauge', unit: 'By', description: 'Bytes that they may hold' },
  'polyvac.memory.budget.refused': { kind: 'total', unit: '{refusal}', description: 'Refusals of the memory budget' }
} as const satisfies Readonly<Record<string, Metric>>

export type MetricName = keyof typeof METRICS
export type Labels = Readonly<Record<string, string>>

/** Reports the values of a metric at a collection. */
export type Observe = (name: MetricName, value: number, labels?: Labels) => void

interface Observable { addCallback (callback: (result: { observe (value: number, labels?: Labels): void }) => Promise<void> | void): void }
interface InstrumentOptions { readonly unit: string, readonly description: string, readonly advice?: { readonly explicitBucketBoundaries: number[] } }

/** The part of a Meter of `@opentelemetry/api` that is used. Core does not depend on that package. */
export interface Meter {
  createCounter (name: string, options: InstrumentOptions): { add (value: number, labels?: Labels): void }
  createHistogram (name: string, options: InstrumentOptions): { record (value: number, labels?: Labels): void }
  createObservableGauge (name: string, options: InstrumentOptions): Observable
  createObservableCounter (name: string, options: InstrumentOptions): Observable
}
