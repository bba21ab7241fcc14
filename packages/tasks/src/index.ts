export { canFollow, isTerminal, taskStates, terminalStates, transitions } from './task.js'
export type { TaskArtifact, TaskError, TaskEvent, TaskMessage, TaskRecord, TaskState, TaskUpdate, TextPart } from './task.js'
export type {
  Delivery, DeliverOptions, DeliveryHandler, DeliveryOutcome, EventsOptions, NewPushConfig, NewTask, PurgeLimits, PushConfig,
  TaskContext, TaskHandler, TaskPage, TaskQuery, TaskStore, TaskStoreHealth, TaskWorker, UserMessage, WorkOptions
} from './task-store.js'
