import type { Principal } from '@polyvac/core'
import type { McpContext } from '../context.js'
import type { Request } from '../protocol/rpc.js'

/**
 * Whether a request may run again after the replica that ran it has ended. A tool that can run as a task may: tasks run
 * again, too.
 */
export async function mayRunAgain ({ registry, tasks }: McpContext, { method, params }: Request, principal: Principal | undefined): Promise<boolean> {
  if (params === undefined || params.task !== undefined) return false
  if (method !== 'tools/call') return true
  const definition = (await registry.find('tools', String(params.name), principal).catch(() => undefined))?.definition
  const { readOnlyHint, idempotentHint } = (definition?.annotations ?? {}) as Record<string, unknown>
  const { taskSupport = 'forbidden' } = definition ?? {}
  return readOnlyHint === true || idempotentHint === true || (tasks !== undefined && taskSupport !== 'forbidden')
}
