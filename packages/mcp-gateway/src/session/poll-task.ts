import { unlessAborted } from '@polyvac/core/plugin'
import { CODES, TASKS_CAPABILITY, TASKS_EXTENSION } from '@polyvac/mcp-protocol'
import { RpcError } from '../protocol/json-rpc.js'
import { setTimeout as delay } from 'node:timers/promises'
import type { CallOptions, ToolResult } from '../protocol/call-options.js'
import { CallTimeoutError } from '../errors.js'
import { answersTo } from './server-requests.js'

/** Bounds of the poll interval in ms, whatever the server requests. */
const MIN_POLL_MS = 100
const MAX_POLL_MS = 1_000

export interface AwaitedTaskParts {
  readonly server: string
  /** Longest time in ms. */
  readonly maxMs: number
  readonly params: { readonly name: string, readonly arguments: unknown }
  readonly options: CallOptions
  readonly request: (method: string, params: object, options?: CallOptions, tool?: string) => Promise<ToolResult>
  readonly onTrouble: (err: Error) => void
}

/**
 * Calls a tool as a task of 2025-11-25, for a caller without tasks. The server sends its requests to the client during
 * `tasks/result`.
 */
export async function awaitTask (parts: AwaitedTaskParts): Promise<ToolResult> {
  const { request, params, options } = parts
  const begun = await request('tools/call', { ...params, task: {} }, options, params.name)
  const { taskId } = (begun.task ?? {}) as ToolResult
  // the tool is declared as a task, and the server answered with a result
  if (typeof taskId !== 'string') return begun
  return await untilEnded(parts, taskId, async taskId => {
    const { status, pollInterval } = await request('tasks/get', { taskId }, { signal: options.signal })
    return status === 'working' ? pollInterval : await request('tasks/result', { taskId }, options, params.name)
  })
}

/** The same with the extension of 2026-07-28: input responses are sent with `tasks/update`. */
export async function awaitModernTask (parts: AwaitedTaskParts): Promise<ToolResult> {
  const { request, params, options } = parts
  const { signal, owner, ask, onProgress, onMessage, logLevel, capabilities } = options
  const begun = await request('tools/call', params, { signal, owner, ask, onProgress, onMessage, logLevel, capabilities: { ...capabilities, ...TASKS_CAPABILITY } }, params.name)
  if (begun.resultType !== 'task') return begun
  // a request stays listed until the server has read its response; a changed request under the same key is a new one
  let answered = new Map<string, string>()
  return await untilEnded(parts, begun.taskId, async taskId => {
    const { status, result, error, inputRequests, pollIntervalMs } = await request('tasks/get', { taskId }, { signal, capabilities: TASKS_CAPABILITY })
    if (status === 'completed') {
      if (typeof result !== 'object' || result === null) throw new RpcError(CODES.internalError, 'it answered with a completed task that has no result')
      return result
    }
    if (status === 'failed' || status === 'cancelled') {
      const { code = CODES.internalError, message = `the task was ${status}`, data } = (error ?? {}) as { code?: number, message?: string, data?: unknown }
      throw new RpcError(code, message, data)
    }
    const asked = Object.entries((inputRequests ?? {}) as object)
    const open = asked.filter(([key, question]) => answered.get(key) !== JSON.stringify(question))
    if (open.length > 0) {
      await request('tasks/update', { taskId, ...await answersTo({ inputRequests: Object.fromEntries(open) }, options) }, { signal, capabilities: TASKS_CAPABILITY })
    }
    answered = new Map(asked.map(([key, question]) => [key, JSON.stringify(question)]))
    return pollIntervalMs
  })
}

/** Whether a server refuses a call because the client did not declare the tasks extension. */
export function wantsTask (err: unknown): boolean {
  const { code, data } = (err ?? {}) as { code?: unknown, data?: { requiredCapabilities?: { extensions?: object } } }
  return code === CODES.missingCapability && data?.requiredCapabilities?.extensions !== undefined && TASKS_EXTENSION in data.requiredCapabilities.extensions
}

/**
 * Polls until `look` returns a result; a number is the delay before the next look. Cancels the task when the call
 * fails.
 */
async function untilEnded ({ server, maxMs, options, request, onTrouble }: AwaitedTaskParts, taskId: unknown, look: (taskId: unknown) => Promise<unknown>): Promise<ToolResult> {
  const begun = performance.now()
  try {
    for (;;) {
      const seen = await look(taskId)
      if (typeof seen === 'object' && seen !== null) return seen as ToolResult
      if (performance.now() - begun > maxMs) throw new CallTimeoutError(server, maxMs / 1000)
      const pause = delay(typeof seen === 'number' && seen >= 0 ? Math.min(Math.max(seen, MIN_POLL_MS), MAX_POLL_MS) : MAX_POLL_MS)
      await (options.signal === undefined ? pause : unlessAborted(pause, options.signal))
    }
  } catch (err) {
    request('tasks/cancel', { taskId }, { capabilities: TASKS_CAPABILITY }).catch(onTrouble)
    throw err
  }
}
