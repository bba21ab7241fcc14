import type { Principal } from '@polyvac/core'
import type { McpContext } from '../context.js'
import type { Request } from '../protocol/rpc.js'
import type { ToolDefinition } from '../tool-source.js'

/**
 * Whether a request may run again after the replica that ran it has ended. A tool that can run as a task may: tasks run
 * again, too.
 */
export async function mayRunAgain ({ registry, tasks }: McpContext, { method, params }: Request, principal: Principal | undefined): Promise<boolean> {
  if (params === undefined || params.task !== undefined) return false
  if (method !== 'tools/call') return true
  const definition = await definitionOf(registry, String(params.name), principal)
  const { readOnlyHint, idempotentHint } = (definition?.annotations ?? {}) as Record<string, unknown>
  const { taskSupport = 'forbidden' } = definition ?? {}
  return readOnlyHint === true || idempotentHint === true || (tasks !== undefined && taskSupport !== 'forbidden')
}

async function definitionOf (registry: McpContext['registry'], name: string, principal: Principal | undefined): Promise<ToolDefinition | undefined> {
  try {
    return (await registry.find('tools', name, principal)).definition
  } catch {
    return undefined
  }
}
