import { isRecord } from '@polyvac/core/plugin'
import { fitToolResult, type Revision } from '@polyvac/mcp-protocol'
import type { Call } from '../calls/call.js'
import type { McpContext } from '../context.js'
import { invalidParams, type Params } from '../protocol/rpc.js'
import { detailedTaskOf } from '../tasks/task-view.js'
import { NO_TASK, type ToolTasks } from '../tasks/tool-tasks.js'
import type { TaskSource } from '../tool-source.js'
import type { Method } from './method.js'
import { checkTasks } from './task-capability.js'

/** The methods of the tasks extension. A task is in the task store, or at an upstream server of a source. */
export const modernTaskMethods: ReadonlyArray<[string, Method]> = [
  ['tasks/get', async (server, call) => {
    const taskId = taskIdOf(server, call)
    const task = await atSource(server, tasks => tasks.get(taskId, call))
    const fitted = task === undefined ? await storedTask(server, call, taskId) : fitTask(task, call.protocolVersion)
    return await server.texts.completeInTurns(call.protocolVersion, fitted, call.principal?.owner)
  }],
  ['tasks/update', async (server, call) => {
    const taskId = taskIdOf(server, call)
    const { inputResponses } = call.params
    if (!isRecord(inputResponses)) throw invalidParams('`inputResponses` must be an object')
    const isDone = await atSource(server, tasks => tasks.update(taskId, inputResponses, call))
    if (isDone !== true) await toolTasks(server).provideInput(call, taskId, inputResponses)
    return server.texts.complete(call.protocolVersion, {})
  }],
  ['tasks/cancel', async (server, call) => {
    const taskId = taskIdOf(server, call)
    const isDone = await atSource(server, tasks => tasks.cancel(taskId, call))
    if (isDone !== true) await toolTasks(server).cancel(call, taskId)
    return server.texts.complete(call.protocolVersion, {})
  }]
]

/** A function that reports each change of a task of the caller; undefined if the task does not exist. */
export async function findFollower (
  server: McpContext, call: Call, taskId: string
): Promise<((onChange: (task: Params) => void) => Promise<void>) | undefined> {
  const source = await atSource(server, async tasks => await tasks.get(taskId, call) === undefined ? undefined : tasks)
  if (source !== undefined) return async onChange => { await source.follow(taskId, task => { onChange(fitTask(task, call.protocolVersion)) }, call) }
  const { tasks } = server
  if (tasks === undefined || !await tasks.has(call, taskId)) return undefined
  return async onChange => {
    await tasks.follow(call, taskId, task => { onChange(detailedTaskOf(task, tasks.times, call.protocolVersion)) })
  }
}

/** The task of an upstream server, with the result of its tool in the shape of the revision. */
function fitTask (task: Params, revision: Revision): Params {
  const { result } = task
  return isRecord(result) ? { ...task, result: { ...result, ...fitToolResult(result, revision) } } : task
}

function taskIdOf (server: McpContext, call: Call): string {
  checkTasks(server, call)
  const { taskId } = call.params
  if (typeof taskId !== 'string') throw invalidParams('`taskId` must be a string')
  return taskId
}

/** The result of the first source that knows the task. */
async function atSource<T> (
  { registry }: McpContext, request: (tasks: TaskSource) => Promise<T>
): Promise<T | undefined> {
  for (const { tasks } of registry.sources) {
    const result = tasks === undefined ? undefined : await request(tasks)
    if (result !== undefined && result !== false) return result
  }
  return undefined
}

async function storedTask (server: McpContext, call: Call, taskId: string): Promise<Params> {
  const tasks = toolTasks(server)
  return detailedTaskOf(await tasks.get(call, taskId), tasks.times, call.protocolVersion)
}

/** @throws RpcError -32602 without a task store */
function toolTasks ({ tasks }: McpContext): ToolTasks {
  if (tasks === undefined) throw invalidParams(NO_TASK)
  return tasks
}
