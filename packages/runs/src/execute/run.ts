import type { Log, Principal } from '@polyvac/core'
import type { CallRecord, Skill } from '@polyvac/core/plugin'
import type { TaskContext, TaskRecord } from '@polyvac/tasks'
import type { Turn } from '../conversation/turn.js'

/** An error that callers may read. */
export interface TaskProblem { readonly code: string, readonly message: string }

/** One attempt at a task whose skill is known. */
export interface Run {
  readonly skill: Skill
  readonly task: TaskRecord
  /** The caller that created the task, with its scopes of now; undefined where callers are not authenticated. */
  readonly principal: Principal | undefined
  readonly context: TaskContext
  /** Has the ids of the task and of the request that created it. */
  readonly log: Log
  readonly record: CallRecord
  /** The turn of a conversation that it answers, if it is one. */
  readonly turn: Turn
  /** The protocol that created the task, for `extra.protocol`. */
  readonly protocol: string
}
