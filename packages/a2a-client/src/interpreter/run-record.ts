import type { InterpreterExtra } from '@polyvac/core'
import { isRecord, runMemoryOf } from '@polyvac/core/plugin'
import type { RemoteAnswer } from '../client/remote-answer.js'
import { isInterrupted } from '../protocol/types.js'
import type { RemoteTaskRecord, RemoteTasks } from './remote-tasks.js'

/** Keeps what an agent has of one run. */
export interface RunRecord {
  get (): Promise<RemoteTaskRecord | undefined>
  set (record: RemoteTaskRecord): Promise<void>
}

/**
 * Where the remote task of a run is kept: in the log of the run, or in `tasks` by the key `run`. Undefined: nowhere.
 */
export function runRecord (name: string, extra: InterpreterExtra, tasks: RemoteTasks, run: string | undefined): RunRecord | undefined {
  const memory = runMemoryOf(extra)
  if (memory === undefined) return run === undefined ? undefined : { get: async () => await tasks.get(run), set: async record => { await tasks.set(run, record) } }
  const all = (): Record<string, unknown> => isRecord(memory.value) ? memory.value : {}
  return {
    get: async () => all()[name] as RemoteTaskRecord | undefined,
    set: async record => { await memory.set({ ...all(), [name]: record }) }
  }
}

/** Whether what a later attempt needs is kept already: the task, for this question, and whether it waits. */
export function isKept ({ taskId, state }: RemoteAnswer, kept: RemoteTaskRecord | undefined, digest: string): boolean {
  return kept?.taskId === taskId && kept?.digest === digest && isInterrupted(state) === isInterrupted(kept?.state ?? 'unknown')
}
