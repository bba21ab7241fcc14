import type { Answer } from '@polyvac/core'
import { vacOfSkill, type Run, type RunState } from '@polyvac/core/plugin'
import type { TaskRecord, TaskState } from '@polyvac/tasks'
import { contextOf } from '../conversation/messages.js'
import { failureError, RunCancelledError, type StoredFailure } from './errors.js'

/** The artifact with the whole Answer of a turn. */
export const ANSWER = 'answer'
/** The artifact with the failure of a run. */
export const FAILURE = 'failure'

/** What runs and tasks call the same state. */
const STATES: Readonly<Record<TaskState, RunState>> = {
  submitted: 'queued',
  working: 'running',
  'input-required': 'input_required',
  'auth-required': 'input_required',
  completed: 'completed',
  failed: 'failed',
  canceled: 'cancelled',
  rejected: 'failed'
}

/** The states of tasks that a state of runs stands for. */
export function taskStatesOf (states: readonly RunState[]): TaskState[] {
  return (Object.keys(STATES) as TaskState[]).filter(state => states.includes(STATES[state]))
}

/** A task as its callers see it. */
export function viewRun (task: TaskRecord): Run {
  const { id, skill, state, createdAt, updatedAt, seq, artifacts } = task
  const isAnswered = STATES[state] === 'completed' || STATES[state] === 'input_required'
  return {
    id,
    vac: vacOfSkill(skill) ?? skill,
    conversation: contextOf(task),
    state: STATES[state],
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
