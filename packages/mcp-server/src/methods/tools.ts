import { nearest } from '@polyvac/core'
import type { Call } from '../call.js'
import type { Entry } from '../catalog.js'
import { wordsFor } from '../failures.js'
import { projectResult } from '../projection.js'
import { isRecord, RpcError, type Params } from '../rpc.js'
import type { Server } from '../server.js'
import type { ToolDefinition, ToolResult } from '../tool-source.js'

/** Names in messages to callers are cut after so many characters. */
const MAX_SHOWN = 100

/** `tools/call`. */
export async function callTool (server: Server, call: Call): Promise<string> {
  const { name, arguments: args = {} } = call.params
  if (typeof name !== 'string') throw new RpcError('invalidParams', '`name` must be a string')
  if (!isRecord(args)) throw new RpcError('invalidParams', '`arguments` must be an object')
  const tools = await server.registry.catalog('tools')
  const entry = tools.get(name)
  if (entry === undefined) throw new RpcError('invalidParams', `unknown tool: ${shown(name)}${suggestion(name, tools.ids)}`)
  call.checkTool(entry)
  const problems = entry.schema.problems(args, 'arguments')
  if (problems !== '') {
    // from 2025-11-25 on a model may read what is wrong and try again
    if (call.protocolVersion < '2025-11-25') throw new RpcError('invalidParams', `the arguments do not fit the input schema of ${name}: ${problems}`)
    return server.texts.complete(call.protocolVersion, failedResult(`the arguments do not fit the input schema of ${name}: ${problems}`))
  }
  const result = await runTool(entry, args, call)
  return server.texts.complete(call.protocolVersion, projectResult(result, call.protocolVersion))
}

/** Calls the tool; a failure inside it becomes a result. @throws RpcError where the tool speaks the protocol's own errors */
export async function runTool ({ definition: { name }, source }: Entry<ToolDefinition>, args: Params, call: Call): Promise<ToolResult> {
  try {
    const result: unknown = await source.call(name, args, call)
    if (!isRecord(result)) throw new TypeError(`the tool ${name} gave no result object`)
    return result as unknown as ToolResult
  } catch (err) {
    if (err instanceof RpcError || call.waits) throw err
    return failedResult(wordsFor(err, call, name))
  }
}

function failedResult (text: string): ToolResult & Params {
  return { content: [{ type: 'text', text }], isError: true }
}

export function shown (name: string): string {
  return JSON.stringify(name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name)
}

export function suggestion (name: string, names: readonly string[]): string {
  const near = nearest(name, names)
  return near === undefined ? '' : `; did you mean ${near}?`
}
