import { TaskFold, type FoldSnapshot } from './fold-task.js'
import type { TaskHead, TaskState } from '../contract/task.js'

/** The columns of a task in every store. Times are milliseconds since 1970. */
export interface StoredTask {
  readonly key: number
  readonly id: string
  readonly owner: string
  readonly context: string | null
  readonly skill: string
  readonly hash: string | null
  readonly state: TaskState
  readonly turn: number
  readonly attempt: number
  readonly losses: number
  readonly seq: number
  readonly status_at: number
  readonly bytes: number
  readonly pushes: number
}

/** JSON texts of a task; without a snapshot, its record is built from all events. */
export interface StoredTexts { readonly input: string, readonly metadata: string, readonly snapshot: string | null }

/** The fold of a task at its last snapshot; the caller applies the events after it. */
export function foldAtSnapshot ({ id, owner, skill, context }: StoredTask, { input, metadata, snapshot }: StoredTexts): TaskFold {
  const origin = { id, owner, skill, input: JSON.parse(input), contextId: context ?? undefined, metadata: JSON.parse(metadata) }
  return new TaskFold(origin, snapshot === null ? undefined : JSON.parse(snapshot) as FoldSnapshot)
}

/** A row with the metadata of its task as JSON. */
export interface HeadRow extends StoredTask { readonly metadata: string }

export function headOf (row: HeadRow | undefined): TaskHead | null {
  if (row === undefined) return null
  const { id, owner, skill, context, state, seq, attempt, turn, metadata } = row
  return { id, owner, skill, contextId: context ?? undefined, metadata: JSON.parse(metadata), state, seq, attempt, turn }
}
