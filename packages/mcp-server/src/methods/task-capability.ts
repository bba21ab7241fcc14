import { declaresTasks, TASKS_CAPABILITY } from '@polyvac/mcp-protocol'
import type { Call } from '../calls/call.js'
import type { McpContext } from '../context.js'
import { RpcError } from '../protocol/rpc.js'

/** @throws RpcError -32601 where there are no tasks, -32021 where the caller does not know them */
export function checkTasks (server: McpContext, call: Call): void {
  if (!server.hasTasks) throw new RpcError('methodNotFound', 'this server has no tasks', undefined, 404)
  if (!declaresTasks(call.capabilities)) throw missingTasks()
}

export function missingTasks (): RpcError {
  return new RpcError('missingCapability', 'the client must declare the extension for tasks', { requiredCapabilities: TASKS_CAPABILITY }, 400)
}
