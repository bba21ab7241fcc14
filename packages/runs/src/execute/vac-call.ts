import type { StepView } from '@polyvac/core'
import { questionOf, streamSettings, type ExposedVacs, type PlacedCall, type QueryInput, type StreamInput } from '@polyvac/core/plugin'
import type { TaskMessage, TaskRecord, TaskStore } from '@polyvac/tasks'
import { earlierTurns, toTurn } from '../conversation/earlier-turns.js'
import { contextOf, dataOf, filesOf } from '../conversation/messages.js'
import type { Run } from './run.js'

export interface CallOptions {
  readonly vacs: ExposedVacs
  /** The store, for the earlier turns of a conversation. */
  readonly tasks: TaskStore
  /** Total time for an interpreter in ms, where the input does not set its own. */
  readonly timeoutMs: number
}

/**
 * The question of the task. After a request for input it is the reply of the caller, with the turns before as history.
 */
export async function vacCallOf (run: Run, { vacs, tasks, timeoutMs }: CallOptions): Promise<PlacedCall> {
  const { task, principal, context: { stop, attempt }, log, protocol } = run
  const { question, history, extra } = questionOf(task.input as QueryInput & StreamInput)
  const { timeout } = streamSettings(task.input)
  if (task.metadata.inContext === true) history.push(...await earlierTurns(tasks, vacs, task))
  const message = task.messages.findLast(({ role }) => role === 'user')
  const turns = task.turn === 0 ? [] : task.messages.map(toTurn)
  const reply = turns.pop()
  return {
    question: reply?.content ?? question,
    history: turns.length === 0 ? history : [...history, ...turns],
    extra: Object.assign(extra, { taskId: task.id, attempt },
      message?.id === undefined ? undefined : messageExtra(task, message)),
    signal: stop,
    steps: (task.metadata.steps ?? undefined) as StepView | undefined,
    timeoutMs: timeout === undefined ? timeoutMs : timeout * 1000,
    log,
    principal,
    protocol
  }
}

/** The message, and its files and data if it has some. */
function messageExtra (task: TaskRecord, { id, parts, metadata = {} }: TaskMessage): Record<string, unknown> {
  const files = filesOf(parts)
  const data = dataOf(parts)
  return Object.assign({ message: { id, metadata }, contextId: contextOf(task) },
    files.length === 0 ? undefined : { files },
    data.length === 0 ? undefined : { data })
}
