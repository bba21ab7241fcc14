import type { Step, StepView } from '@polyvac/core'
import { stepFor } from '@polyvac/core/plugin'
import { ARTIFACTS, contextOf, type TaskStep } from '@polyvac/runs'
import {
  isTerminal, isWaiting, MAX_PARTIAL_CHARS,
  type TaskMessage, type TaskPart, type TaskRecord, type TaskState
} from '@polyvac/tasks'

type Metadata = Readonly<Record<string, unknown>>

/** A message with an id, which A2A requires. */
export interface MessageView extends Omit<TaskMessage, 'timestamp'> { readonly id: string }

export interface ArtifactView {
  /** The same from the first chunk of the artifact on. */
  readonly id: string
  readonly name: string
  readonly description?: string | undefined
  readonly parts: readonly TaskPart[]
  readonly metadata?: Metadata | undefined
}

export interface StatusView {
  readonly state: TaskState
  /** Milliseconds since 1970. */
  readonly at: number
  readonly message?: MessageView | undefined
}

/** A task in the terms of public A2A, before a version formats it. */
export interface TaskView {
  readonly id: string
  readonly contextId: string
  readonly status: StatusView
  readonly artifacts: readonly ArtifactView[]
  readonly history: readonly MessageView[]
  readonly metadata: Metadata
}

/** One event of a stream. */
export type EventView =
  | { readonly kind: 'status', readonly status: StatusView, readonly metadata: Metadata | undefined }
  | {
    readonly kind: 'artifact'
    readonly artifact: ArtifactView
    readonly append: boolean
    readonly lastChunk: boolean
  }

/** @param historyLength newest messages of the history; undefined: all of them */
export function viewTask (task: TaskRecord, historyLength = Infinity): TaskView {
  const { id, messages, skill, progress, usage, metadata: { clientMetadata } } = task
  const status = viewStatus(task)
  const isStatus = status.message?.id === messageIdAt(task, messages.length - 1)
  const streamed = isStatus ? undefined : streamedText(task)
  const artifacts = artifactsOf(task)
  const isInStatus = streamed !== undefined && isText(status, streamed.parts)
  if (streamed !== undefined && !streamed.isComplete && !isInStatus) artifacts.push(streamingArtifact(streamed.parts))
  // the last message is not part of the history where the status or an artifact shows it
  const shown = isStatus || streamed !== undefined ? messages.slice(0, -1) : messages
  const from = Math.max(0, shown.length - historyLength)
  return {
    id,
    contextId: contextOf(task),
    status,
    artifacts,
    history: shown.slice(from).map((message, index) => viewMessage(task, message, from + index)),
    metadata: Object.assign({ skillName: skill, progress }, isEmpty(clientMetadata) ? undefined : { clientMetadata },
      usage === undefined ? undefined : { usage })
  }
}

/**
 * The state with the message that explains it: the question, the reason, the progress, or an answer that is only a
 * message.
 */
function viewStatus (task: TaskRecord): StatusView {
  const { id, state, statusAt: at, error, messages, artifacts, progressMessage, seq } = task
  if (error !== null && isTerminal(state)) {
    const parts = [{ type: 'text' as const, text: error.message }]
    return { state, at, message: { id: `${id}-status`, role: 'agent', parts, metadata: { code: error.code } } }
  }
  if (progressMessage !== undefined) {
    const parts = [{ type: 'text' as const, text: progressMessage }]
    return { state, at, message: { id: `${id}-progress-${seq}`, role: 'agent', parts } }
  }
  const last = messages.at(-1)
  const explains = last?.role === 'agent' && (isWaiting(state) || (state === 'completed' && artifacts.length === 0))
  return explains ? { state, at, message: viewMessage(task, last, messages.length - 1) } : { state, at }
}

/** The state of a task with a step of its answer as the message. */
function stepStatus ({ id, state, statusAt: at, seq }: TaskRecord, step: unknown): StatusView {
  return { state, at, message: { id: `${id}-step-${seq}`, role: 'agent', parts: [{ type: 'data', data: { step } }] } }
}

/** What the reader of a stream sees of an event; undefined where it is only a step that it does not see. */
export function seenStep (taskStep: TaskStep, view: StepView | undefined): TaskStep | undefined {
  const { task, event } = taskStep
  if (event.step === undefined) return taskStep
  const { step, ...others } = event
  if (view !== undefined) return view === 'all' ? taskStep : { task, event: { ...others, step: stepFor(view, step as Step) } }
  const { seq: _seq, at: _at, ...rest } = others
  return Object.keys(rest).length === 0 ? undefined : { task, event: others }
}

/** The answer of a task that is a message instead of artifacts; undefined for any other. */
export function messageAnswer (task: TaskRecord): MessageView | undefined {
  return task.state === 'completed' ? viewStatus(task).message : undefined
}

/**
 * The events of one step of a task: mostly one; none where nothing changed that A2A shows.
 * @param hasText whether its reader has the text that was streamed before
 */
