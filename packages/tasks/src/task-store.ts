import type { TaskEvent, TaskMessage, TaskRecord, TaskState, TaskUpdate } from './task.js'

/**
 * Where tasks live. `owner` is the first argument of every method that touches a task: a task of another owner is
 * answered as one that does not exist. Every write is durable when its promise resolves, and refused with
 * TASK_STORE_UNAVAILABLE (503) where it could not be. All times are milliseconds since 1970, all durations milliseconds.
 */
export interface TaskStore {
  /** Makes or migrates the tables. May be called twice. */
  open (): Promise<void>
  /** Stops workers, releases their leases, ends readers. May be called twice; ends in less than a second. */
  close (): Promise<void>
  /** Writes for real, so that a full disk shows. Never rejects. */
  health (): Promise<TaskStoreHealth>

  /**
   * Task, queue entry and first event in one transaction. With an `idempotencyKey` that this owner used before, the
   * task of then, `created: false`; TASK_CONFLICT (409) if that one had another skill, input or context, or if `id` is taken.
   */
  create (owner: string, task: NewTask): Promise<CreatedTask>
  get (owner: string, id: string): Promise<TaskRecord | null>
  /** Newest status first; fewer than `limit` where they are large. TASK_INVALID_CURSOR (400) for a cursor that is none. */
  list (owner: string, query?: TaskQuery): Promise<TaskPage>
  /** `canceled`: this call did it. `terminal`: it had ended before, perhaps canceled; `task` says how. */
  cancel (owner: string, id: string, reason?: string): Promise<
    { outcome: 'canceled' | 'terminal', task: TaskRecord } | { outcome: 'not-found', task: null }>
  /** Answers a task in `input-required` or `auth-required`: it is `submitted` again, as the next turn. */
  provideInput (owner: string, id: string, message: UserMessage): Promise<
    { outcome: 'accepted' | 'not-waiting', task: TaskRecord } | { outcome: 'not-found', task: null }>
  /**
   * Replays the log after number `after` (default 0), then follows it. Ends after the terminal event, when `signal`
   * aborts, when the task is purged, and when the store closes. A reader holds at most one page of events and nobody waits for it.
   * TASK_NOT_FOUND (404) at the first step.
   */
  events (owner: string, id: string, options?: EventsOptions): AsyncIterable<TaskEvent>

  /** Executes tasks of all owners in one queue. Several workers, also of other processes, share the work. */
  work (handler: TaskHandler, options?: WorkOptions): TaskWorker

  /** Adds or replaces a config. TASK_NOT_FOUND (404); TASK_TOO_MANY_PUSH_CONFIGS (400) past 10 per task. */
  setPush (owner: string, taskId: string, config: NewPushConfig): Promise<PushConfig>
  getPush (owner: string, taskId: string, configId: string): Promise<PushConfig | null>
  /** Oldest first, those of one millisecond by the bytes of their id; empty for an unknown task. */
  listPush (owner: string, taskId: string): Promise<PushConfig[]>
  deletePush (owner: string, taskId: string, configId: string): Promise<boolean>
  /** Hands out what the push configs have not had yet: at least once, in order per config. */
  deliver (handler: DeliveryHandler, options?: DeliverOptions): TaskWorker

  /** Deletes ended tasks, oldest end first. Never one that runs or waits. Resolves to how many. */
  purge (limits: PurgeLimits): Promise<number>
}

export interface TaskStoreHealth { readonly ok: boolean, readonly detail?: string }

export interface CreatedTask {
  readonly task: TaskRecord
  readonly created: boolean
  /**
   * Where a worker of this process has begun with it at once: the task after that attempt, ended or asking for input,
   * which saves whoever waits for it the log. Undefined in time where the attempt was canceled, lost or given back.
   */
  readonly attempt?: Promise<TaskRecord | undefined>
}

export interface NewTask {
  readonly skill: string
  /** Any JSON value. */
  readonly input: unknown
  /** What the user said, if the record's `messages` should begin with it. */
  readonly message?: UserMessage | undefined
  readonly contextId?: string | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly id?: string | undefined
  readonly idempotencyKey?: string | undefined
  /** Which workers execute it: those of the same queue. Default: one without a name. */
  readonly queue?: string | undefined
  /** Stored in the same transaction, and told of every event after `submitted`. */
  readonly push?: NewPushConfig | undefined
}

export interface UserMessage extends Omit<TaskMessage, 'role' | 'timestamp'> { readonly timestamp?: number | undefined }

export interface TaskQuery {
  readonly states?: readonly TaskState[] | undefined
  /** A task without one is in the context of its own id: the conversation that it may become the first of. */
  readonly contextId?: string | undefined
  /** Of these skills alone. */
  readonly skills?: readonly string[] | undefined
  /** Whose status is of this time or later. */
  readonly statusSince?: number | undefined
  /** Whether to tell how many there are on all pages. */
  readonly count?: boolean | undefined
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined
  /** 1 to 100. Default 50. */
  readonly limit?: number | undefined
}

