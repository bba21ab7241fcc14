import type { ApprovalRecords } from './approval-records.js'
import type { Backlog } from './backlog.js'
import type { ConversationRecords, NewTurn, TurnAnswer } from './conversation-records.js'
import type { ReplicaLink } from './replica-link.js'
import type { SharedCounts } from './shared-counts.js'
import type { SharedValues } from './shared-values.js'
import type { SignInRecords } from './sign-in-records.js'
import type { TaskEvent, TaskHead, TaskMessage, TaskRecord, TaskState, TaskUpdate } from './task.js'

/** When a reader last had a task: ms since 1970, and how long ago in ms, at least 0. */
export interface LastRead { readonly at: number, readonly agoMs: number }

/**
 * A store of tasks. `owner` is the first argument of every method for one task but `ownerOf`: a task of another owner
 * is handled like one that does not exist. Every write is durable when its promise resolves, and fails with
 * TASK_STORE_UNAVAILABLE (503) where it cannot be. All times are milliseconds since 1970, all durations milliseconds.
 */
export interface TaskStore {
  /** Creates or migrates the tables. May be called twice. */
  open (): Promise<void>
  /** Stops workers, releases their leases, ends readers. May be called twice; ends in less than a second. */
  close (): Promise<void>
  /** Writes a probe, so that it detects a full disk. Never rejects. */
  health (): Promise<TaskStoreHealth>
  /**
   * Tasks that are not ended, by state: counts of at most MAX_COUNTED, and since when the oldest is in its state. For
   * monitoring: it reads so many rows.
   */
  backlog (): Promise<readonly Backlog[]>

  /**
   * Creates task, queue entry and first event in one transaction. For an `idempotencyKey` that this owner used before,
   * it returns the earlier task and `created: false`. TASK_CONFLICT (409) if that one had another skill, or, without
   * `isNamedByKey`, another input or context, or if `id` is taken. An owner has a share (`ownerShare`) of the tasks
   * and the space of the store: at its end, the oldest ended tasks of that owner are deleted, or `create` fails with
   * TASK_TOO_MANY or TASK_STORE_FULL (503). No task of another owner is deleted, except where the whole store is full:
   * of the owner with most. The owners `anyone` and ` <protocol>  anonymous` stand for many callers and have no share.
   */
  create (owner: string, task: NewTask): Promise<CreatedTask>
  get (owner: string, id: string): Promise<TaskRecord | null>
  /** The same without what was said, which may be large: it reads two rows. */
  head (owner: string, id: string): Promise<TaskHead | null>
  /** The owner of a task, for administrators; undefined for an unknown one. Without it they read only theirs. */
  ownerOf? (id: string): Promise<string | undefined>
  /** Newest status first; fewer than `limit` where they are large. TASK_INVALID_CURSOR (400) for an invalid cursor. */
  list (owner: string, query?: TaskQuery): Promise<TaskPage>
  /** `canceled`: by this call. `terminal`: the task had ended before, perhaps canceled; see the state of `task`. */
  cancel (owner: string, id: string, reason?: string): Promise<
    { outcome: 'canceled' | 'terminal', task: TaskRecord } | { outcome: 'not-found', task: null }>
  /**
   * Provides input to a task in `input-required` or `auth-required`: its next turn begins as `submitted`. `metadata`:
   * members of the task's metadata that are different from this turn on, such as who asks. `question`: what the message
   * asks, which becomes the next turn of the conversation of the task.
   */
  provideInput (owner: string, id: string, message: UserMessage, metadata?: Readonly<Record<string, unknown>>, question?: Pick<NewTurn, 'question' | 'files'>): Promise<
    { outcome: 'accepted' | 'not-waiting', task: TaskRecord } | { outcome: 'not-found', task: null }>
  /**
   * Replays the log after number `after` (default 0), then follows it. Ends after the terminal event, when `signal`
   * aborts, when the task is purged, and when the store closes. A slow reader holds at most one page of events and does
   * not delay writes.
   * TASK_NOT_FOUND (404) at the first step.
   */
  events (owner: string, id: string, options?: EventsOptions): AsyncIterable<TaskEvent>

  /** Notes that a reader has the task now, unless one has within the last `everyMs`. */
  markRead (owner: string, id: string, everyMs: number): Promise<void>
  /** When `markRead` was last noted, by the clock of `updatedAt`; undefined where it never was. */
  lastRead (owner: string, id: string): Promise<LastRead | undefined>

  /**
   * Executes tasks of all owners in one queue, of owners with waiting tasks in turn. Several workers, also of other
   * processes, share the work.
   */
  work (handler: TaskHandler, options?: WorkOptions): TaskWorker

