import { features, fitToolResult, RELATED_TASK } from '@polyvac/mcp-protocol'
import type { Call } from '../calls/call.js'
import type { McpContext } from '../context.js'
import { invalidParams, RpcError, unknownMethod } from '../protocol/rpc.js'
import { errorOf, legacyTaskOf, questionsOf, resultOf } from '../tasks/task-view.js'
import type { ToolTasks } from '../tasks/tool-tasks.js'
import type { Method } from './method.js'

/** The task methods of revision 2025-11-25. */
export const legacyTaskMethods: ReadonlyArray<[string, Method]> = [
  ['tasks/get', async (server, call) => {
    const tasks = tasksFor(server, call)
    return JSON.stringify(legacyTaskOf(await tasks.get(call, call.params.taskId), tasks.times))
  }],
  ['tasks/list', async (server, call) => {
    const tasks = tasksFor(server, call)
    const { tasks: page, nextCursor } = await tasks.list(call, call.params.cursor)
    return JSON.stringify({ tasks: page.map(task => legacyTaskOf(task, tasks.times)), nextCursor })
  }],
  ['tasks/cancel', async (server, call) => {
    const tasks = tasksFor(server, call)
    const { task, isCancelled } = await tasks.cancel(call, call.params.taskId)
    if (!isCancelled) throw invalidParams('the task has ended and cannot be cancelled')
    return JSON.stringify(legacyTaskOf(task, tasks.times))
  }],
  ['tasks/result', async (server, call) => {
    const tasks = tasksFor(server, call)
    for (;;) {
      const task = await tasks.waitUntilSettled(call, call.params.taskId)
      const _meta = { [RELATED_TASK]: { taskId: task.id } }
      switch (task.state) {
        case 'input-required':
          // the server requests of a task are sent to the caller that waits for its result
          await tasks.provideInput(call, task.id, await call.ask(questionsOf(task)))
          break
        case 'completed': {
          const result = resultOf(task)
          const whole = { ...result, _meta: { ...result._meta, ..._meta } }
          return await server.texts.completeInTurns(call.protocolVersion, fitToolResult(whole, call.protocolVersion), call.principal?.owner)
        }
        case 'canceled': throw new RpcError('internalError', 'the task was cancelled', _meta)
        default: {
          const { code, message } = errorOf(task)
          throw Object.assign(new RpcError('internalError', message, _meta), { code })
        }
      }
    }
  }]
]

/** @throws RpcError -32601 if the server or the revision does not have tasks */
function tasksFor ({ tasks }: McpContext, { protocolVersion, method }: Call): ToolTasks {
  if (tasks !== undefined && features[protocolVersion].coreTasks) return tasks
  throw unknownMethod(method)
}
