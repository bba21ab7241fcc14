import { SKILLS, TokenUsage } from '@polyvac/core/plugin'
import type { TaskStep } from '@polyvac/runs'
import { Type, type Static } from '@sinclair/typebox'
import { taskStates, type TaskEvent, type TaskRecord, type TaskState } from '@polyvac/tasks'
import type { PushPayload } from '../../push/deliver.js'
import { isoTime } from '../../protocol/task-view.js'

const Time = Type.String({ description: 'ISO 8601, UTC' })

/** States of the service description. */
const STATES = ['submitted', 'working', 'input-required', 'completed', 'failed', 'canceled'] as const
export const TaskStateName = Type.Union(STATES.map(state => Type.Literal(state)), { description: 'state of the task' })
export type TaskStateName = Static<typeof TaskStateName>

/** The states that the description does not have, and those that stand for them. */
const DESCRIBED_AS: Partial<Record<TaskState, TaskStateName>> = {
  rejected: 'failed', 'auth-required': 'input-required'
}

/** The task record (contract section 3). */
export const Task = Type.Object({
  taskId: Type.String(),
  state: TaskStateName,
  createdAt: Time,
  updatedAt: Time,
  completedAt: Type.Union([Time, Type.Null()]),
  messages: Type.Array(Type.Object({
    role: Type.Union([Type.Literal('user'), Type.Literal('agent')]),
    parts: Type.Array(Type.Object({ type: Type.Literal('text'), text: Type.String() })),
    timestamp: Time
  })),
  artifacts: Type.Array(Type.Object({
    name: Type.String(), type: Type.Literal('json'), content: Type.Unknown(), createdAt: Time
  })),
  error: Type.Union([Type.Null(), Type.Object({ code: Type.String(), message: Type.String(), timestamp: Time })]),
  progress: Type.Number({ minimum: 0, maximum: 1 }),
  metadata: Type.Object({
    skillName: Type.String(),
    isStreaming: Type.Boolean(),
    clientMetadata: Type.Record(Type.String(), Type.Unknown()),
    usage: Type.Optional(TokenUsage)
  })
}, { title: 'Task' })
export type Task = Static<typeof Task>

/**
 * One event of a stream, and the body of a push notification. `delta` is the text that is new in the last message.
 * `progressMessage` is the text that came with the progress. `retry` is the number, from 1, of an attempt that begins:
 * the text of the attempt before is void.
 */
export interface TaskUpdateFrame {
  readonly type: 'task_update'
  readonly taskId: string
  readonly data: Task & { readonly delta?: string, readonly progressMessage?: string, readonly retry?: number }
}

/** A task of the engine in the format of the service description. */
export function toTask (task: TaskRecord): Task {
  const { clientMetadata = {} } = task.metadata as { clientMetadata?: Record<string, unknown> }
  const { error } = task
  return {
    taskId: task.id,
    state: toState(task.state),
    createdAt: isoTime(task.createdAt),
    updatedAt: isoTime(task.updatedAt),
    completedAt: task.completedAt === null ? null : isoTime(task.completedAt),
    messages: task.messages.map(({ role, parts, timestamp }) =>
      ({ role, parts: textParts(parts), timestamp: isoTime(timestamp) })),
    artifacts: task.artifacts.map(({ name, type, content, parts, createdAt }) =>
      ({ name, type, content: parts === undefined ? content : { parts }, createdAt: isoTime(createdAt) })),
    error: error === null ? null : { code: error.code, message: error.message, timestamp: isoTime(error.timestamp) },
    progress: task.progress,
    metadata: Object.assign({ skillName: task.skill, isStreaming: isStreaming(task.skill), clientMetadata },
      task.usage === undefined ? undefined : { usage: task.usage as TokenUsage })
  }
}

/** Messages of the description hold only text. Files and data came in another dialect, which shows them. */
function textParts (parts: TaskRecord['messages'][number]['parts']): Task['messages'][number]['parts'] {
  return parts.flatMap(({ type, text }) => type === 'text' ? [{ type, text }] : [])
}

export function toFrame (
  task: TaskRecord, { delta, progressMessage, retry, step }: Pick<TaskEvent, 'delta' | 'progressMessage' | 'retry' | 'step'> = {}
): TaskUpdateFrame {
  const data = Object.assign(toTask(task), delta === undefined ? undefined : { delta },
    progressMessage === undefined ? undefined : { progressMessage }, retry === undefined ? undefined : { retry })
  if (step !== undefined) Object.assign(data.metadata, { steps: [step] })
  return { type: 'task_update', taskId: task.id, data }
}

/** The body of a push notification: the frame that a stream would send. */
export function toNotification ({ task, event: { delta, progressMessage, retry } }: TaskStep): PushPayload {
  return { type: 'application/json', body: JSON.stringify(toFrame(task, { delta, progressMessage, retry } as TaskEvent)) }
}

export function isStreaming (skill: string): boolean {
  return skill.startsWith(SKILLS.stream.prefix)
}

/** The engine's states behind a state of the description. */
export function fromState (state: TaskStateName): TaskState[] {
  return taskStates.filter(engineState => toState(engineState) === state)
}

function toState (state: TaskState): TaskStateName {
  return DESCRIBED_AS[state] ?? state as TaskStateName
}
