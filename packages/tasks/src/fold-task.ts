import { isTerminal, type TaskArtifact, type TaskError, type TaskEvent, type TaskMessage, type TaskRecord, type TaskState } from './task.js'

/**
 * Characters of the message that deltas add to: its beginning, 256 Ki. Whoever shows whole records, and every snapshot,
 * would pay for the whole text with each event. The log keeps it all.
 */
export const MAX_PARTIAL_CHARS = 256 * 1024

/** What of a task no event carries. */
export type TaskOrigin = Pick<TaskRecord, 'id' | 'owner' | 'skill' | 'input' | 'contextId' | 'metadata'>

/** A fold as JSON, from which it goes on at event `seq + 1`. */
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
  messages: TaskMessage[]
  artifacts: TaskArtifact[]
  error: TaskError | null
  /** The agent's message that deltas are adding to, up to one character past its bound: the one that shows whether the cut would part a pair. */
  partial: { text: string, timestamp: number } | null
  /** How many messages and artifacts were there when this turn began: a new attempt goes back to them. */
  kept: { messages: number, artifacts: number }
}

/** Makes a task out of its events, one by one. Each costs the time of its own size, never that of the task. */
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
    const { seq, at, state, delta, message, artifact, progress, error, retry } = event
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
      if (now.partial.text.length <= MAX_PARTIAL_CHARS) now.partial.text = (now.partial.text + delta).slice(0, MAX_PARTIAL_CHARS + 1)
    }
    if (message !== undefined) {
      this.#closeMessage()
      now.messages.push(message)
    }
    if (artifact !== undefined) now.artifacts.push(artifact)
    // it never goes down, whatever a new attempt says
    if (progress !== undefined && progress > now.progress) now.progress = progress
    if (error !== undefined) now.error = error
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

  /** The task as it stands. Later events do not change what was returned. */
  record (): TaskRecord {
    const { id, owner, skill, input, contextId, metadata } = this.#origin
    const { state, createdAt, updatedAt, statusAt, completedAt, seq, attempt, turn, progress, messages, artifacts, error, partial } = this.#now
    return {
      id,
      owner,
      skill,
      input,
      ...(contextId === undefined ? undefined : { contextId }),
      metadata,
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
  }

  snapshot (): string { return JSON.stringify(this.#now) }
}

/** The task that these events, from the first on, make of `origin`. */
export function foldTask (origin: TaskOrigin, events: Iterable<TaskEvent>): TaskRecord {
  const fold = new TaskFold(origin)
  for (const event of events) fold.apply(event)
  return fold.record()
}

function agentMessage ({ text, timestamp }: { text: string, timestamp: number }): TaskMessage {
  return { role: 'agent', parts: [{ type: 'text', text: beginning(text) }], timestamp }
}

function beginning (text: string): string {
  if (text.length <= MAX_PARTIAL_CHARS) return text
  const parts = (text.codePointAt(MAX_PARTIAL_CHARS - 1) ?? 0) > 0xffff
  return text.slice(0, parts ? MAX_PARTIAL_CHARS - 1 : MAX_PARTIAL_CHARS)
}
