import { unlessAborted } from '@polyvac/core/plugin'
import { CODES, TASKS_CAPABILITY, TASKS_EXTENSION } from '@polyvac/mcp-protocol'
import { RpcError } from '../protocol/json-rpc.js'
import { setTimeout as delay } from 'node:timers/promises'
import type { CallOptions, ToolResult } from '../protocol/call-options.js'
import { CallTimeoutError } from '../errors.js'
import { hash } from '../protocol/fingerprint.js'
import { answersTo } from './server-requests.js'
import type { TaskWork } from './task-work.js'

/** Bounds of the poll interval in ms, whatever the server requests. */
const MIN_POLL_MS = 100
const MAX_POLL_MS = 1_000

export interface AwaitedTaskParts {
  readonly server: string
  /** Longest time in ms. */
  readonly maxMs: number
  readonly params: { readonly name: string, readonly arguments: unknown }
  readonly work: TaskWork
  /** Sends a request of the task. */
  readonly request: (method: string, params: object, options: CallOptions) => Promise<ToolResult>
}

/**
 * Calls a tool as a task of 2025-11-25, for a caller without tasks. The server sends its requests to the client during
 * `tasks/result`.
 */
export async function awaitTask (parts: AwaitedTaskParts): Promise<ToolResult> {
  const { request, params, work } = parts
  const { options } = work
  const begun = await request('tools/call', { ...params, task: {} }, options)
  const { taskId } = (begun.task ?? {}) as ToolResult
  // the tool is declared as a task, and the server answered with a result
  if (typeof taskId !== 'string') return begun
  return await untilEnded(parts, taskId, async taskId => {
    const { status, pollInterval } = await request('tasks/get', { taskId }, { signal: options.signal, principal: options.principal })
    work.hasEnded = hasTaskEnded(status)
    return status === 'working' ? pollInterval : await request('tasks/result', { taskId }, options)
  })
}

/** The same with the extension of 2026-07-28: input responses are sent with `tasks/update`. */
export async function awaitModernTask (parts: AwaitedTaskParts): Promise<ToolResult> {
  const { request, params, work } = parts
  const { options } = work
  const { signal, principal, ask, onProgress, onMessage, logLevel, capabilities, meta } = options
  const begun = await request('tools/call', params, { signal, principal, ask, onProgress, onMessage, logLevel, meta, capabilities: { ...capabilities, ...TASKS_CAPABILITY } })
  if (begun.resultType !== 'task') return begun
  // a request stays listed until the server has read its response; a changed request under the same key is a new one
  let answered = new Map<string, string>()
  return await untilEnded(parts, begun.taskId, async taskId => {
    const { status, result, error, inputRequests, pollIntervalMs } = await request('tasks/get', { taskId }, { signal, principal, capabilities: TASKS_CAPABILITY })
    work.hasEnded = hasTaskEnded(status)
    if (status === 'completed') {
      if (typeof result !== 'object' || result === null) throw new RpcError(CODES.internalError, 'it answered with a completed task that has no result')
      return result
    }
    if (status === 'failed' || status === 'cancelled') {
      const { code = CODES.internalError, message = `the task was ${status}`, data } = (error ?? {}) as { code?: number, message?: string, data?: unknown }
      throw new RpcError(code, message, data)
    }
    const asked = Object.entries((inputRequests ?? {}) as object)
    const open = asked.filter(([key, question]) => answered.get(key) !== hash(question))
    if (open.length > 0) {
      await request('tasks/update', { taskId, ...await answersTo({ inputRequests: Object.fromEntries(open) }, options) }, { signal, principal, capabilities: TASKS_CAPABILITY })
    }
    answered = new Map(asked.map(([key, question]) => [key, hash(question)]))
    return pollIntervalMs
  })
}

/** Whether a status is one that a task keeps. */
export function hasTaskEnded (status: unknown): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

/** Whether a server refuses a call because the client did not declare the tasks extension. */
export function wantsTask (err: unknown): boolean {
  const { code, data } = (err ?? {}) as { code?: unknown, data?: { requiredCapabilities?: { extensions?: object } } }
  return code === CODES.missingCapability && data?.requiredCapabilities?.extensions !== undefined && TASKS_EXTENSION in data.requiredCapabilities.extensions
}

/** Polls until `look` returns a result; a number is the delay before the next look. */
async function untilEnded ({ server, maxMs, work }: AwaitedTaskParts, taskId: unknown, look: (taskId: unknown) => Promise<unknown>): Promise<ToolResult> {
  const begun = performance.now()
  const { signal } = work.options
  if (typeof taskId === 'string') work.taskId = taskId
  for (;;) {
    const seen = await look(taskId)
    if (typeof seen === 'object' && seen !== null) {
      work.hasEnded = true
      return seen as ToolResult
    }
    if (performance.now() - begun > maxMs) throw new CallTimeoutError(server, 'no answer', maxMs / 1000, 'total_timeout')
    const pause = delay(typeof seen === 'number' && seen >= 0 ? Math.min(Math.max(seen, MIN_POLL_MS), MAX_POLL_MS) : MAX_POLL_MS)
    await (signal === undefined ? pause : unlessAborted(pause, signal))
  }
}
