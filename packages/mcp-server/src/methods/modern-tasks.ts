import { isRecord } from '@polyvac/core/plugin'
import type { Call } from '../calls/call.js'
import { RpcError, type Params } from '../protocol/rpc.js'
import type { McpContext } from '../context.js'
import { detailedTaskOf } from '../tasks/task-view.js'
import { NO_TASK, type ToolTasks } from '../tasks/tool-tasks.js'
import type { TaskSource } from '../tool-source.js'
import type { Method } from './method.js'
import { checkTasks } from './task-capability.js'

/** The methods of the extension for tasks. A task is one of our own, or one that a source knows at another server. */
export const modernTaskMethods: ReadonlyArray<[string, Method]> = [
  ['tasks/get', async (server, call) => {
    const taskId = idOf(server, call)
    const task = await atSource(server, async tasks => await tasks.get(taskId, call)) ?? await ownTask(server, call, taskId)
    return server.texts.complete(call.protocolVersion, task)
  }],
  ['tasks/update', async (server, call) => {
    const taskId = idOf(server, call)
    const { inputResponses } = call.params
    if (!isRecord(inputResponses)) throw new RpcError('invalidParams', '`inputResponses` must be an object')
    if (await atSource(server, async tasks => await tasks.update(taskId, inputResponses, call)) !== true) await own(server).answer(call, taskId, inputResponses)
    return server.texts.complete(call.protocolVersion, {})
  }],
  ['tasks/cancel', async (server, call) => {
    const taskId = idOf(server, call)
    if (await atSource(server, async tasks => await tasks.cancel(taskId, call)) !== true) await own(server).cancel(call, taskId)
    return server.texts.complete(call.protocolVersion, {})
  }]
]

/** Tells each change of a task of the caller; undefined where there is no such task. */
export async function follower (server: McpContext, call: Call, taskId: string): Promise<((changed: (task: Params) => void) => Promise<void>) | undefined> {
  const source = await atSource(server, async tasks => await tasks.get(taskId, call) === undefined ? undefined : tasks)
  if (source !== undefined) return async changed => { await source.follow(taskId, changed, call) }
  const { tasks } = server
  if (tasks === undefined || !await tasks.has(call, taskId)) return undefined
  return async changed => { await tasks.follow(call, taskId, task => { changed(detailedTaskOf(task, tasks.times, call.protocolVersion)) }) }
}

function idOf (server: McpContext, call: Call): string {
  checkTasks(server, call)
  const { taskId } = call.params
  if (typeof taskId !== 'string') throw new RpcError('invalidParams', '`taskId` must be a string')
  return taskId
}

/** What the first source says that knows the task. */
async function atSource<T> ({ registry }: McpContext, ask: (tasks: TaskSource) => Promise<T>): Promise<T | undefined> {
  for (const { tasks } of registry.sources) {
    const said = tasks === undefined ? undefined : await ask(tasks)
    if (said !== undefined && said !== false) return said
  }
  return undefined
}

async function ownTask (server: McpContext, call: Call, taskId: string): Promise<Params> {
  const tasks = own(server)
  return detailedTaskOf(await tasks.get(call, taskId), tasks.times, call.protocolVersion)
}

function own ({ tasks }: McpContext): ToolTasks {
  if (tasks === undefined) throw new RpcError('invalidParams', NO_TASK)
  return tasks
}
