import { isTraced, telemetryNames as names, startSpan, toolLabel, traceFields, type OpenCalls, type OpenSpan } from '@polyvac/core/plugin'
import type { Json } from '../protocol/rpc.js'
import type { Call } from './call.js'
import { protocolError, rpcErrorOf } from './failures.js'

/**
 * Answers a request with the JSON that `work` resolves to, and releases its slot then. It never rejects: a failure
 * is answered with an error.
 * @param whenOver releases what the session of the call holds
 */
export async function runCall (openCalls: OpenCalls<Call>, call: Call, work: () => Promise<Json> | Json, whenOver?: () => void): Promise<void> {
  const span = spanOf(call)
  let node
  try {
    node = openCalls.add(call)
    const result = await (span === undefined ? work() : span.run(work))
    const gap = call.afterProgress()
    if (gap !== undefined) await gap
    call.finish(result)
    span?.end(call.hasToolError ? 'tool_error' : undefined)
  } catch (err) {
    const gap = call.afterProgress()
    if (gap !== undefined) await gap
    failOrAsk(call, err, span)
  } finally {
    span?.end()
    if (node !== undefined) openCalls.remove(node)
    call.place?.release()
    whenOver?.()
  }
}

/** A handler that `ask` ended has not failed. */
function failOrAsk (call: Call, err: unknown, span: OpenSpan | undefined): void {
  try {
    if (call.isWaiting && protocolError(err) === undefined) return call.finish('')
    span?.end(err)
    call.fail(rpcErrorOf(err, call))
  } catch (other) {
    span?.end(other)
    call.fail(rpcErrorOf(other, call))
  }
}

/** The server span of a request of MCP, a child of the span that `_meta` names. */
function spanOf ({ method, params, protocolVersion }: Call): OpenSpan | undefined {
  const { name, _meta } = params
  const remote = traceFields(_meta)
  if (remote === undefined && !isTraced()) return undefined
  const isTool = method === 'tools/call' && typeof name === 'string'
  const tool = isTool ? toolLabel(name) : undefined
  return startSpan(tool === undefined ? method : `${method} ${tool}`, {
    kind: 'SERVER',
    remote,
    attributes: {
      [names.MCP_METHOD]: method,
      [names.OPERATION]: method === 'tools/call' ? names.EXECUTE_TOOL : undefined,
      [names.MCP_PROTOCOL_VERSION]: protocolVersion,
      [names.TOOL_NAME]: tool
    }
  })
}
