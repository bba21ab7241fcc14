import type { ChatTurn } from '@polyvac/core'
import { findSkill, type ExposedVacs } from '@polyvac/core/plugin'
import { waitingStates, type TaskMessage, type TaskRecord, type TaskStore } from '@polyvac/tasks'
import { ARTIFACTS } from '../protocol/artifact-names.js'
import { questionText } from '../protocol/message.js'

/** Most earlier tasks of a conversation that are told to the interpreter, the latest ones. */
export const MAX_EARLIER_TASKS = 50
/** Most characters of them: a long conversation loses its beginning, not its speed. */
export const MAX_EARLIER_CHARS = 256 * 1024

/** The turns of a conversation before `task`: those of the VAC's earlier tasks in the same context that were answered. */
export async function earlierTurns (tasks: TaskStore, vacs: ExposedVacs, task: TaskRecord): Promise<ChatTurn[]> {
  const { id, owner, contextId, createdAt, skill } = task
  if (contextId === undefined) return []
  const vac = findSkill(vacs, skill)?.vac.name
  const { tasks: page } = await tasks.list(owner, { contextId, states: ['completed', ...waitingStates], limit: MAX_EARLIER_TASKS })
  const turns: ChatTurn[] = []
  let chars = 0
  for (const earlier of page) {
    if (earlier.id === id || earlier.createdAt > createdAt || findSkill(vacs, earlier.skill)?.vac.name !== vac) continue
    const told = turnsOf(earlier)
    chars += told.reduce((sum, { content }) => sum + content.length, 0)
    if (chars > MAX_EARLIER_CHARS) break
    turns.unshift(...told)
  }
  return turns
}

export function toTurn ({ role, parts }: TaskMessage): ChatTurn {
  return { role: role === 'user' ? 'user' : 'assistant', content: questionText(parts) }
}

function turnsOf (task: TaskRecord): ChatTurn[] {
  const turns = task.messages.map(toTurn)
  const answer = answerOf(task)
  const last = turns.at(-1)
  if (answer !== undefined && !(last?.role === 'assistant' && answer.startsWith(last.content))) turns.push({ role: 'assistant', content: answer })
  return turns
}

function answerOf ({ artifacts }: TaskRecord): string | undefined {
  for (const { name, content } of artifacts) {
    const { answer, final_answer: final } = (content ?? {}) as Record<string, unknown>
    const text = name === ARTIFACTS.stream ? final : name === ARTIFACTS.query ? answer : undefined
    if (typeof text === 'string') return text
  }
  return undefined
}
