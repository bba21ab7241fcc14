import type { Answer } from '@polyvac/core'
import { vacOfSkill, type Run } from '@polyvac/core/plugin'
import type { TaskRecord } from '@polyvac/tasks'
import { runStateOf } from '../run-states.js'
import { contextOf } from '../conversation/messages.js'
import { failureError, RunCancelledError, type StoredFailure } from '../errors.js'

/** The artifact with the whole Answer of a turn. */
export const ANSWER = 'answer'
/** The artifact with the failure of a run. */
export const FAILURE = 'failure'

/** A task as its callers see it. */
export function viewRun (task: TaskRecord): Run {
  const { id, skill, state, createdAt, updatedAt, seq, artifacts } = task
  const isAnswered = ['completed', 'input_required'].includes(runStateOf(state))
  return {
    id,
    vac: vacOfSkill(skill) ?? skill,
    conversation: contextOf(task),
    state: runStateOf(state),
    createdAt,
    updatedAt,
    seq,
    answer: isAnswered ? artifacts.findLast(({ name }) => name === ANSWER)?.content as Answer | undefined : undefined,
    error: errorOf(task)
  }
}

/** Why a run ended without an answer; undefined for any other. */
export function errorOf ({ state, artifacts, error }: Pick<TaskRecord, 'state' | 'artifacts' | 'error'>): Run['error'] {
  if (state === 'canceled') return new RunCancelledError(error === null ? '' : `: ${error.message}`)
  const stored = artifacts.findLast(({ name }) => name === FAILURE)?.content as StoredFailure | undefined
  if (state !== 'failed') return undefined
  // without one the store ended it: its time was up, or its processes died
  return failureError(stored ?? { status: 500, code: error?.code ?? 'INTERNAL_ERROR', message: error?.message ?? 'the run failed' })
}
