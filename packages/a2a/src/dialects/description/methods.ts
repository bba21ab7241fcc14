import { NOT_BLANK } from '@polyvac/core/plugin'
import { Type, type Static, type TObject, type TSchema } from '@sinclair/typebox'
import { Task, TaskStateName } from './record.js'

const { Optional } = Type
const Name = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description })
const TaskId = Name(256, 'id of the task, from an earlier answer')
const JsonObject = (description?: string) =>
  Type.Object({}, { additionalProperties: true, ...(description === undefined ? {} : { description }) })
const SCHEME = { pattern: NOT_BLANK, maxLength: 64 }

/** A webhook for the updates of a task. Its secrets are never read back. */
export const PushNotificationConfig = Type.Object({
  id: Optional(Name(128, 'name of the config; one of the same name is replaced; default `default`')),
  url: Type.String({ minLength: 1, description: 'the webhook: https, public unless the service allows it' }),
  token: Optional(Type.String({ maxLength: 4096, description: 'sent as X-A2A-Notification-Token' })),
  authentication: Optional(Type.Object({
    schemes: Optional(Type.Array(Type.String(SCHEME), {
      maxItems: 16, description: 'HTTP authentication schemes; the first one is used'
    })),
    scheme: Optional(Type.String({ ...SCHEME, description: 'the same, one' })),
    credentials: Optional(Type.String({ maxLength: 8192, description: 'sent after the scheme in Authorization' }))
  }))
}, { title: 'PushNotificationConfig' })
export type PushNotificationConfig = Static<typeof PushNotificationConfig>

export const SendParams = Type.Object({
  skillName: Optional(Name(256, 'name of a skill of the agent card; required without `taskId`')),
  input: Optional(JsonObject('input of the skill; with `taskId`, the answer to its question, as `query`')),
  clientMetadata: Optional(JsonObject('kept with the task; `steps: true` asks for the steps of the answer')),
  metadata: Optional(Type.Unknown({ description: 'an object with `steps: true` asks for the steps of the answer' })),
  taskId: Optional(Name(256, 'a task that is input-required: continues with `input`')),
  contextId: Optional(Name(256, 'the conversation, whose turns are the history; without it the task begins one')),
  pushNotificationConfig: Optional(Type.Object(PushNotificationConfig.properties))
}, { title: 'SendParams' })
export type SendParams = Static<typeof SendParams>

const TaskParams = Type.Object({ taskId: TaskId }, { title: 'TaskParams' })

const ListParams = Type.Object({
  state: Optional(TaskStateName),
  limit: Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50, description: 'tasks in a page' })),
  cursor: Optional(Type.String({ minLength: 1, description: '`nextCursor` of the page before' }))
}, { title: 'ListParams' })

const PushParams = Type.Object({
  taskId: TaskId,
  pushNotificationConfig: Type.Object(PushNotificationConfig.properties)
}, { title: 'PushParams' })

const PushIdParams = Type.Object({
  taskId: TaskId,
  id: Optional(Name(256, 'name of the config; default: the first'))
}, { title: 'PushIdParams' })

const TaskPage = Type.Object({ tasks: Type.Array(Task), nextCursor: Optional(Type.String()) }, { title: 'TaskPage' })

/** A config without its secrets. */
export const StoredPushConfig = Type.Object({
  taskId: Type.String(),
  pushNotificationConfig: Type.Object({
    id: Type.String(),
    url: Type.String(),
    authentication: Optional(Type.Object({ schemes: Type.Array(Type.String()) })),
    disabled: Optional(Type.String({ description: 'why deliveries have stopped' }))
  })
}, { title: 'StoredPushConfig' })
export type StoredPushConfig = Static<typeof StoredPushConfig>

const OUTCOMES = ['delivered', 'retry', 'disabled'] as const

/** One request to a webhook. */
export const PushDelivery = Type.Object({
  at: Type.String({ description: 'when the request began, ISO 8601, UTC' }),
  ms: Type.Number({ description: 'its duration in ms' }),
  status: Optional(Type.Integer({ description: 'HTTP status of the receiver' })),
  error: Optional(Type.String({ description: 'code of the error where no status arrived' })),
  outcome: Type.Union(OUTCOMES.map(outcome => Type.Literal(outcome)), {
    description: '`retry`: it is sent again; `disabled`: nothing more is sent'
  }),
  try: Type.Integer({ minimum: 1, description: 'tries of the same update so far, this one included' })
}, { title: 'PushDelivery' })

/** A config without its secrets, and what was sent to it. */
export const ReadPushConfig = Type.Object({
  ...StoredPushConfig.properties,
  deliveries: Type.Array(PushDelivery, {
    description: 'the last requests of the process that answers, the newest last; empty where it made none'
  })
}, { title: 'ReadPushConfig' })
export type ReadPushConfig = Static<typeof ReadPushConfig>

export interface Method {
  readonly summary: string
  readonly params: TObject
  readonly result: TSchema
}

/** Every method of the dialect. Its path is `/a2a/` and its name. */
export const METHODS = {
  'tasks/send': { summary: 'Create a task and wait for its end', params: SendParams, result: Task },
  'tasks/sendSubscribe': {
    summary: 'Create a task and follow it as server-sent events', params: SendParams, result: Task
  },
  'tasks/resubscribe': { summary: 'Follow a task, from Last-Event-ID on', params: TaskParams, result: Task },
  'tasks/get': { summary: 'Read a task', params: TaskParams, result: Task },
  'tasks/list': { summary: 'List tasks, newest status first', params: ListParams, result: TaskPage },
  'tasks/cancel': { summary: 'Cancel a task and stop its work', params: TaskParams, result: Task },
  'tasks/pushNotification/set': {
    summary: 'Set a webhook for the updates of a task', params: PushParams, result: StoredPushConfig
  },
  'tasks/pushNotification/get': {
    summary: 'Read a push notification config, without its secrets, and its last deliveries',
    params: PushIdParams,
    result: ReadPushConfig
  },
  'tasks/pushNotification/delete': {
    summary: 'Delete a push notification config', params: PushIdParams, result: Type.Null()
  }
} as const satisfies Record<string, Method>

export type MethodName = keyof typeof METHODS
export type ParamsOf<Name extends MethodName> = Static<(typeof METHODS)[Name]['params']>
