import { Type, type Static } from '@sinclair/typebox'

const Optional = Type.Optional
const Struct = Type.Record(Type.String(), Type.Unknown())
const Id = Type.String({ minLength: 1, maxLength: 256 })
/** Not part of 0.3: it comes from the address of a VAC. */
const Tenant = Optional(Type.String())
const HistoryLength = Optional(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 }))

/** A2A 0.3, section 6.5. `kind` names the member with the content. */
export const Part = Type.Object({
  kind: Type.Union([Type.Literal('text'), Type.Literal('file'), Type.Literal('data')]),
  text: Optional(Type.String()),
  file: Optional(Type.Object({
    name: Optional(Type.String()),
    mimeType: Optional(Type.String()),
    bytes: Optional(Type.String()),
    uri: Optional(Type.String({ minLength: 1 }))
  })),
  data: Optional(Struct),
  metadata: Optional(Struct)
})
export type Part = Static<typeof Part>

const Message = Type.Object({
  kind: Optional(Type.Literal('message')),
  messageId: Id,
  role: Type.Union([Type.Literal('user'), Type.Literal('agent')]),
  parts: Type.Array(Type.Object(Part.properties), { minItems: 1 }),
  contextId: Optional(Type.String({ maxLength: 256 })),
  taskId: Optional(Type.String({ maxLength: 256 })),
  metadata: Optional(Struct),
  extensions: Optional(Type.Array(Type.String())),
  referenceTaskIds: Optional(Type.Array(Type.String()))
})

export const PushConfig = Type.Object({
  id: Optional(Type.String({ maxLength: 128 })),
  url: Type.String({ minLength: 1 }),
  token: Optional(Type.String({ maxLength: 4096 })),
  authentication: Optional(Type.Object({
    schemes: Type.Array(Type.String({ pattern: '\\S', maxLength: 64 }), { maxItems: 16 }),
    credentials: Optional(Type.String({ maxLength: 8192 }))
  }))
})
export type PushConfig = Static<typeof PushConfig>

export const SendParams = Type.Object({
  tenant: Tenant,
  message: Type.Object(Message.properties),
  configuration: Optional(Type.Object({
    acceptedOutputModes: Optional(Type.Array(Type.String())),
    blocking: Optional(Type.Boolean()),
    historyLength: HistoryLength,
    pushNotificationConfig: Optional(Type.Object(PushConfig.properties))
  })),
  metadata: Optional(Struct)
})

export const TaskParams = Type.Object({
  tenant: Tenant, id: Id, historyLength: HistoryLength, metadata: Optional(Struct)
})

export const SetPushParams = Type.Object({
  tenant: Tenant, taskId: Id, pushNotificationConfig: Type.Object(PushConfig.properties)
})

export const PushIdParams = Type.Object({
  tenant: Tenant,
  id: Id,
  pushNotificationConfigId: Optional(Type.String({ maxLength: 256 })),
  metadata: Optional(Struct)
})

export const CardParams = Type.Object({ tenant: Tenant })
