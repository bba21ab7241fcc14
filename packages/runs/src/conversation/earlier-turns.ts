import type { ChatTurn } from '@polyvac/core'
import { findSkill, type ExposedVacs } from '@polyvac/core/plugin'
import { waitingStates, type TaskMessage, type TaskRecord, type TaskStore } from '@polyvac/tasks'
import { ARTIFACTS } from '../outcome/artifact-names.js'
import { questionText } from './messages.js'
import { MAX_HISTORY_CHARS, MAX_HISTORY_TURNS } from './stored-conversations.js'

/** The turns of the conversation before `task`: those of the VAC's answered tasks in the same context. */
export async function earlierTurns (tasks: TaskStore, vacs: ExposedVacs, task: Pick<TaskRecord, 'id' | 'owner' | 'contextId' | 'createdAt' | 'skill'>): Promise<ChatTurn[]> {
  const { id, owner, contextId, createdAt, skill } = task
  if (contextId === undefined) return []
  const vac = findSkill(vacs, skill)?.vac.name
  const query = { contextId, states: ['completed' as const, ...waitingStates], limit: MAX_HISTORY_TURNS }
  const turns: ChatTurn[] = []
  let chars = 0
  for (const earlier of (await tasks.list(owner, query)).tasks) {
    if (earlier.id === id || earlier.createdAt > createdAt || findSkill(vacs, earlier.skill)?.vac.name !== vac) continue
    const more = turnsOf(earlier)
    chars += more.reduce((sum, { content }) => sum + content.length, 0)
    if (chars > MAX_HISTORY_CHARS) break
    turns.unshift(...more)
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
  const isShown = last?.role === 'assistant' && answer?.startsWith(last.content)
  if (answer !== undefined && isShown !== true) turns.push({ role: 'assistant', content: answer })
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
