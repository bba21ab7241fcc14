import type { TaskState } from '@polyvac/tasks'
import type { Operation } from '../../protocol/dialect.js'

/** The version as `A2A-Version` would name it; clients of 0.3 name none. */
export const VERSION = '0.3'

/** States of the engine by their name in A2A 0.3 (section 6.3), which are the same words. */
export const STATES = {
  submitted: 'submitted',
  working: 'working',
  'input-required': 'input-required',
  'auth-required': 'auth-required',
  completed: 'completed',
  failed: 'failed',
  canceled: 'canceled',
  rejected: 'rejected'
} as const satisfies Record<TaskState, string>

/** The methods of JSON-RPC, and what each does. There is none to list tasks. */
export const METHODS = {
  'message/send': 'send',
  'message/stream': 'stream',
  'tasks/get': 'get',
  'tasks/cancel': 'cancel',
  'tasks/resubscribe': 'subscribe',
  'tasks/pushNotificationConfig/set': 'setPush',
  'tasks/pushNotificationConfig/get': 'getPush',
  'tasks/pushNotificationConfig/list': 'listPush',
  'tasks/pushNotificationConfig/delete': 'deletePush',
  'agent/getAuthenticatedExtendedCard': 'extendedCard'
} as const satisfies Record<string, Operation>
