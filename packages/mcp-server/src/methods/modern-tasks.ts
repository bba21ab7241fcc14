import type { Call } from '../call.js'
import { TASKS_EXTENSION } from '../envelope.js'
import { isRecord, RpcError } from '../rpc.js'
import type { Server } from '../server.js'
import { detailedTaskOf } from '../tasks/task-view.js'
import type { ToolTasks } from '../tasks/tool-tasks.js'
import type { Method } from './shared.js'

/** The methods of the extension for tasks. */
export const modernTaskMethods: ReadonlyArray<[string, Method]> = [
  ['tasks/get', async (server, call) => {
    const tasks = tasksFor(server, call)
    return server.texts.complete(call.protocolVersion, detailedTaskOf(await tasks.get(call, call.params.taskId), tasks.times, call.protocolVersion))
  }],
  ['tasks/update', async (server, call) => {
    const { taskId, inputResponses } = call.params
    const tasks = tasksFor(server, call)
    if (!isRecord(inputResponses)) throw new RpcError('invalidParams', '`inputResponses` must be an object')
    await tasks.answer(call, taskId, inputResponses)
    return server.texts.complete(call.protocolVersion, {})
  }],
  ['tasks/cancel', async (server, call) => {
    await tasksFor(server, call).cancel(call, call.params.taskId)
    return server.texts.complete(call.protocolVersion, {})
  }]
]

/** @throws RpcError -32601 where there are no tasks, -32021 where the caller does not know them */
export function tasksFor ({ tasks }: Server, call: Call): ToolTasks {
  if (tasks === undefined) throw new RpcError('methodNotFound', 'this server has no tasks', undefined, 404)
  if (!declaresTasks(call)) throw missingTasks()
  return tasks
}

export function declaresTasks ({ capabilities: { extensions } }: Call): boolean {
  return isRecord(extensions) && isRecord(extensions[TASKS_EXTENSION])
}

export function missingTasks (): RpcError {
  return new RpcError('missingCapability', 'the client must declare the extension for tasks', { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } }, 400)
}
