import { isRecord, traceTool } from '@polyvac/core/plugin'
import type { Entry } from '../lists/catalog.js'
import type { Params } from '../protocol/rpc.js'
import type { CallContext, TaskBeginning, ToolDefinition, ToolResult } from '../tool-source.js'
import { failureText, protocolError, type FailedCall } from './failures.js'

/** A call with what the answer to its failure needs. */
export type ToolCall = CallContext & FailedCall & {
  /** Whether the caller has to respond to a server request first. */
  readonly isWaiting: boolean
}

/**
 * Calls the tool; a failure inside it becomes a result with `isError`.
 * @throws RpcError, if the tool throws one, and the reason of the abort, if the call is over
 */
export function runTool (entry: Entry<ToolDefinition>, args: Params, call: ToolCall): Promise<ToolResult> {
  return traceTool(entry.definition.name, args, () => resultOfTool(entry, args, call))
}

async function resultOfTool ({ nameAtSource: name, source }: Entry<ToolDefinition>, args: Params, call: ToolCall): Promise<ToolResult> {
  try {
    const result: unknown = await source.call(name, args, call)
    if (!isRecord(result)) throw new TypeError(`the tool ${name} did not return a result object`)
    return result as unknown as ToolResult
  } catch (err) {
    return failureOf(err, call, name)
  }
}

/** The arguments that the source prepares, or its failure as a result. */
export async function prepareArguments (
  { nameAtSource: name, source }: Entry<ToolDefinition>, args: Params, call: ToolCall
): Promise<{ readonly args: Params } | { readonly failed: ToolResult }> {
  const prepared = await resultOf(call, name, async () => ({ args: await source.prepare?.(name, args, call) ?? args }))
  return 'args' in prepared ? prepared : { failed: prepared }
}

/** What the source adds to the task of a call, or its refusal as a result. */
export async function beginTask (
  { nameAtSource: name, source }: Entry<ToolDefinition>, args: Params, call: ToolCall
): Promise<{ readonly task: TaskBeginning } | { readonly failed: ToolResult }> {
  const begun = await resultOf(call, name, async () => await source.beginTask?.(name, args, call) ?? {})
  return 'content' in begun ? { failed: begun } : { task: begun }
}

export function failedResult (text: string): ToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

async function resultOf<T> (call: ToolCall, tool: string, work: () => Promise<T>): Promise<T | ToolResult> {
  try {
    return await work()
  } catch (err) {
    return failureOf(err, call, tool)
  }
}

/** @throws RpcError, if it is one, and the reason of the abort, if the call is over */
function failureOf (err: unknown, call: ToolCall, tool: string): ToolResult {
  if (protocolError(err) !== undefined || call.isWaiting) throw err
  // no caller gets a result any more, and the tool has not failed: the span has the reason of the abort
  if (call.isOver) throw call.signal.reason
  return failedResult(failureText(err, call, tool))
}
