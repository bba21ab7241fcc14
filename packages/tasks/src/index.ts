// The public API of @polyvac/tasks: every export here is public and follows semantic versioning.
export { canFollow, isTerminal, isWaiting, taskStates, terminalStates, transitions, waitingStates } from './task.js'
export type {
  DataPart, FilePart, TaskArtifact, TaskError, TaskEvent, TaskMessage, TaskPart, TaskRecord, TaskState, TaskUpdate, TextPart
} from './task.js'
export type {
  AbortSignalLike, CreatedTask, Delivery, DeliverOptions, DeliveryHandler, DeliveryOutcome, EventsOptions, NewPushConfig, NewTask,
  PurgeLimits, PushConfig, TaskContext, TaskHandler, TaskPage, TaskQuery, TaskStore, TaskStoreHealth, TaskWorker, UserMessage, WorkOptions
} from './task-store.js'
export type { AppendOptions, Following, LinkEntry, ReplicaLink } from './replica-link.js'
export type { AddedCount, CountNow, SharedCounts } from './shared-counts.js'
export type { SharedValues } from './shared-values.js'
export type { SignInRecords } from './sign-in-records.js'
export { deltaWriter } from './delta-writer.js'
export type { DeltaWriter, DeltaWriterOptions } from './delta-writer.js'
export { foldTask, MAX_PARTIAL_CHARS, TaskFold } from './fold-task.js'
export type { TaskOrigin } from './fold-task.js'
export { isTurnOver, takeTurn } from './turn-time.js'
export { pushBackoff } from './push-backoff.js'
export { ANYONE, ownerKey, ownerOfKey } from './owner-key.js'
export { OWNER_SHARE } from './owner-share.js'
export type { TaskLogger } from './logger.js'
export {
  InvalidCursorError, InvalidStoreOptionError, InvalidTaskError, isTaskError, StoreClosedError, StoreDatabaseError, StoreFileError, StoreFullError,
  StoreUnavailableError, TaskCanceledError, TaskConflictError, TaskFencedError, TaskInputTimeoutError, TaskNotFoundError,
  TaskNotStartedError, TaskTimeoutError, TaskTooLargeError, TooManyPushConfigsError, TooManyTasksError, WorkerStoppedError
} from './errors.js'
export type { Backlog } from './backlog.js'
