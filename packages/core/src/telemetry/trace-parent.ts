import type { Context } from '@opentelemetry/api'
import type { OpenTelemetry } from './open-telemetry.js'

/** The fields of W3C Trace Context, as HTTP headers, A2A metadata and `_meta` of MCP have them. */
export interface TraceParent {
  readonly traceparent: string
  readonly tracestate?: string
}

/** Longest `tracestate`, which the specification requires to be passed on; a longer one is dropped. */
const MAX_TRACE_STATE_CHARS = 512
const TRACE_PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[\x20-\x7e]{0,200})?$/

/** The fields of a caller if they are well formed: nothing that is invalid is kept. */
export function fieldsOf (fields: unknown): TraceParent | undefined {
  const { traceparent, tracestate } = (fields ?? {}) as { traceparent?: unknown, tracestate?: unknown }
  if (typeof traceparent !== 'string' || !TRACE_PARENT.test(traceparent)) return undefined
  return typeof tracestate === 'string' && tracestate.length <= MAX_TRACE_STATE_CHARS ? { traceparent, tracestate } : { traceparent }
}

/** The context of the caller, without its baggage: undefined where the fields are absent or malformed. */
export function readTraceParent (api: OpenTelemetry, fields: unknown): Context | undefined {
  const { traceparent, tracestate } = (fields ?? {}) as { traceparent?: unknown, tracestate?: unknown }
  const [, version, traceId, spanId, flags, rest] = typeof traceparent === 'string' ? TRACE_PARENT.exec(traceparent) ?? [] : []
  if (traceId === undefined || spanId === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined
  const state = typeof tracestate === 'string' && tracestate.length <= MAX_TRACE_STATE_CHARS ? api.createTraceState(tracestate) : undefined
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags!, 16) & 1, isRemote: true, ...state !== undefined && { traceState: state } }
  return api.isSpanContextValid(parent) ? api.trace.setSpanContext(api.ROOT_CONTEXT, parent) : undefined
}

/** The fields to send for a context; undefined where it has no span. */
export function writeTraceParent (api: OpenTelemetry, context: Context): TraceParent | undefined {
  const span = api.trace.getSpanContext(context)
  if (span === undefined || !api.isSpanContextValid(span)) return undefined
  const { traceId, spanId, traceFlags, traceState } = span
  const traceparent = `00-${traceId}-${spanId}-0${traceFlags & 1}`
  const tracestate = traceState?.serialize() ?? ''
  return tracestate === '' ? { traceparent } : { traceparent, tracestate }
}
