import type { Principal } from '@polyvac/core'
import { isRecord } from '@polyvac/core/plugin'
import { CODES } from '@polyvac/mcp-protocol'
import type { ToolResult } from '../protocol/call-options.js'
import { hash } from '../protocol/fingerprint.js'
import { RpcError, type Id } from '../protocol/json-rpc.js'
import type { OpenWork } from './open-work.js'
import { hasTaskEnded } from './poll-task.js'

/**
 * Tasks of a server that no call of this gateway awaits: those that callers poll, and those whose callers have left.
 * Each is work of its owner until the server reports its end.
 */
export class TaskLedger {
  readonly #work: OpenWork
  readonly #sendCancel: (taskId: string, principal: Principal | undefined) => Promise<unknown>
  readonly #onTrouble: (err: Error) => void

  constructor (work: OpenWork, sendCancel: (taskId: string, principal: Principal | undefined) => Promise<unknown>, onTrouble: (err: Error) => void) {
    this.#work = work
    this.#sendCancel = sendCancel
    this.#onTrouble = onTrouble
  }

  /** A caller has this result. */
  answered ({ resultType, taskId }: ToolResult, principal: Principal | undefined): void {
    if (resultType === 'task') this.#work.leave(keyOf(principal?.owner, taskId), principal?.owner)
  }

  /** Waits for the response to `tasks/get` or `tasks/cancel`, which may report the end of the task. */
  async look (taskId: unknown, principal: Principal | undefined, response: Promise<ToolResult>): Promise<ToolResult> {
    const key = keyOf(principal?.owner, taskId)
    try {
      const result = await response
      if (hasTaskEnded(result.status)) this.#work.settle(key)
      return result
    } catch (err) {
      // it does not exist any more, or has ended
      if (err instanceof RpcError && err.code === CODES.invalidParams) this.#work.settle(key)
      throw err
    }
  }

  /** Cancels the task of a caller who has left. */
  cancel (taskId: string, principal: Principal | undefined): void {
    this.#work.leave(keyOf(principal?.owner, taskId), principal?.owner)
    this.#sendCancel(taskId, principal).catch(this.#onTrouble)
  }

  /** The late response to a request whose caller has left: its work has ended, unless the server began a task. */
  settled (id: Id, result: unknown): void {
    const left = this.#work.settle(id)
    if (left === undefined || !isRecord(result)) return
    const { taskId } = isRecord(result.task) ? result.task : result.resultType === 'task' ? result : {}
    if (typeof taskId === 'string') this.cancel(taskId, left.owner === undefined ? undefined : { owner: left.owner })
  }
}

/** Two owners may have a task with the same id; its length is the server's choice. */
function keyOf (owner: string | undefined, taskId: unknown): string {
  return hash([owner ?? null, taskId])
}
