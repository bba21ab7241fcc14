/** The fields of W3C Trace Context, as HTTP headers, A2A metadata and `_meta` of MCP have them. */
export interface TraceParent {
  readonly traceparent: string
  readonly tracestate?: string
}

/** Longest `tracestate`, which the specification requires to be passed on; a longer one is dropped. */
export const MAX_TRACE_STATE_CHARS = 512
/** A caller's state may become a header: line ends and other characters would make the request fail. */
const TRACE_STATE = /^[\t\x20-\x7e]*$/
export const TRACE_PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[\x20-\x7e]{0,200})?$/

/** The fields of a caller if they are well formed: nothing that is invalid is kept. */
export function fieldsOf (fields: unknown): TraceParent | undefined {
  const { traceparent, tracestate } = (fields ?? {}) as { traceparent?: unknown, tracestate?: unknown }
  if (typeof traceparent !== 'string' || !TRACE_PARENT.test(traceparent)) return undefined
  return typeof tracestate === 'string' && tracestate.length <= MAX_TRACE_STATE_CHARS && TRACE_STATE.test(tracestate) ? { traceparent, tracestate } : { traceparent }
}

/** Whether the trace is kept, as the flags of well-formed fields have it. */
export function isSampled ({ traceparent }: TraceParent): boolean {
  return (Number.parseInt(traceparent.slice(53, 55), 16) & 1) === 1
}
