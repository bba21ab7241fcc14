import { isRecord } from '@polyvac/core/plugin'
import type { PushConfig, TaskPart, TaskRecord } from '@polyvac/tasks'
import { contextOf, isoTime, messageAnswer, viewStep, viewTask, type TaskStep, type ArtifactView, type MessageView, type StatusView } from '../../protocol/task-view.js'
import type { PushPayload } from '../../push/deliver.js'
import { STATES } from './names.js'

type Json = Record<string, unknown>

export function toTask (task: TaskRecord, historyLength?: number): Json {
  const { id, contextId, status, artifacts, history, metadata } = viewTask(task, historyLength)
  return Object.assign({ kind: 'task', id, contextId, status: toStatus(task, status) },
    artifacts.length === 0 ? undefined : { artifacts: artifacts.map(toArtifact) },
    history.length === 0 ? undefined : { history: history.map(message => toMessage(task, message)) },
    { metadata })
}

/** What a send answers with: the task, or the message that the agent gave instead. */
export function toSendResult (task: TaskRecord, historyLength?: number): Json {
  const message = messageAnswer(task)
  return message === undefined ? toTask(task, historyLength) : toReply(task, message)
}

/** The events of a stream that one step of the task makes; `final` is on the last status of the stream. */
export function toEvents (step: TaskStep, ends: boolean): Json[] {
  const of = { taskId: step.task.id, contextId: contextOf(step.task) }
  return viewStep(step).map(viewed => viewed.kind === 'status'
    ? Object.assign({ kind: 'status-update' }, of, { status: toStatus(step.task, viewed.status), final: ends }, viewed.metadata === undefined ? undefined : { metadata: viewed.metadata })
    : Object.assign({ kind: 'artifact-update' }, of, { artifact: toArtifact(viewed.artifact), append: viewed.append, lastChunk: viewed.lastChunk }))
}

/** The body of a push notification: the task. */
export function toNotification ({ task }: TaskStep): PushPayload {
  return { type: 'application/json', body: JSON.stringify(toTask(task)) }
}

/** A config without its secrets. */
export function toPushConfig ({ id, taskId, url, settings }: PushConfig): Json {
  const { schemes } = settings as { schemes?: string[] }
  return { taskId, pushNotificationConfig: Object.assign({ id, url }, schemes === undefined ? undefined : { authentication: { schemes } }) }
}

function toStatus (task: TaskRecord, { state, at, message }: StatusView): Json {
  return Object.assign({ state: STATES[state], timestamp: isoTime(at) }, message === undefined ? undefined : { message: toMessage(task, message) })
}

/** A message of a task. */
function toMessage (task: TaskRecord, message: MessageView): Json {
  return Object.assign(toReply(task, message), { taskId: task.id })
}

function toReply (task: TaskRecord, { id, role, parts, metadata, extensions, referenceTaskIds }: MessageView): Json {
  return { kind: 'message', messageId: id, contextId: contextOf(task), role, parts: parts.map(toPart), metadata, extensions, referenceTaskIds }
}

function toArtifact ({ id, name, description, parts, metadata }: ArtifactView): Json {
  return { artifactId: id, name, description, parts: parts.map(toPart), metadata }
}

/** The version has no word for the media type or the file name of a text, nor for data that is no object: that is wrapped as `{ value }`. */
function toPart (part: TaskPart): Json {
  const extras = part.metadata === undefined ? {} : { metadata: part.metadata }
  if (part.type === 'text') return { kind: 'text', text: part.text, ...extras }
  if (part.type === 'data') return { kind: 'data', data: isRecord(part.data) ? part.data : { value: part.data }, ...extras }
  const { bytes, uri, filename, mediaType } = part
  return {
    kind: 'file',
    file: { ...(bytes === undefined ? { uri } : { bytes }), ...(filename === undefined ? {} : { name: filename }), ...(mediaType === undefined ? {} : { mimeType: mediaType }) },
    ...extras
  }
}
