import { CALL_TOOL, invalidResult, isRecord } from '@polyvac/core/plugin'
import { declaresTasks, features, fitToolResult } from '@polyvac/mcp-protocol'
import type { TaskRecord } from '@polyvac/tasks'
import type { Call } from '../calls/call.js'
import { failureText } from '../calls/failures.js'
import { beginTask, failedResult, prepareArguments, runTool } from '../calls/run-tool.js'
import type { McpContext } from '../context.js'
import { Entry } from '../lists/catalog.js'
import { invalidParams, methodNotFound, RpcError, ScopeRefusal, type Json, type Params } from '../protocol/rpc.js'
import { legacyTaskOf, taskOf } from '../tasks/task-view.js'
import type { ToolDefinition, ToolResult } from '../tool-source.js'
import { missingTasks } from './task-capability.js'

/** `tools/call`. */
export function callTool (server: McpContext, call: Call): Promise<Json> {
  const { name } = call.params
  const given = call.params.arguments ?? {}
  if (typeof name !== 'string') throw invalidParams('`name` must be a string')
  if (!isRecord(given)) throw invalidParams('`arguments` must be an object')
  const entry = server.registry.find('tools', name, call.principal)
  return entry instanceof Entry ? callNamed(server, call, name, entry, given) : entry.then(entry => callNamed(server, call, name, entry, given))
}

function callNamed (server: McpContext, call: Call, name: string, entry: Entry<ToolDefinition>, given: Params): Promise<Json> {
  call.checkTool(entry)
  return (name === CALL_TOOL && entry.source === server.registry.search?.source ? callFound(server, call, entry, given) : callEntry(server, call, name, entry, given))
}

/** The call of the tool that `call_tool` names. A tool that does not exist for its caller is a result for its model. */
async function callFound (server: McpContext, call: Call, entry: Entry<ToolDefinition>, given: Params): Promise<Json> {
  const problems = entry.schema.problems(given, 'arguments')
  if (problems !== '') return resultText(server, call, failedResult(`the arguments do not fit the input schema of ${CALL_TOOL}: ${problems}`), entry.definition)
  const { name, arguments: args = {} } = given as { readonly name: string, readonly arguments?: Params }
  let found: Entry<ToolDefinition>
  try {
    found = await server.registry.find('tools', name, call.principal)
  } catch (err) {
    if (!(err instanceof RpcError) || err instanceof ScopeRefusal) throw err
    return resultText(server, call, failedResult(err.message), entry.definition)
  }
  return await callEntry(server, call, name, found, args)
}

async function callEntry (server: McpContext, call: Call, name: string, entry: Entry<ToolDefinition>, given: Params): Promise<Json> {
  const becomesTask = isTask(server, call, entry.definition)
  const { value: args, problems } = entry.schema.fit(given, 'arguments')
  if (problems !== '') {
    const text = `the arguments do not fit the input schema of ${name}: ${problems}`
    if (!features[call.protocolVersion].toolErrorsAsResults) throw invalidParams(text)
    return resultText(server, call, failedResult(text), entry.definition)
  }
  const prepared = entry.source.prepare === undefined ? { args } : await prepareArguments(entry, args, call)
  if ('failed' in prepared) return resultText(server, call, prepared.failed, entry.definition)
  if (becomesTask && server.tasks !== undefined) {
    const begun = await beginTask(entry, prepared.args, call)
    if ('failed' in begun) return resultText(server, call, begun.failed, entry.definition)
    return taskText(server, call, await server.tasks.create(call, name, prepared.args, begun.task))
  }
  const result = await runTool(entry, prepared.args, call)
  try {
    const text = serialize(server, call, result, entry.definition)
    return typeof text === 'string' ? text : await text
  } catch (err) {
    return resultText(server, call, failedResult(failureText(invalidResult(name, err), call, name)), entry.definition)
  }
}

function serialize (server: McpContext, call: Call, result: ToolResult, tool: ToolDefinition): Promise<Json> | Json {
  return result.task === undefined ? resultText(server, call, result, tool) : server.texts.other('task', result.task)
}

/** Whether the call becomes a task. @throws RpcError if caller and tool do not agree */
function isTask ({ tasks }: McpContext, call: Call, { name, taskSupport = 'forbidden' }: ToolDefinition): boolean {
  if (tasks === undefined) return false
  if (call.era === 'modern') {
    if (taskSupport === 'required' && !declaresTasks(call.capabilities)) throw missingTasks()
    return taskSupport !== 'forbidden' && declaresTasks(call.capabilities)
  }
  if (!features[call.protocolVersion].coreTasks) return false
  const isRequested = isRecord(call.params.task)
  if (isRequested && taskSupport === 'forbidden') throw methodNotFound(`the tool ${name} takes no \`task\``)
  if (!isRequested && taskSupport === 'required') throw methodNotFound(`the tool ${name} needs \`task\``)
  return isRequested
}

function resultText (
  { texts }: McpContext, call: Call, result: ToolResult, { outputSchema }: ToolDefinition
): Promise<Json> | Json {
  const { protocolVersion, principal } = call
  const fitted = fitToolResult(result as unknown as Params, protocolVersion, outputSchema)
  call.hasToolError = fitted.isError === true
  return texts.completeInTurns(protocolVersion, fitted, principal?.owner)
}

function taskText ({ tasks, texts }: McpContext, { era }: Call, task: TaskRecord): string {
  const { times } = tasks!
  if (era === 'modern') return texts.other('task', taskOf(task, times))
  return JSON.stringify({ task: legacyTaskOf(task, times) })
}