export interface TaskPage { readonly tasks: TaskRecord[], readonly nextCursor?: string, readonly total?: number }

export interface EventsOptions {
  /** Number of the last event the reader has. One past the end waits for more, or ends if the task has. */
  readonly after?: number | undefined
  readonly signal?: AbortSignalLike | undefined
}

/** What a reader needs of an AbortSignal; lighter ones will do as well. */
export interface AbortSignalLike {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener (type: 'abort', listener: () => void): void
  removeEventListener (type: 'abort', listener: () => void): void
}

/**
 * Executes one task. When it returns without having emitted an end, the task is `completed`. When it throws, the task
 * is `failed` with TASK_FAILED and the error goes to the log alone: emit `failed` with an `error` for what callers may read.
 */
export type TaskHandler = (task: TaskRecord, context: TaskContext) => Promise<void> | void

export interface TaskContext {
  /** Aborts when the task is canceled, its time is up, its lease is lost, or the worker stops. */
  readonly signal: AbortSignal
  /** The same for who only listens. An AbortSignal is made only where `signal` is asked for. */
  readonly stop: AbortSignalLike
  /** From 0. Above it, an earlier attempt may have had side effects. */
  readonly attempt: number
  readonly turn: number
  /**
   * Appends events and resolves to the number of the last, once they are durable. Rejects with TASK_FENCED when the
   * task has ended or belongs to another attempt: there is nothing left to do then.
   */
  emit (updates: TaskUpdate | readonly TaskUpdate[]): Promise<number>
}

export interface WorkOptions {
  /** Tasks at once. Default 16. */
  readonly concurrency?: number | undefined
  /** Longest time of one attempt; then its signal aborts and the task fails with TASK_TIMEOUT. Default one hour. */
  readonly timeoutMs?: number | undefined
  /** Of which queue. Default: the one without a name. */
  readonly queue?: string | undefined
  /** Longest time that a task of the queue waits for its input; then it fails with TASK_INPUT_TIMEOUT. Looked at every `purgeMs`. Default: for ever. */
  readonly inputMs?: number | undefined
}

export interface TaskWorker {
  /**
   * Takes nothing new, waits up to `drainMs` (default 0) for what runs, aborts and releases the rest: another worker
   * takes them over at once, and it does not count as a failed attempt.
   */
  stop (options?: { readonly drainMs?: number | undefined }): Promise<void>
}

export interface NewPushConfig {
  /** Unique within the task. Default: a UUID. An existing one is replaced and keeps its place in the log. */
  readonly id?: string | undefined
  readonly url: string
  /** Read back with the config: what a caller may see. Any JSON object. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined
  /** Handed to the delivery alone, never read back. Any JSON object. */
  readonly secrets?: Readonly<Record<string, unknown>> | undefined
  /** Number of the last event that need not be delivered. Default: the task's last one now. */
  readonly after?: number | undefined
}

export interface PushConfig {
  readonly id: string
  readonly taskId: string
  readonly url: string
  readonly settings: Readonly<Record<string, unknown>>
  readonly createdAt: number
  /** Number of the last event delivered or passed over. */
  readonly cursor: number
  /** Why nothing is delivered any more, or null. */
  readonly disabled: string | null
}

export interface Delivery {
  /** The same for the same event of the same config, however often it is tried: the receiver's key for duplicates. */
  readonly id: string
  readonly owner: string
  readonly taskId: string
  readonly config: PushConfig
  readonly secrets: Readonly<Record<string, unknown>>
  readonly event: TaskEvent
  /** Failed tries before this one. */
  readonly tries: number
}

/**
 * `delivered` goes on to the next event; `{ retryAt }` tries the same one again then, until `deadAfterMs` have passed
 * since its first failure; `disable` ends the config. To throw is to ask for a retry after `pushBackoff(tries)`.
 */
export type DeliveryHandler = (delivery: Delivery, signal: AbortSignal) => Promise<DeliveryOutcome>
export type DeliveryOutcome = 'delivered' | { readonly retryAt: number } | 'disable' | { readonly disable: string }

export interface DeliverOptions {
  /** Deliveries at once. Default 16. */
  readonly concurrency?: number | undefined
  /** Longest time of one delivery; then its signal aborts. Default 30 s. */
  readonly timeoutMs?: number | undefined
  /** Which events are told. Default: those with a state, a message or an artifact. */
  readonly wants?: ((event: TaskEvent) => boolean) | undefined
}

export interface PurgeLimits {
  /** Delete what ended longer ago than this. */
  readonly terminalOlderThanMs?: number | undefined
  /** Delete the oldest ended tasks past this many tasks in all. */
  readonly maxTasks?: number | undefined
}
