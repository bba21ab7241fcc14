import type { TaskMessage, TaskState } from '@polyvac/tasks'
import type { Operation } from '../../protocol/dialect.js'

/** The version as `A2A-Version` and the agent card spell it; patch versions do not change the protocol. */
export const VERSION = '1.0'

/** States of the engine by their name in A2A 1.0 (section 4.1.3). */
export const STATES = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
  rejected: 'TASK_STATE_REJECTED'
} as const satisfies Record<TaskState, string>

/** The filter of ListTasks that matches every state. */
export const UNSPECIFIED = 'TASK_STATE_UNSPECIFIED' as const

export const ROLES = { user: 'ROLE_USER', agent: 'ROLE_AGENT' } as const satisfies Record<TaskMessage['role'], string>

/** The methods of JSON-RPC, and what each does. */
export const METHODS = {
  SendMessage: 'send',
  SendStreamingMessage: 'stream',
  GetTask: 'get',
  ListTasks: 'list',
  CancelTask: 'cancel',
  SubscribeToTask: 'subscribe',
  CreateTaskPushNotificationConfig: 'setPush',
  GetTaskPushNotificationConfig: 'getPush',
  ListTaskPushNotificationConfigs: 'listPush',
  DeleteTaskPushNotificationConfig: 'deletePush',
  GetExtendedAgentCard: 'extendedCard'
} as const satisfies Record<string, Operation>
