import type { PushConfig, TaskPage, TaskPart, TaskRecord } from '@polyvac/tasks'
import type { ListRequest } from '../../protocol/requests.js'
import { contextOf, isoTime, messageAnswer, viewStatus, viewStep, viewTask, type TaskStep, type ArtifactView, type MessageView, type StatusView } from '../../protocol/task-view.js'
import type { PushPayload } from '../../push/deliver.js'
import { ROLES, STATES } from './names.js'

type Json = Record<string, unknown>

/** `withArtifacts`: whether the member is there; by default it is where the task has artifacts. */
export function toTask (task: TaskRecord, historyLength?: number, withArtifacts?: boolean): Json {
  const { id, contextId, status, artifacts, history, metadata } = viewTask(task, historyLength)
  return Object.assign({ id, contextId, status: toStatus(task, status) },
    withArtifacts ?? artifacts.length > 0 ? { artifacts: artifacts.map(toArtifact) } : undefined,
    history.length === 0 ? undefined : { history: history.map(message => toMessage(task, message)) },
    { metadata })
}

/** What a send answers with: the task, or the message that the agent gave instead. */
export function toSendResult (task: TaskRecord, historyLength?: number): Json {
  const message = messageAnswer(task)
  return message === undefined ? { task: toTask(task, historyLength) } : { message: toReply(task, message) }
}

export function toPage ({ tasks, nextCursor = '', total = 0 }: TaskPage, { limit, historyLength, artifacts }: ListRequest): Json {
  return { tasks: tasks.map(task => toTask(task, historyLength, artifacts)), nextPageToken: nextCursor, pageSize: limit, totalSize: total }
}

/** The first event of a stream: the task as it stands. */
export function toSnapshot (task: TaskRecord, historyLength?: number): Json {
  return { task: toTask(task, historyLength) }
}

/** The events of a stream that one step of the task makes. */
export function toEvents (step: TaskStep): Json[] {
  const { task } = step
  const of = { taskId: task.id, contextId: contextOf(task) }
  return viewStep(step).map(viewed => viewed.kind === 'status'
    ? { statusUpdate: Object.assign({}, of, { status: toStatus(task, viewed.status) }, viewed.metadata === undefined ? undefined : { metadata: viewed.metadata }) }
    : { artifactUpdate: Object.assign({}, of, { artifact: toArtifact(viewed.artifact) }, viewed.append ? { append: true } : undefined, viewed.lastChunk ? { lastChunk: true } : undefined) })
}

/** The body of a push notification: one event, or the task where the step is more than one. */
export function toNotification (step: TaskStep): PushPayload {
  const events = toEvents(step)
  return { type: 'application/a2a+json', body: JSON.stringify(events.length === 1 ? events[0] : toSnapshot(step.task)) }
}

/** A config without its secrets. */
export function toPushConfig ({ id, taskId, url, settings }: PushConfig): Json {
  const [scheme] = (settings as { schemes?: string[] }).schemes ?? []
  return Object.assign({ id, taskId, url }, scheme === undefined ? undefined : { authentication: { scheme } })
}

export function toPushConfigs (configs: readonly PushConfig[], nextPageToken: string): Json {
  return { configs: configs.map(toPushConfig), nextPageToken }
}

function toStatus (task: TaskRecord, { state, at, message }: StatusView = viewStatus(task)): Json {
  return Object.assign({ state: STATES[state], timestamp: isoTime(at) }, message === undefined ? undefined : { message: toMessage(task, message) })
}

/** A message of a task. */
function toMessage (task: TaskRecord, message: MessageView): Json {
  return Object.assign(toReply(task, message), { taskId: task.id })
}

function toReply (task: TaskRecord, { id, role, parts, metadata, extensions, referenceTaskIds }: MessageView): Json {
  return { messageId: id, contextId: contextOf(task), role: ROLES[role], parts: parts.map(toPart), metadata, extensions, referenceTaskIds }
}

function toArtifact ({ id, name, description, parts, metadata }: ArtifactView): Json {
  return { artifactId: id, name, description, parts: parts.map(toPart), metadata }
}

function toPart (part: TaskPart): Json {
  const { metadata, filename, mediaType } = part
  const content: Json = part.type === 'text' ? { text: part.text } : part.type === 'data' ? { data: part.data } : part.bytes !== undefined ? { raw: part.bytes } : { url: part.uri }
  return metadata === undefined && filename === undefined && mediaType === undefined
    ? content
    : Object.assign(content, metadata === undefined ? undefined : { metadata }, filename === undefined ? undefined : { filename }, mediaType === undefined ? undefined : { mediaType })
}
