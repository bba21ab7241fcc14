import { charsLeft } from '../basics/json-chars.js'
import { isTerminal, type TaskArtifact, type TaskError, type TaskEvent, type TaskMessage, type TaskRecord, type TaskState } from '../contract/task.js'
import { beginning } from '../basics/text-beginning.js'

/**
 * Characters of the message to which deltas are added: records keep its first 256 Ki. Otherwise each event would cost
 * readers of whole records, and snapshots, the whole text. The log keeps all of it.
 */
export const MAX_PARTIAL_CHARS = 256 * 1024

/** Characters of a snapshot. A larger fold is built from all events of its log, which is read in pieces. */
const MAX_SNAPSHOT_CHARS = 4 * 1024 * 1024

/** The fields of a task that are not in its events. */
export type TaskOrigin = Pick<TaskRecord, 'id' | 'owner' | 'skill' | 'input' | 'contextId' | 'metadata'>

/** A fold as JSON; it continues with event `seq + 1`. */
export interface FoldSnapshot {
  seq: number
  state: TaskState
  createdAt: number
  updatedAt: number
  statusAt: number
  completedAt: number | null
  attempt: number
  turn: number
  progress: number
  progressMessage?: string | undefined
  messages: TaskMessage[]
  artifacts: TaskArtifact[]
  error: TaskError | null
  usage?: unknown
  /** Members that replace those of the origin. */
  metadata?: TaskEvent['metadata']
  /** The agent's message to which deltas are added, one character longer than its bound to detect a surrogate pair. */
  partial: { text: string, timestamp: number } | null
  /** The counts of messages and artifacts when this turn began: a new attempt restores them. */
  kept: { messages: number, artifacts: number }
}

/** Builds a task from its events, one by one. An event costs time in proportion to its size, not to the task's. */
export class TaskFold {
  readonly #origin: TaskOrigin
  readonly #now: FoldSnapshot

  constructor (origin: TaskOrigin, snapshot?: FoldSnapshot) {
    this.#origin = origin
    this.#now = snapshot ?? {
      seq: 0,
      state: 'submitted',
      createdAt: 0,
      updatedAt: 0,
      statusAt: 0,
      completedAt: null,
      attempt: -1,
      turn: -1,
      progress: 0,
      messages: [],
      artifacts: [],
      error: null,
      partial: null,
      kept: { messages: 0, artifacts: 0 }
    }
  }

  get seq (): number { return this.#now.seq }
  get state (): TaskState { return this.#now.state }

  apply (event: TaskEvent): void {
    const now = this.#now
    const { seq, at, state, delta, message, artifact, progress, progressMessage, error, usage, metadata, retry } = event
    now.seq = seq
    now.updatedAt = at
    if (retry !== undefined) {
      now.partial = null
      now.messages.length = now.kept.messages
      now.artifacts.length = now.kept.artifacts
      now.error = null
    }
    if (delta !== undefined) {
      now.partial ??= { text: '', timestamp: at }
      // a part of the whole text would be a copy of it
      if (now.partial.text.length <= MAX_PARTIAL_CHARS) now.partial.text += delta.slice(0, MAX_PARTIAL_CHARS + 1 - now.partial.text.length)
    }
    if (message !== undefined) {
      this.#closeMessage()
      now.messages.push(message)
    }
    if (artifact !== undefined) now.artifacts.push(artifact)
    // it never decreases, also in a new attempt
    if (progress !== undefined && progress > now.progress) now.progress = progress
    if (progress !== undefined || state !== undefined) now.progressMessage = progressMessage
    if (error !== undefined) now.error = error
    if (usage !== undefined) now.usage = usage
    if (metadata !== undefined) now.metadata = { ...now.metadata, ...metadata }
    if (state !== undefined) this.#enter(state, at, retry)
  }

  #enter (state: TaskState, at: number, retry: number | undefined): void {
    const now = this.#now
    now.state = state
    now.statusAt = at
    if (state === 'submitted') {
      if (now.createdAt === 0) now.createdAt = at
      now.turn++
      now.attempt = -1
      now.kept = { messages: now.messages.length, artifacts: now.artifacts.length }
    } else if (state === 'working') {
      now.attempt = retry ?? 0
    } else {
      this.#closeMessage()
      if (state === 'completed') now.progress = 1
      if (isTerminal(state)) now.completedAt = at
    }
  }

  #closeMessage (): void {
    const { partial, messages } = this.#now
    if (partial === null) return
    messages.push(agentMessage(partial))
    this.#now.partial = null
  }

  /** The current task. Later events do not change the returned object. */
  record (): TaskRecord {
    const { id, owner, skill, input, contextId, metadata } = this.#origin
    const { state, createdAt, updatedAt, statusAt, completedAt, seq, attempt, turn, progress, progressMessage } = this.#now
    const { messages, artifacts, error, usage, partial, metadata: changed } = this.#now
    const record: TaskRecord = {
      id,
      owner,
      skill,
      input,
      ...(contextId === undefined ? undefined : { contextId }),
      metadata: changed === undefined ? metadata : { ...metadata, ...changed },
      state,
      createdAt,
      updatedAt,
      statusAt,
      completedAt,
      seq,
      attempt,
      turn,
      progress,
      messages: partial === null ? [...messages] : [...messages, agentMessage(partial)],
      artifacts: [...artifacts],
      error
    }
    if (usage !== undefined) Object.assign(record, { usage })
    return progressMessage === undefined ? record : Object.assign(record, { progressMessage })
  }

  /** The fold as JSON; undefined where it is so large that writing and reading it would block the event loop. */
  snapshot (): string | undefined {
    return charsLeft(this.#now, MAX_SNAPSHOT_CHARS) < 0 ? undefined : JSON.stringify(this.#now)
  }
}

/**
 * The task of `origin` after these events, from the first on.
 * @example const task = foldTask(origin, events)
 */
export function foldTask (origin: TaskOrigin, events: Iterable<TaskEvent>): TaskRecord {
  const fold = new TaskFold(origin)
  for (const event of events) fold.apply(event)
  return fold.record()
}

function agentMessage ({ text, timestamp }: { text: string, timestamp: number }): TaskMessage {
  return { role: 'agent', parts: [{ type: 'text', text: beginning(text, MAX_PARTIAL_CHARS) }], timestamp }
}
