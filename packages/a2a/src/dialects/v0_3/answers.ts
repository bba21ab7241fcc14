import { isRecord } from '@polyvac/core/plugin'
import { contextOf, type TaskStep } from '@polyvac/runs'
import type { PushConfig, TaskPart, TaskRecord } from '@polyvac/tasks'
import {
  isoTime, messageAnswer, viewStep, viewTask,
  type ArtifactView, type MessageView, type StatusView
} from '../../protocol/task-view.js'
import type { PushPayload } from '../../push/deliver.js'
import { STATES } from './names.js'

// Members that are undefined are absent from the JSON. An object literal is cheaper than one that is put together.
type Json = Record<string, unknown>

export function toTask (task: TaskRecord, historyLength?: number): Json {
  const { id, contextId, status, artifacts, history, metadata } = viewTask(task, historyLength)
  return {
    kind: 'task',
    id,
    contextId,
    status: toStatus(task, status),
    artifacts: artifacts.length === 0 ? undefined : artifacts.map(toArtifact),
    history: history.length === 0 ? undefined : history.map(message => toMessage(task, message, id)),
    metadata
  }
}

/** The answer to a message: the task, or the message of the agent instead. */
export function toSendResult (task: TaskRecord, historyLength?: number): Json {
  const message = messageAnswer(task)
  return message === undefined ? toTask(task, historyLength) : toMessage(task, message)
}

/** The events of a stream that one step of the task makes; `final` is on the last status of the stream. */
export function toEvents (step: TaskStep, ends: boolean): Json[] {
  const { task } = step
  const taskId = task.id
  const contextId = contextOf(task)
  return viewStep(step).map(view => {
    if (view.kind === 'status') {
      const { status, metadata } = view
      return { kind: 'status-update', taskId, contextId, status: toStatus(task, status), final: ends, metadata }
    }
    const { artifact, append, lastChunk } = view
    return { kind: 'artifact-update', taskId, contextId, artifact: toArtifact(artifact), append, lastChunk }
  })
}

/** The body of a push notification: the task. */
export function toNotification ({ task }: TaskStep): PushPayload {
  return { type: 'application/json', body: JSON.stringify(toTask(task)) }
}

/** A config without its secrets. */
export function toPushConfig ({ id, taskId, url, settings }: PushConfig): Json {
  const { schemes } = settings as { schemes?: string[] }
  const authentication = schemes === undefined ? undefined : { schemes }
  return { taskId, pushNotificationConfig: { id, url, authentication } }
}

export function toPushConfigs (configs: readonly PushConfig[]): Json[] {
  return configs.map(toPushConfig)
}

function toStatus (task: TaskRecord, { state, at, message: view }: StatusView): Json {
  const message = view === undefined ? undefined : toMessage(task, view, task.id)
  return { state: STATES[state], timestamp: isoTime(at), message }
}

/** A message; one that answers instead of a task has no `taskId`. */
function toMessage (task: TaskRecord, message: MessageView, taskId?: string): Json {
  const { id: messageId, role, metadata, extensions, referenceTaskIds } = message
  const parts = message.parts.map(toPart)
  const contextId = contextOf(task)
  return { kind: 'message', messageId, contextId, role, parts, metadata, extensions, referenceTaskIds, taskId }
}

function toArtifact ({ id, name, description, parts, metadata }: ArtifactView): Json {
  return { artifactId: id, name, description, parts: parts.map(toPart), metadata }
}

/** 0.3 has no media type or file name of a text. Data that is not an object is wrapped as `{ value }`. */
function toPart (part: TaskPart): Json {
  const { type: kind, text, metadata } = part
  if (kind === 'text') return { kind, text, metadata }
  if (kind === 'data') return { kind, data: isRecord(part.data) ? part.data : { value: part.data }, metadata }
  const { bytes, uri, filename: name, mediaType: mimeType } = part
  return { kind, file: { bytes, uri: bytes === undefined ? uri : undefined, name, mimeType }, metadata }
}
