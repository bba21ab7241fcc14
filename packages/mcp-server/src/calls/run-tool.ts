import { isRecord } from '@polyvac/core/plugin'
import type { Entry } from '../lists/catalog.js'
import { spokenError, wordsFor, type Failing } from './failures.js'
import type { Params } from '../protocol/rpc.js'
import type { CallContext, ToolDefinition, ToolResult } from '../tool-source.js'

/** A call as a tool sees it, and as its failures are told. */
export type RunningCall = CallContext & Failing & {
  /** Whether the caller has to answer something first. */
  readonly waits: boolean
}

/** Calls the tool; a failure inside it becomes a result. @throws RpcError where the tool speaks the protocol's own errors */
export function runTool ({ definition, own, source }: Entry<ToolDefinition>, args: Params, call: RunningCall): Promise<ToolResult> {
  const name = own ?? definition.name
  return orFailed(call, name, async () => {
    const result: unknown = await source.call(name, args, call)
    if (!isRecord(result)) throw new TypeError(`the tool ${name} gave no result object`)
    return result as unknown as ToolResult
  })
}

/** The arguments as the source makes them ready, or the failure of that as a result. */
export async function prepareTool ({ definition, own, source }: Entry<ToolDefinition>, args: Params, call: RunningCall): Promise<{ readonly args: Params } | { readonly failed: ToolResult }> {
  if (source.prepare === undefined) return { args }
  const name = own ?? definition.name
  const prepared = await orFailed(call, name, async () => ({ args: await source.prepare?.(name, args, call) ?? args }))
  return 'args' in prepared ? prepared : { failed: prepared }
}

export function failedResult (text: string): ToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

async function orFailed<T> (call: RunningCall, name: string, work: () => Promise<T>): Promise<T | ToolResult> {
  try {
    return await work()
  } catch (err) {
    if (spokenError(err) !== undefined || call.waits) throw err
    return failedResult(wordsFor(err, call, name))
  }
}