export function viewStep ({ task, event }: TaskStep, hasText = true): EventView[] {
  const { delta, artifact, state, message, progress, usage, step } = event
  const events: EventView[] = []
  if (step !== undefined && hasText) events.push({ kind: 'status', status: stepStatus(task, step), metadata: undefined })
  if (delta !== undefined) {
    const text = task.messages.at(-1)?.parts[0]?.text ?? ''
    const append = text.length > delta.length
    const artifact = streamingArtifact([{ type: 'text', text: delta }])
    events.push({ kind: 'artifact', artifact, append, lastChunk: false })
  }
  if (artifact !== undefined) {
    const complete = artifactsOf(task).at(-1) as ArtifactView
    const parts = remainingParts(task, complete)
    const shown = parts === undefined ? complete : { ...complete, parts }
    events.push({ kind: 'artifact', artifact: shown, append: parts !== undefined, lastChunk: true })
  }
  if (state !== undefined || message !== undefined || progress !== undefined) {
    const metadata = progress === undefined && usage === undefined
      ? undefined
      : Object.assign({}, progress === undefined ? undefined : { progress }, usage === undefined ? undefined : { usage })
    const { message: explanation, ...status } = viewStatus(task)
    const last = task.messages.at(-1)
    // its readers have the text as chunks of an artifact
    const isSent = hasText && isStreamed(last) && isText({ message: explanation }, last.parts)
    events.push({ kind: 'status', status: isSent ? status : { ...status, message: explanation }, metadata })
  }
  return events
}

/** Whether the message of a status is this text and nothing more. */
function isText ({ message }: Pick<StatusView, 'message'>, [part]: readonly TaskPart[]): boolean {
  return message?.parts.length === 1 && message.parts[0]?.text === part?.text
}

/** The parts of a streamed answer that its readers have not received yet; undefined for any other artifact. */
function remainingParts (task: TaskRecord, { name, parts }: ArtifactView): readonly TaskPart[] | undefined {
  const last = task.messages.at(-1)
  const [first, ...rest] = parts
  if (name !== ARTIFACTS.stream || !isStreamed(last) || !hasSameText(last, first)) return undefined
  const streamed = last.parts[0]?.text ?? ''
  // a text of this length may be the beginning of the one that was streamed
  const text = streamed.length < MAX_PARTIAL_CHARS - 1 ? first?.text?.slice(streamed.length) ?? '' : ''
  // the last chunk must have a part
  return text === '' && rest.length > 0 ? rest : [{ type: 'text', text }, ...rest]
}

/** The text that was streamed in this turn and is not a message, and whether its artifact is complete already. */
function streamedText (task: TaskRecord):
{ readonly parts: readonly TaskPart[], readonly isComplete: boolean } | undefined {
  const last = task.messages.at(-1)
  if (!isStreamed(last)) return undefined
  const artifact = task.artifacts.findLast(({ name }) => name === ARTIFACTS.stream)
  if (artifact === undefined) return { parts: last.parts, isComplete: false }
  return hasSameText(last, partsOf(artifact)[0]) ? { parts: last.parts, isComplete: true } : undefined
}

function streamingArtifact (parts: readonly TaskPart[]): ArtifactView {
  return { id: ARTIFACTS.stream, name: ARTIFACTS.stream, parts }
}

function isStreamed (message: TaskMessage | undefined): message is TaskMessage {
  return message?.role === 'agent' && message.id === undefined
}

/** Whether the part begins with the streamed text: the record keeps only the beginning of a long text. */
function hasSameText ({ parts: [streamed] }: TaskMessage, part: TaskPart | undefined): boolean {
  const text = streamed?.text ?? ''
  return text !== '' && part?.text?.startsWith(text) === true
}

function viewMessage (task: TaskRecord, message: TaskMessage, index: number): MessageView {
  const { role, parts, metadata, extensions, referenceTaskIds } = message
  return { id: messageIdAt(task, index), role, parts, metadata, extensions, referenceTaskIds }
}

function messageIdAt ({ id, messages }: TaskRecord, index: number): string {
  return messages[index]?.id ?? `${id}-${index}`
}

function artifactsOf ({ artifacts }: TaskRecord): ArtifactView[] {
  const counts = new Map<string, number>()
  return artifacts.map(artifact => {
    const { name, description, metadata } = artifact
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    return { id: count === 1 ? name : `${name}-${count}`, name, description, metadata, parts: partsOf(artifact) }
  })
}

/** An answer as text, then its sources as data; content that is not an answer, as data. */
function partsOf ({ name, content, parts }: TaskRecord['artifacts'][number]): readonly TaskPart[] {
  if (parts !== undefined) return parts
  const { answer, final_answer: final, stream_completed: _completed, ...rest } = (content ?? {}) as Metadata
  const text = name === ARTIFACTS.stream ? final : name === ARTIFACTS.query ? answer : undefined
  if (typeof text !== 'string') return [{ type: 'data', data: content }]
  const data = Object.fromEntries(Object.entries(rest).filter(([, value]) => !isEmpty(value)))
  return isEmpty(data) ? [{ type: 'text', text }] : [{ type: 'text', text }, { type: 'data', data }]
}

function isEmpty (value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0)
}

/** Most times of a task are the same millisecond, or one that was just written. */
let last = { ms: 0, text: new Date(0).toISOString() }

/** A time in milliseconds since 1970 as ISO 8601 in UTC. */
export function isoTime (ms: number): string {
  if (last.ms !== ms) last = { ms, text: new Date(ms).toISOString() }
  return last.text
}