  /** Adds or replaces a config. TASK_NOT_FOUND (404); TASK_TOO_MANY_PUSH_CONFIGS (400) past 10 per task. */
  setPush (owner: string, taskId: string, config: NewPushConfig): Promise<PushConfig>
  getPush (owner: string, taskId: string, configId: string): Promise<PushConfig | null>
  /** Oldest first, those of one millisecond by the bytes of their id; empty for an unknown task. */
  listPush (owner: string, taskId: string): Promise<PushConfig[]>
  deletePush (owner: string, taskId: string, configId: string): Promise<boolean>
  /**
   * Delivers the events that push configs have not had: at least once, in order per config, to configs of owners in
   * turn. One owner, and one host, has a quarter of the deliveries at once; one owner has half of those to a host.
   */
  deliver (handler: DeliveryHandler, options?: DeliverOptions): TaskWorker

  /** Deletes a task that has ended, with its log. `not-ended`: it runs or waits, and is kept; cancel it first. */
  delete (owner: string, id: string): Promise<'deleted' | 'not-ended' | 'not-found'>
  /** Deletes ended tasks, oldest end first; never one that runs or waits. Resolves to their number. */
  purge (limits: PurgeLimits): Promise<number>

  /** How processes on several machines that share the store reach each other; undefined for a store of one machine. */
  readonly replicas?: ReplicaLink | undefined
  /** Values that processes on several machines share through the store; undefined for a store of one machine. */
  readonly shared?: SharedValues | undefined
  /** Counts that processes on several machines share through the store; undefined for a store of one machine. */
  readonly counts?: SharedCounts | undefined
  /** Conversations; undefined for a store that keeps none. */
  readonly conversations?: ConversationRecords | undefined
  /** Sign-ins to upstream servers; undefined for a store that keeps none. */
  readonly signIns?: SignInRecords | undefined
  /** Approvals of calls of tools; undefined for a store that keeps none. */
  readonly approvals?: ApprovalRecords | undefined
}

export interface TaskStoreHealth { readonly ok: boolean, readonly detail?: string }

export interface CreatedTask {
  readonly task: TaskRecord
  readonly created: boolean
  /**
   * Where a worker of this process has begun the task at once: the task after that attempt, ended or waiting for input,
   * so that callers need not read the log. It resolves to undefined where the attempt was canceled, lost or released.
   * It rejects with TASK_STORE_UNAVAILABLE where the store could not write it; the task runs again once it can.
   */
  readonly attempt?: Promise<TaskRecord | undefined>
}

export interface NewTask {
  readonly skill: string
  /** Any JSON value. */
  readonly input: unknown
  /** The user's message, where the record's `messages` should begin with it. */
  readonly message?: UserMessage | undefined
  readonly contextId?: string | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly id?: string | undefined
  readonly idempotencyKey?: string | undefined
  /** Whether any request with the key repeats the task, also one that asks something else. */
  readonly isNamedByKey?: boolean | undefined
  /** The queue whose workers execute it. Default: the one without a name. */
  readonly queue?: string | undefined
  /** The question as a turn of a conversation, that of `contextId`; stored in the same transaction. */
  readonly turn?: NewTurn | undefined
  /** Stored in the same transaction, and notified of every event after `submitted`. */
  readonly push?: NewPushConfig | undefined
}

export interface UserMessage extends Omit<TaskMessage, 'role' | 'timestamp'> { readonly timestamp?: number | undefined }

export interface TaskQuery {
  readonly states?: readonly TaskState[] | undefined
  /** A task without one has its id as its context: it may begin a conversation. */
  readonly contextId?: string | undefined
  /** Only tasks of these skills. */
  readonly skills?: readonly string[] | undefined
  /** Only tasks whose status is of this time or later. */
  readonly statusSince?: number | undefined
  /** Whether the page has `total`, the number of tasks on all pages. */
  readonly count?: boolean | undefined
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined
  /** 1 to 100. Default 50. */
  readonly limit?: number | undefined
}

export interface TaskPage { readonly tasks: TaskRecord[], readonly nextCursor?: string, readonly total?: number }

export interface EventsOptions {
  /** Number of the last event that the reader has. Past the end, the reader waits for more, or ends with the task. */
  readonly after?: number | undefined
  readonly signal?: AbortSignalLike | undefined
}

/** The part of an AbortSignal that a reader uses; lighter implementations fit, too. */
export interface AbortSignalLike {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener (type: 'abort', listener: () => void): void
  removeEventListener (type: 'abort', listener: () => void): void
}

