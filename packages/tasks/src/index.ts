// The public API of @polyvac/tasks: every export here is public and follows semantic versioning.
export { canFollow, isTerminal, isWaiting, taskStates, terminalStates, transitions, waitingStates } from './contract/task.js'
export type {
  DataPart, FilePart, TaskArtifact, TaskError, TaskEvent, TaskHead, TaskMessage, TaskPart, TaskRecord, TaskState, TaskUpdate, TextPart
} from './contract/task.js'
export type {
  AbortSignalLike, CreatedTask, Delivery, DeliverOptions, DeliveryHandler, DeliveryOutcome, EventsOptions, LastRead, NewPushConfig, NewTask,
  PurgeLimits, PushConfig, TaskContext, TaskHandler, TaskPage, TaskQuery, TaskStore, TaskStoreHealth, TaskWorker, UserMessage, WorkOptions
} from './contract/task-store.js'
export type { AppendOptions, Following, LinkEntry, ReplicaLink } from './contract/replica-link.js'
export type { AddedCount, CountNow, SharedCounts } from './contract/shared-counts.js'
export type { SharedValues } from './contract/shared-values.js'
export type { ConversationHistory, ConversationKey, ConversationRecords, ConversationRow, HistoryQuery, ImportedTurn, NewTurn, TurnAnswer, TurnEdit, TurnQuery, TurnRow } from './contract/conversation-records.js'
export type { ApprovalRecords, ApprovalRow } from './contract/approval-records.js'
export type { SignInRecords } from './contract/sign-in-records.js'
export { deltaWriter } from './execution/delta-writer.js'
export { stepWriter, type StepWriter } from './execution/step-writer.js'
export type { DeltaWriter, DeltaWriterOptions } from './execution/delta-writer.js'
export { foldTask, MAX_PARTIAL_CHARS, TaskFold } from './log/fold-task.js'
export type { TaskOrigin } from './log/fold-task.js'
export { turnAnswer } from './log/task-updates.js'
export { isTurnOver, yieldToEventLoop } from './basics/turn-time.js'
export { pushBackoff } from './push/push-backoff.js'
export { ANYONE, ownerKey, ownerOfKey } from './basics/owner-key.js'
export { isName } from './basics/names.js'
export { OWNER_SHARE } from './basics/owner-share.js'
export type { TaskLogger } from './basics/logger.js'
export {
  InvalidCursorError, InvalidStoreOptionError, InvalidTaskError, isTaskError, StoreClosedError, StoreDatabaseError, StoreFileError, StoreFullError,
  StoreUnavailableError, TaskCanceledError, TaskConflictError, TaskFencedError, TaskInputTimeoutError, TaskNotFoundError,
  TaskNotStartedError, TaskTimeoutError, TaskTooLargeError, TurnInProgressError, TooManyPushConfigsError, TooManyTasksError, WorkerStoppedError
} from './basics/errors.js'
export type { Backlog } from './contract/backlog.js'
