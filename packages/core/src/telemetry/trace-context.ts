import type { Context } from '@opentelemetry/api'
import type { OpenTelemetry } from './open-telemetry.js'
import { MAX_TRACE_STATE_CHARS, TRACE_PARENT, type TraceParent } from './trace-parent.js'

// Apart from `trace-parent.ts`: declarations for applications must not need the types of an optional peer.

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
