import { CODES, fitToolResult, type InputRequests, type Revision } from '@polyvac/mcp-protocol'
import type { TaskRecord } from '@polyvac/tasks'
import type { ErrorObject } from '../protocol/rpc.js'
import type { ToolResult } from '../tool-source.js'
import { dialogueOf } from './task-questions.js'

/** The name of the artifact with the result of a tool. */
export const RESULT = 'result'

type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

export interface TaskTimes { readonly ttlMs: number, readonly pollMs: number }

/** The status of a task, in both eras. It is `input_required` while a question is open, also while the task runs. */
function statusOf (task: TaskRecord): TaskStatus {
  switch (task.state) {
    case 'completed': return 'completed'
    case 'canceled': return 'cancelled'
    case 'failed': case 'rejected': return 'failed'
    default: return dialogueOf(task).open.size > 0 ? 'input_required' : 'working'
  }
}

/** A task of the extension of 2026-07-28, without its questions, result or error. */
export function taskOf (task: TaskRecord, { ttlMs, pollMs }: TaskTimes): Record<string, unknown> {
  return { ...commonOf(task), ttlMs, pollIntervalMs: pollMs }
}

/** The same with its questions, result or error. */
export function detailedTaskOf (task: TaskRecord, times: TaskTimes, revision: Revision): Record<string, unknown> {
  const detailed = taskOf(task, times)
  switch (detailed.status as TaskStatus) {
    case 'input_required': return { ...detailed, inputRequests: questionsOf(task) }
    case 'completed':
      return { ...detailed, result: { resultType: 'complete', ...fitToolResult({ ...resultOf(task) }, revision) } }
    case 'failed': return { ...detailed, error: errorOf(task) }
    default: return detailed
  }
}

/** A task of revision 2025-11-25. */
export function legacyTaskOf (task: TaskRecord, { ttlMs, pollMs }: TaskTimes): Record<string, unknown> {
  return { ...commonOf(task), ttl: ttlMs, pollInterval: pollMs }
}

export function questionsOf (task: TaskRecord): InputRequests {
  const { open } = dialogueOf(task)
  return Object.fromEntries([...open].map(([id, { question: { method, params = {} } }]) => [id, { method, params }]))
}

export function resultOf ({ artifacts }: TaskRecord): ToolResult {
  return artifacts.find(({ name }) => name === RESULT)?.content as ToolResult | undefined ?? { content: [] }
}

/** The JSON-RPC error of a task that failed. The task keeps JSON-RPC codes as text. */
export function errorOf ({ error }: TaskRecord): ErrorObject {
  const code = Number(error?.code)
  const isCode = Number.isInteger(code) && code !== 0
  return { code: isCode ? code : CODES.internalError, message: error?.message ?? 'the task failed' }
}

function commonOf (task: TaskRecord): Record<string, unknown> {
  const { id, createdAt, updatedAt, error } = task
  return {
    taskId: id,
    status: statusOf(task),
    ...error !== null && { statusMessage: error.message },
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(updatedAt).toISOString()
  }
}
