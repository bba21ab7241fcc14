/**
 * The states of a task, with A2A's names. A task that is `working` has a lease; one in `input-required` or
 * `auth-required` waits for `provideInput` and has none.
 */
export type TaskState = 'submitted' | 'working' | 'input-required' | 'auth-required' | 'completed' | 'failed' | 'canceled' | 'rejected'

/** The transitions between states. A terminal state has none. */
export const transitions = {
  submitted: { start: 'working', fail: 'failed', cancel: 'canceled', reject: 'rejected' },
  working: { retry: 'working', ask: 'input-required', authorize: 'auth-required', succeed: 'completed', fail: 'failed', cancel: 'canceled', reject: 'rejected' },
  'input-required': { reply: 'submitted', fail: 'failed', cancel: 'canceled' },
  'auth-required': { reply: 'submitted', fail: 'failed', cancel: 'canceled' },
  completed: {},
  failed: {},
  canceled: {},
  rejected: {}
} as const satisfies Record<TaskState, Readonly<Record<string, TaskState>>>

export const taskStates = Object.keys(transitions) as TaskState[]

export const terminalStates: readonly TaskState[] = taskStates.filter(state => Object.keys(transitions[state]).length === 0)

/** The states that end with the caller's reply. */
export const waitingStates: readonly TaskState[] = taskStates.filter(state => 'reply' in transitions[state])

/** The states that an executor may set. Callers cancel, and the store begins new attempts. */
export const executorStates: readonly TaskState[] = (['ask', 'authorize', 'succeed', 'fail', 'reject'] as const).map(verb => transitions.working[verb])

export function isTerminal (state: TaskState): boolean {
  return terminalStates.includes(state)
}

export function isWaiting (state: TaskState): boolean {
  return waitingStates.includes(state)
}

export function canFollow (from: TaskState, to: TaskState): boolean {
  return (Object.values(transitions[from]) as TaskState[]).includes(to)
}

/** Optional fields of every part of a message or artifact. */
interface PartExtras {
  readonly filename?: string | undefined
  readonly mediaType?: string | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

export interface TextPart extends PartExtras { readonly type: 'text', readonly text: string }
/** A file: its bytes in base64, or its URL. */
export interface FilePart extends PartExtras { readonly type: 'file', readonly text?: undefined, readonly bytes?: string | undefined, readonly uri?: string | undefined }
/** Any JSON value. */
export interface DataPart extends PartExtras { readonly type: 'data', readonly text?: undefined, readonly data: unknown }
export type TaskPart = TextPart | FilePart | DataPart

export interface TaskMessage {
  readonly role: 'user' | 'agent'
  readonly parts: readonly TaskPart[]
  /** Milliseconds since 1970. */
  readonly timestamp: number
  /** The id that its sender gave it. An agent's message without one was streamed as deltas. */
  readonly id?: string | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly extensions?: readonly string[] | undefined
  readonly referenceTaskIds?: readonly string[] | undefined
}

export interface TaskArtifact {
  readonly name: string
  readonly type: 'json'
  /** Any JSON value; null where there are `parts`. */
  readonly content: unknown
  /** Its parts, where it is not one JSON value. */
  readonly parts?: readonly TaskPart[] | undefined
  readonly description?: string | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

export interface TaskError {
  readonly code: string
  /** Sent to callers: it must not contain a stack or a secret. */
  readonly message: string
  /** Milliseconds since 1970. */
  readonly timestamp: number
}

/** A task after event number `seq`: what `foldTask` builds from its events. Times are milliseconds since 1970. */
export interface TaskRecord {
  /** A UUIDv4 by the store, unless the caller set one. */
  readonly id: string
  readonly owner: string
  readonly skill: string
  /** Any JSON value. */
  readonly input: unknown
  readonly contextId?: string | undefined
  readonly metadata: Readonly<Record<string, unknown>>
  readonly state: TaskState
  readonly createdAt: number
  /** Time of the last event. */
  readonly updatedAt: number
  /** Time of the last event with a state. */
  readonly statusAt: number
  /** Time of the terminal event. */
  readonly completedAt: number | null
  /** Number of the last event. */
  readonly seq: number
  /** Which execution of this turn, from 0; -1 before the first. */
  readonly attempt: number
  /** How many times input was provided. */
  readonly turn: number
  /** 0 to 1; 1 once completed. */
  readonly progress: number
  /** What came with the last progress, while the state has not changed since. */
  readonly progressMessage?: string | undefined
  readonly messages: readonly TaskMessage[]
  readonly artifacts: readonly TaskArtifact[]
  readonly error: TaskError | null
  /** What the last run reported of its cost, such as token counts: any JSON value. */
  readonly usage?: unknown
}

/** What a task is and how far it is, without what was said. `metadata`: that of its creation. */
export type TaskHead = Pick<TaskRecord, 'id' | 'owner' | 'skill' | 'contextId' | 'metadata' | 'state' | 'seq' | 'attempt' | 'turn'>

/**
 * One entry of a task's log. Numbers run from 1 (`submitted`) without a gap; a terminal event is the last.
 * One event may carry several of the optional fields; they apply together.
 */
export interface TaskEvent {
  readonly seq: number
  /** Milliseconds since 1970. */
  readonly at: number
  readonly state?: TaskState
  readonly progress?: number
  /** Text for the caller, besides `progress`. */
  readonly progressMessage?: string
  /** New text of the agent's current message; the whole message is the sum since the last other message. */
  readonly delta?: string
  readonly message?: TaskMessage
  readonly artifact?: TaskArtifact
  readonly error?: TaskError
  readonly usage?: unknown
  /** What happened besides the text, such as a call of a tool: any JSON value. Records of tasks have no steps. */
  readonly step?: unknown
  /** Members of the task's metadata that are different from here on. */
  readonly metadata?: Readonly<Record<string, unknown>>
  /** The number of a new attempt, from 1: it voids the messages and artifacts of the attempt before it. */
  readonly retry?: number
}

/** An event as the log keeps it; its number is that of its row. */
export type EventBody = Omit<TaskEvent, 'seq'>

/** An update by an executor; the store adds its number and time. */
export interface TaskUpdate {
  readonly state?: 'input-required' | 'auth-required' | 'completed' | 'failed' | 'rejected' | undefined
  /** 0 to 1. */
  readonly progress?: number | undefined
  /** Text for the caller, besides `progress`. */
  readonly progressMessage?: string | undefined
  readonly delta?: string | undefined
  readonly message?: Omit<TaskMessage, 'timestamp'> & { readonly timestamp?: number | undefined } | undefined
  readonly artifact?: { readonly name: string, readonly content?: unknown } & Pick<TaskArtifact, 'parts' | 'description' | 'metadata'> | undefined
  readonly error?: { readonly code: string, readonly message: string } | undefined
  /** The cost of the run, such as token counts: any JSON value. */
  readonly usage?: unknown
  /** What happened besides the text: any JSON value. It is only in the log, and no webhook gets it. */
  readonly step?: unknown
  /**
   * What later attempts and turns of the task find as `metadata.kept`: any JSON value of at most MAX_KEPT_CHARS
   * characters. It replaces the one before.
   */
  readonly kept?: unknown
}
