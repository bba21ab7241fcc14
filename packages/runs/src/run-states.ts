import type { RunState } from '@polyvac/core'
import type { TaskState } from '@polyvac/tasks'

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

export function runStateOf (state: TaskState): RunState { return STATES[state] }

/** The states of tasks that a state of runs stands for. */
export function taskStatesOf (states: readonly RunState[]): TaskState[] {
  return (Object.keys(STATES) as TaskState[]).filter(state => states.includes(STATES[state]))
}
