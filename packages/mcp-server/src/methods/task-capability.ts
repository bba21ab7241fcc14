import { declaresTasks, TASKS_CAPABILITY } from '@polyvac/mcp-protocol'
import type { Call } from '../calls/call.js'
import type { McpContext } from '../context.js'
import { methodNotFound, missingCapability, type RpcError } from '../protocol/rpc.js'

/** @throws RpcError -32601 if the server does not have tasks, -32021 if the client does not declare the extension */
export function checkTasks (server: McpContext, call: Call): void {
  if (!server.hasTasks) throw methodNotFound('this server does not have tasks', 404)
  if (!declaresTasks(call.capabilities)) throw missingTasks()
}

export function missingTasks (): RpcError {
  return missingCapability('the client must declare the tasks extension', TASKS_CAPABILITY)
}
