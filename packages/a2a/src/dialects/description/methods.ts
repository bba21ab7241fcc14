import { NOT_BLANK } from '@polyvac/core/plugin'
import { Type, type Static, type TObject, type TSchema } from '@sinclair/typebox'
import { Task, TaskStateName } from './record.js'

const TaskId = Type.String({ minLength: 1, maxLength: 256, description: 'id of the task, as it was answered' })
const JsonObject = Type.Object({}, { additionalProperties: true })

/** Where to tell of a task's updates. Secrets go in and are never read back. */
export const PushNotificationConfig = Type.Object({
  id: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'name of the config; one of the same name is replaced; default `default`' })),
  url: Type.String({ minLength: 1, description: 'the webhook: https, public unless the service allows it' }),
  token: Type.Optional(Type.String({ maxLength: 4096, description: 'sent as X-A2A-Notification-Token' })),
  authentication: Type.Optional(Type.Object({
    schemes: Type.Optional(Type.Array(Type.String({ pattern: NOT_BLANK, maxLength: 64 }), { maxItems: 16, description: 'HTTP authentication schemes; the first one is used' })),
    scheme: Type.Optional(Type.String({ pattern: NOT_BLANK, maxLength: 64, description: 'the same, one' })),
    credentials: Type.Optional(Type.String({ maxLength: 8192, description: 'sent after the scheme in Authorization' }))
  }))
}, { title: 'PushNotificationConfig' })
export type PushNotificationConfig = Static<typeof PushNotificationConfig>

export const SendParams = Type.Object({
  skillName: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'name of a skill of the agent card; required unless `taskId` is given' })),
  input: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'input of the skill; with `taskId`, the answer to its question, as `query`' })),
  clientMetadata: Type.Optional(JsonObject),
  taskId: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'a task that is input-required: goes on with `input`' })),
  pushNotificationConfig: Type.Optional(Type.Object(PushNotificationConfig.properties))
}, { title: 'SendParams' })
export type SendParams = Static<typeof SendParams>

export const TaskParams = Type.Object({ taskId: TaskId }, { title: 'TaskParams' })
export type TaskParams = Static<typeof TaskParams>

export const ListParams = Type.Object({
  state: Type.Optional(TaskStateName),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50, description: 'tasks in a page' })),
  cursor: Type.Optional(Type.String({ minLength: 1, description: '`nextCursor` of the page before' }))
}, { title: 'ListParams' })
export type ListParams = Static<typeof ListParams>

export const PushParams = Type.Object({ taskId: TaskId, pushNotificationConfig: Type.Object(PushNotificationConfig.properties) }, { title: 'PushParams' })
export type PushParams = Static<typeof PushParams>

export const PushIdParams = Type.Object({ taskId: TaskId, id: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'name of the config; default: the first' })) }, { title: 'PushIdParams' })
export type PushIdParams = Static<typeof PushIdParams>

/** The config as it is read back. */
export const StoredPushConfig = Type.Object({
  taskId: Type.String(),
  pushNotificationConfig: Type.Object({
    id: Type.String(),
    url: Type.String(),
    authentication: Type.Optional(Type.Object({ schemes: Type.Array(Type.String()) })),
    disabled: Type.Optional(Type.String({ description: 'why nothing is delivered any more' }))
  })
}, { title: 'StoredPushConfig' })
export type StoredPushConfig = Static<typeof StoredPushConfig>

export interface Method {
  readonly summary: string
  readonly params: TObject
  readonly result: TSchema
}

/** Every method of the dialect. Its path is `/a2a/` and its name. */
export const METHODS = {
  'tasks/send': { summary: 'Create a task and wait for its end', params: SendParams, result: Task },
  'tasks/sendSubscribe': { summary: 'Create a task and follow it as server-sent events', params: SendParams, result: Task },
  'tasks/resubscribe': { summary: 'Follow a task, from Last-Event-ID on', params: TaskParams, result: Task },
  'tasks/get': { summary: 'Read a task', params: TaskParams, result: Task },
  'tasks/list': { summary: 'List tasks, newest status first', params: ListParams, result: Type.Object({ tasks: Type.Array(Task), nextCursor: Type.Optional(Type.String()) }, { title: 'TaskPage' }) },
  'tasks/cancel': { summary: 'Cancel a task and stop its work', params: TaskParams, result: Task },
  'tasks/pushNotification/set': { summary: 'Tell a webhook of the updates of a task', params: PushParams, result: StoredPushConfig },
  'tasks/pushNotification/get': { summary: 'Read a push notification config, without its secrets', params: PushIdParams, result: StoredPushConfig },
  'tasks/pushNotification/delete': { summary: 'Delete a push notification config', params: PushIdParams, result: Type.Null() }
} as const satisfies Record<string, Method>

export type MethodName = keyof typeof METHODS
