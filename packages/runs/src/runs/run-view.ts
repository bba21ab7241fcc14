import type { Answer } from '@polyvac/core'
import { vacOfSkill, type Run } from '@polyvac/core/plugin'
import type { TaskRecord } from '@polyvac/tasks'
import { runStateOf } from '../run-states.js'
import { contextOf, questionText } from '../conversation/messages.js'
import { failureError, RunCancelledError, type StoredFailure } from '../errors.js'
import type { RunInput } from './run-input.js'

/** The artifact with the whole Answer of a turn. */
export const ANSWER = 'answer'
/** The artifact with the failure of a run. */
export const FAILURE = 'failure'
/** Failures of the store that pass. */
const PASSING: ReadonlySet<string> = new Set(['TASK_STORE_FULL', 'TASK_STORE_UNAVAILABLE'])

/** A task as its callers see it. */
export function viewRun (task: TaskRecord): Run {
  const { id, skill, state, createdAt, updatedAt, seq, turn, artifacts } = task
  const isAnswered = ['completed', 'input_required'].includes(runStateOf(state))
  return {
    id,
    vac: vacOfSkill(skill) ?? skill,
    conversation: contextOf(task),
    state: runStateOf(state),
    createdAt,
    updatedAt,
    seq,
    turn,
    asked: askedOf(task),
    answer: isAnswered ? artifacts.findLast(({ name }) => name === ANSWER)?.content as Answer | undefined : undefined,
    error: errorOf(task)
  }
}

/** What was asked in each turn. The replies are messages of the user. */
function askedOf ({ input, messages }: Pick<TaskRecord, 'input' | 'messages'>): Run['asked'] {
  const { question, notes } = input as RunInput
  const replies = messages.filter(({ role }) => role === 'user')
  return [{ question, notes }, ...replies.map(({ parts, metadata }) => ({ question: questionText(parts), notes: metadata?.notes }))]
}

/** Why a run ended without an answer; undefined for any other. */
export function errorOf ({ state, artifacts, error }: Pick<TaskRecord, 'state' | 'artifacts' | 'error'>): Run['error'] {
  if (state === 'canceled') return new RunCancelledError(error === null ? '' : `: ${error.message}`)
  const stored = artifacts.findLast(({ name }) => name === FAILURE)?.content as StoredFailure | undefined
  if (state !== 'failed') return undefined
  // without one the store ended it: its time was up, its processes died, or the store had no place for the failure
  const code = error?.code ?? 'INTERNAL_ERROR'
  return failureError(stored ?? { status: PASSING.has(code) ? 503 : 500, code, message: error?.message ?? 'the run failed' })
}
