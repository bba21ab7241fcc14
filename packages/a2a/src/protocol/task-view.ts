import { isTerminal, isWaiting, type TaskEvent, type TaskMessage, type TaskPart, type TaskRecord, type TaskState } from '@polyvac/tasks'
import { ARTIFACTS } from './artifact-names.js'

/** A task as it stands after an event, without its input. */
export interface TaskStep { readonly task: TaskRecord, readonly event: TaskEvent }

/** A message with the id that A2A wants of each. */
export interface MessageView extends Omit<TaskMessage, 'timestamp'> { readonly id: string }

export interface ArtifactView {
  /** Stable, also while the artifact is made. */
  readonly id: string
  readonly name: string
  readonly description?: string | undefined
  readonly parts: readonly TaskPart[]
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

export interface StatusView {
  readonly state: TaskState
  /** Milliseconds since 1970. */
  readonly at: number
  readonly message?: MessageView | undefined
}

/** A task as the public versions of A2A see it, before any of them puts it into its words. */
export interface TaskView {
  readonly id: string
  readonly contextId: string
  readonly status: StatusView
  readonly artifacts: readonly ArtifactView[]
  readonly history: readonly MessageView[]
  readonly metadata: Readonly<Record<string, unknown>>
}

/** One event of a stream. */
export type EventView =
  | { readonly kind: 'status', readonly status: StatusView, readonly metadata?: Readonly<Record<string, unknown>> | undefined }
  | { readonly kind: 'artifact', readonly artifact: ArtifactView, readonly append: boolean, readonly lastChunk: boolean }

/** The conversation that a task is part of; one that was begun outside of any is its own. */
export function contextOf ({ id, contextId }: Pick<TaskRecord, 'id' | 'contextId'>): string {
  return contextId ?? id
}

/** @param historyLength newest messages of the history; undefined: all of them */
export function viewTask (task: TaskRecord, historyLength = Infinity): TaskView {
  const { id, messages, skill, progress, metadata: { clientMetadata } } = task
  const artifacts = artifactsOf(task)
  const streamed = streamedPart(task)
  const status = viewStatus(task)
  const told = streamed === undefined ? undefined : messages.length - 1
  const asStatus = status.message !== undefined && status.message.id === messageIdAt(task, messages.length - 1) ? messages.length - 1 : undefined
  return {
    id,
    contextId: contextOf(task),
    status,
    artifacts: streamed?.artifact === undefined ? artifacts : [...artifacts, streamed.artifact],
    history: newest(messages.flatMap((message, index) => index === told || index === asStatus ? [] : [viewMessage(task, message, index)]), historyLength),
    metadata: Object.assign({ skillName: skill, progress }, isEmpty(clientMetadata) ? undefined : { clientMetadata })
  }
}

function newest<T> (all: readonly T[], count: number): readonly T[] {
  return all.slice(Math.max(0, all.length - count))
}

/** The state with the message that explains it: the question, the reason, or an answer that is a message alone. */
export function viewStatus (task: TaskRecord): StatusView {
  const { id, state, statusAt: at, error, messages, artifacts } = task
  if (error !== null && isTerminal(state)) {
    return { state, at, message: { id: `${id}-status`, role: 'agent', parts: [{ type: 'text', text: error.message }], metadata: { code: error.code } } }
  }
  const last = messages.at(-1)
  const explains = last?.role === 'agent' && (isWaiting(state) || (state === 'completed' && artifacts.length === 0))
  return explains ? { state, at, message: viewMessage(task, last, messages.length - 1) } : { state, at }
}

/** The answer of a task that is a message instead of artifacts; undefined for any other. */
export function messageAnswer (task: TaskRecord): MessageView | undefined {
  return task.state === 'completed' ? viewStatus(task).message : undefined
}

/** What one step of a task is on a stream; most are one event, and none where there is nothing to tell. */
export function viewStep ({ task, event }: TaskStep): EventView[] {
  const { delta, artifact, state, message, progress } = event
  const events: EventView[] = []
  if (delta !== undefined) {
    const whole = task.messages.at(-1)?.parts[0]?.text ?? ''
    events.push({ kind: 'artifact', artifact: { id: ARTIFACTS.stream, name: ARTIFACTS.stream, parts: [{ type: 'text', text: delta }] }, append: whole.length > delta.length, lastChunk: false })
  }
  if (artifact !== undefined) {
    const made = artifactsOf(task).at(-1) as ArtifactView
    const rest = remainingParts(task, made)
    events.push({ kind: 'artifact', artifact: rest === undefined ? made : { ...made, parts: rest }, append: rest !== undefined, lastChunk: true })
  }
  if (state !== undefined || message !== undefined || progress !== undefined) {
    events.push({ kind: 'status', status: viewStatus(task), ...(progress === undefined ? {} : { metadata: { progress } }) })
  }
  return events
}

/** The parts of a streamed answer that its readers do not have yet; undefined where they have none, or something else. */
function remainingParts (task: TaskRecord, { name, parts: [first, ...rest] }: ArtifactView): readonly TaskPart[] | undefined {
  const last = task.messages.at(-1)
  if (name !== ARTIFACTS.stream || !isStreamed(last) || !isSame(last, first)) return undefined
  // a last piece has to have some part
  return rest.length > 0 ? rest : [{ type: 'text', text: '' }]
}

/** Text that was streamed in this turn, and is no message: what its artifact is made of, or that artifact so far. */
function streamedPart (task: TaskRecord): { readonly artifact?: ArtifactView } | undefined {
  const last = task.messages.at(-1)
  if (!isStreamed(last) || viewStatus(task).message?.id === messageIdAt(task, task.messages.length - 1)) return undefined
  const artifact = task.artifacts.findLast(({ name }) => name === ARTIFACTS.stream)
  if (artifact === undefined) return { artifact: { id: ARTIFACTS.stream, name: ARTIFACTS.stream, parts: last.parts } }
  return isSame(last, partsOf(artifact)[0]) ? {} : undefined
}

function isStreamed (message: TaskMessage | undefined): message is TaskMessage {
  return message?.role === 'agent' && message.id === undefined
}

/** Of a long text the record keeps the beginning. */
function isSame ({ parts: [streamed] }: TaskMessage, part: TaskPart | undefined): boolean {
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
  const seen = new Map<string, number>()
  return artifacts.map(artifact => {
    const { name, description, metadata } = artifact
    const count = (seen.get(name) ?? 0) + 1
    seen.set(name, count)
    return { id: count === 1 ? name : `${name}-${count}`, name, description, metadata, parts: partsOf(artifact) }
  })
}

/** An answer as text, and then what it rests on; what is no answer, as the data that it is. */
function partsOf ({ name, content, parts }: TaskRecord['artifacts'][number]): readonly TaskPart[] {
  if (parts !== undefined) return parts
  const { answer, final_answer: final, stream_completed: _completed, ...rest } = (content ?? {}) as Record<string, unknown>
  const text = name === ARTIFACTS.stream ? final : answer
  if (typeof text !== 'string' || (name !== ARTIFACTS.stream && name !== ARTIFACTS.query)) return [{ type: 'data', data: content }]
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
