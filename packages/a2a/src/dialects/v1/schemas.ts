import { Type, type Static } from '@sinclair/typebox'
import { STATES, UNSPECIFIED } from './names.js'

const Optional = Type.Optional

const Struct = (description: string) => Type.Record(Type.String(), Type.Unknown(), { description })
const Tenant = Optional(Type.String({ maxLength: 256, description: 'name of the VAC' }))
const HistoryLength = Optional(Type.Integer({
  minimum: 0, maximum: 2 ** 31 - 1, description: 'newest messages of the answer; default: all; 0: none'
}))
const TaskId = Type.String({ minLength: 1, maxLength: 256, description: 'id of the task' })

/** A2A 1.0, section 4.1.6. Exactly one of `text`, `raw`, `url` and `data`. */
export const Part = Type.Object({
  text: Optional(Type.String()),
  raw: Optional(Type.String({ description: 'content of a file in base64' })),
  url: Optional(Type.String({ minLength: 1, description: 'where a file is' })),
  data: Optional(Type.Unknown({ description: 'any JSON value' })),
  metadata: Optional(Struct('of the part')),
  filename: Optional(Type.String()),
  mediaType: Optional(Type.String())
}, { title: 'A2aPart' })
export type Part = Static<typeof Part>
export const CONTENTS = ['text', 'raw', 'url', 'data'] as const

const Message = Type.Object({
  messageId: Type.String({ minLength: 1, maxLength: 256, description: 'made by the sender' }),
  role: Type.Union([Type.Literal('ROLE_USER'), Type.Literal('ROLE_AGENT')]),
  parts: Type.Array(Type.Object(Part.properties), { minItems: 1 }),
  contextId: Optional(Type.String({
    maxLength: 256, description: 'the conversation; its earlier turns become the chat history'
  })),
  taskId: Optional(Type.String({ maxLength: 256, description: 'a task that asks for input' })),
  metadata: Optional(Struct('`skillId` names the skill')),
  extensions: Optional(Type.Array(Type.String())),
  referenceTaskIds: Optional(Type.Array(Type.String()))
}, { title: 'A2aMessage' })

const Authentication = Type.Object({
  scheme: Type.String({ pattern: '\\S', maxLength: 64 }),
  credentials: Optional(Type.String({ maxLength: 8192 }))
})

export const PushConfig = Type.Object({
  tenant: Tenant,
  id: Optional(Type.String({ maxLength: 128 })),
  taskId: Optional(Type.String({ maxLength: 256 })),
  url: Type.String({ minLength: 1 }),
  token: Optional(Type.String({ maxLength: 4096 })),
  authentication: Optional(Authentication)
}, { title: 'A2aTaskPushNotificationConfig' })
export type PushConfig = Static<typeof PushConfig>

export const SendParams = Type.Object({
  tenant: Tenant,
  message: Type.Object(Message.properties),
  configuration: Optional(Type.Object({
    acceptedOutputModes: Optional(Type.Array(Type.String())),
    taskPushNotificationConfig: Optional(Type.Object(PushConfig.properties)),
    historyLength: HistoryLength,
    returnImmediately: Optional(Type.Boolean({ description: 'true: answer once the task is created' }))
  })),
  metadata: Optional(Struct('of the request'))
}, { title: 'A2aSendMessageRequest' })

export const GetParams = Type.Object({
  tenant: Tenant,
  id: TaskId,
  historyLength: HistoryLength
}, { title: 'A2aGetTaskRequest' })

export const TaskParams = Type.Object({
  tenant: Tenant, id: TaskId, metadata: Optional(Struct('of the request'))
}, { title: 'A2aTaskRequest' })

const State = Type.Union([...Object.values(STATES), UNSPECIFIED].map(state => Type.Literal(state)))

export const ListParams = Type.Object({
  tenant: Tenant,
  contextId: Optional(Type.String({ maxLength: 256 })),
  status: Optional(State),
  pageSize: Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50 })),
  pageToken: Optional(Type.String({ description: '`nextPageToken` of the page before' })),
  historyLength: HistoryLength,
  statusTimestampAfter: Optional(Type.String({ maxLength: 64, description: 'RFC 3339; status of this time or later' })),
  includeArtifacts: Optional(Type.Boolean())
}, { title: 'A2aListTasksRequest' })

export const PushIdParams = Type.Object({
  tenant: Tenant, taskId: TaskId, id: Type.String({ minLength: 1, maxLength: 256 })
}, { title: 'A2aPushConfigRequest' })

export const ListPushParams = Type.Object({
  tenant: Tenant,
  taskId: TaskId,
  pageSize: Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  pageToken: Optional(Type.String())
}, { title: 'A2aListPushConfigsRequest' })

export const CardParams = Type.Object({ tenant: Tenant }, { title: 'A2aExtendedCardRequest' })