/**
 * Executes one task. When it returns without having emitted an end, the task is `completed`. When it throws, the task
 * is `failed` with TASK_FAILED and the error is only logged: emit `failed` with an `error` that callers may read.
 * @example
 * const worker = store.work(async (task, { signal, emit }) => {
 *   await emit({ artifact: { name: 'response', content: await answer(task.input, signal) } })
 * })
 */
export type TaskHandler = (task: TaskRecord, context: TaskContext) => Promise<void> | void

export interface TaskContext {
  /** Aborts when the task is canceled, its time is up, its lease is lost, or the worker stops. */
  readonly signal: AbortSignal
  /** The same event, without creating an AbortSignal, which `signal` does at its first use. */
  readonly stop: AbortSignalLike
  /** From 0. Above 0, an earlier attempt may have had side effects. */
  readonly attempt: number
  readonly turn: number
  /**
   * Appends events and resolves to the number of the last, once they are durable. Rejects with TASK_FENCED when the
   * task has ended or belongs to another attempt: the handler should return then. All updates of one call are checked
   * before the first is written; more than 256 Ki characters are written in several transactions, in their order.
   * @param turn what the turn of the conversation has besides its question: durable before the last update, or with it
   */
  emit (updates: TaskUpdate | readonly TaskUpdate[], turn?: TurnAnswer): Promise<number>
}

export interface WorkOptions {
  /** Tasks at once. Default 16. */
  readonly concurrency?: number | undefined
  /** Tasks of one owner at once. Default a quarter of `concurrency`; callers without an identity share all of it. */
  readonly ownerConcurrency?: number | undefined
  /**
   * Called before a task is taken, with the bytes that it keeps in memory; returns what to call at its end. Undefined:
   * the memory does not suffice, and the task waits; a task whose owner runs no other starts. Default: no limit.
   */
  readonly hold?: ((owner: string, bytes: number) => (() => void) | undefined) | undefined
  /** Longest time of one attempt; then its signal aborts and the task fails with TASK_TIMEOUT. Default one hour. */
  readonly timeoutMs?: number | undefined
  /** The queue. Default: the one without a name. */
  readonly queue?: string | undefined
  /**
   * Whether the worker can run tasks of this skill now; the others wait for another worker, as long as `inputTtlMs`.
   * Default: it runs all.
   */
  readonly serves?: ((skill: string) => boolean) | undefined
  /**
   * Longest time that a task of the queue waits for its caller; then it fails with TASK_INPUT_TIMEOUT. Checked once a
   * minute. Default: no limit.
   */
  readonly inputMs?: number | undefined
}

export interface TaskWorker {
  /**
   * Takes no new tasks, waits up to `drainMs` (default 0) for running ones, aborts and releases the rest: another
   * worker takes them over at once, and it does not count as a failed attempt.
   */
  stop (options?: { readonly drainMs?: number | undefined }): Promise<void>
}

export interface NewPushConfig {
  /** Unique within the task. Default: a UUID. An existing one is replaced and keeps its place in the log. */
  readonly id?: string | undefined
  readonly url: string
  /** Returned with the config: what a caller may read. Any JSON object. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined
  /** Passed only to the delivery, never returned. Any JSON object. */
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
  /** Number of the last event that was delivered or skipped. */
  readonly cursor: number
  /** Why deliveries have stopped, or null. */
  readonly disabled: string | null
}

export interface Delivery {
  /** The same in every try of one event for one config: the receiver's key for duplicates. */
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
 * `delivered` continues with the next event; `{ retryAt }` retries the same one at that time, within an hour, until
 * `deadAfterMs` have passed since its first failure; `disable` ends the config. Throwing retries after
 * `pushBackoff(tries)`.
 */
export type DeliveryHandler = (delivery: Delivery, signal: AbortSignal) => Promise<DeliveryOutcome>
export type DeliveryOutcome = 'delivered' | { readonly retryAt: number } | 'disable' | { readonly disable: string }

export interface DeliverOptions {
  /** Deliveries at once. Default 16. */
  readonly concurrency?: number | undefined
  /** Longest time of one delivery; then its signal aborts. Default 30 s. */
  readonly timeoutMs?: number | undefined
  /** The events to deliver. Default: those with a state, a message or an artifact. */
  readonly wants?: ((event: TaskEvent) => boolean) | undefined
}

export interface PurgeLimits {
  /** Delete tasks that ended longer ago than this. */
  readonly terminalOlderThanMs?: number | undefined
  /** Delete the oldest ended tasks past this many tasks in all. */
  readonly maxTasks?: number | undefined
}
