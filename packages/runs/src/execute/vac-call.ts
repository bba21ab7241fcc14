import type { StepView } from '@polyvac/core'
import { questionOf, streamSettings, withRunMemory, withRunTurn, type ExposedVacs, type PlacedCall, type QueryInput, type StreamInput } from '@polyvac/core/plugin'
import type { TaskMessage, TaskRecord, TaskStore } from '@polyvac/tasks'
import { earlierTurns, toTurn } from '../conversation/earlier-turns.js'
import { contextOf, dataOf, filesOf } from '../conversation/messages.js'
import type { Run } from './run.js'
import { taskMemory } from './task-memory.js'

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
  const { task, principal, context: { stop, attempt }, log, protocol, turn } = run
  const { question, history: sent, extra } = questionOf(task.input as QueryInput & StreamInput)
  const { timeout } = streamSettings(task.input)
  const message = task.messages.findLast(({ role }) => role === 'user')
  const turns = task.turn === 0 ? [] : task.messages.map(toTurn)
  const reply = turns.pop()
  // the turns that the caller has sent begin the conversation
  const stored = sent.length > 0 ? undefined : await turn.history()
  const inContext = stored === undefined && task.metadata.inContext === true ? await earlierTurns(tasks, vacs, task) : []
  return {
    question: reply?.content ?? question,
    // the turns of this task are in the stored ones, too
    history: stored?.turns ?? [...sent, ...inContext, ...turns],
    conversation: contextOf(task),
    extra: Object.assign(withRunTurn(withRunMemory(extra, taskMemory(task, run.context)), task), { taskId: task.id, attempt },
      message?.id === undefined ? undefined : messageExtra(task, message)),
    signal: stop,
    steps: shownSteps(task) ?? turn.steps,
    timeoutMs: timeout === undefined ? timeoutMs : timeout * 1000,
    log,
    principal,
    protocol
  }
}

/** What the readers of the task see of its steps; undefined: none. */
export function shownSteps ({ metadata: { steps } }: TaskRecord): StepView | undefined { return (steps ?? undefined) as StepView | undefined }

/** The message, and its files and data if it has some. */
function messageExtra (task: TaskRecord, { id, parts, metadata = {} }: TaskMessage): Record<string, unknown> {
  const files = filesOf(parts)
  const data = dataOf(parts)
  return Object.assign({ message: { id, metadata }, contextId: contextOf(task) },
    files.length === 0 ? undefined : { files },
    data.length === 0 ? undefined : { data })
}
