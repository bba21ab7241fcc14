import { contextOf, type TaskStep } from '@polyvac/runs'
import type { PushConfig, TaskPage, TaskPart, TaskRecord } from '@polyvac/tasks'
import type { ListRequest } from '../../protocol/requests.js'
import {
  isoTime, messageAnswer, viewStep, viewTask,
  type ArtifactView, type MessageView, type StatusView
} from '../../protocol/task-view.js'
import type { PushPayload } from '../../push/deliver.js'
import { ROLES, STATES } from './names.js'

// Members that are undefined are absent from the JSON. An object literal is cheaper than one that is put together.
type Json = Record<string, unknown>

/** `withArtifacts`: whether the member is there; by default it is where the task has artifacts. */
export function toTask (task: TaskRecord, historyLength?: number, withArtifacts?: boolean): Json {
  const { id, contextId, status, artifacts, history, metadata } = viewTask(task, historyLength)
  return {
    id,
    contextId,
    status: toStatus(task, status),
    artifacts: withArtifacts ?? artifacts.length > 0 ? artifacts.map(toArtifact) : undefined,
    history: history.length === 0 ? undefined : history.map(message => toMessage(task, message, id)),
    metadata
  }
}

/** The answer to a message: the task, or the message of the agent instead. */
export function toSendResult (task: TaskRecord, historyLength?: number): Json {
  const message = messageAnswer(task)
  return message === undefined ? toSnapshot(task, historyLength) : { message: toMessage(task, message) }
}

export function toPage (page: TaskPage, { limit, historyLength, artifacts }: ListRequest): Json {
  const { tasks, nextCursor = '', total = 0 } = page
  const list = tasks.map(task => toTask(task, historyLength, artifacts))
  return { tasks: list, nextPageToken: nextCursor, pageSize: limit, totalSize: total }
}

/** The first event of a stream: the task in its present state. */
export function toSnapshot (task: TaskRecord, historyLength?: number): Json {
  return { task: toTask(task, historyLength) }
}

/** The events of a stream that one step of the task makes. */
export function toEvents (step: TaskStep): Json[] { return eventsOf(step) }

/** `hasText`: whether the reader has the text that was streamed before. */
function eventsOf (step: TaskStep, hasText = true): Json[] {
  const { task } = step
  const taskId = task.id
  const contextId = contextOf(task)
  return viewStep(step, hasText).map(view => {
    if (view.kind === 'status') {
      return { statusUpdate: { taskId, contextId, status: toStatus(task, view.status), metadata: view.metadata } }
    }
    const [append, lastChunk] = [view.append || undefined, view.lastChunk || undefined]
    return { artifactUpdate: { taskId, contextId, artifact: toArtifact(view.artifact), append, lastChunk } }
  })
}

/** The body of a push notification: one event, or the task where the step is more than one. */
export function toNotification (step: TaskStep): PushPayload {
  // chunks are not sent to webhooks
  const events = eventsOf(step, false)
  return { type: 'application/a2a+json', body: JSON.stringify(events.length === 1 ? events[0] : toSnapshot(step.task)) }
}

/** A config without its secrets. */
export function toPushConfig ({ id, taskId, url, settings }: PushConfig): Json {
  const [scheme] = (settings as { schemes?: string[] }).schemes ?? []
  return { id, taskId, url, authentication: scheme === undefined ? undefined : { scheme } }
}

export function toPushConfigs (configs: readonly PushConfig[], nextPageToken: string): Json {
  return { configs: configs.map(toPushConfig), nextPageToken }
}

function toStatus (task: TaskRecord, { state, at, message: view }: StatusView): Json {
  const message = view === undefined ? undefined : toMessage(task, view, task.id)
  return { state: STATES[state], timestamp: isoTime(at), message }
}

/** A message; one that answers instead of a task has no `taskId`. */
function toMessage (task: TaskRecord, message: MessageView, taskId?: string): Json {
  const { id: messageId, metadata, extensions, referenceTaskIds } = message
  const parts = message.parts.map(toPart)
  const contextId = contextOf(task)
  const role = ROLES[message.role]
  return { messageId, contextId, role, parts, metadata, extensions, referenceTaskIds, taskId }
}

function toArtifact ({ id, name, description, parts, metadata }: ArtifactView): Json {
  return { artifactId: id, name, description, parts: parts.map(toPart), metadata }
}

function toPart (part: TaskPart): Json {
  const { type, text, metadata, filename, mediaType } = part
  if (type === 'text') return { text, metadata, filename, mediaType }
  if (type === 'data') return { data: part.data, metadata, filename, mediaType }
  const { bytes, uri } = part
  return { raw: bytes, url: bytes === undefined ? uri : undefined, metadata, filename, mediaType }
}
