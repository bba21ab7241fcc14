import { Type, type Static, type TSchema } from '@sinclair/typebox'

// Shapes of the OpenAI API reference, Responses, November 2026, and of Open Responses 2026-04-24. Fields that are not
// used here are left open. `null` means absent everywhere.

/** A field that may be absent or null. */

function optional<Schema extends TSchema> (schema: Schema) { return Type.Optional(Type.Union([schema, Type.Null()])) }

const MAX_ITEMS = 10_000

export const ResponseRequest = Type.Object({
  model: optional(Type.String({ description: 'name of the VAC' })),
  input: optional(Type.Union([Type.String(), Type.Array(Type.Record(Type.String(), Type.Unknown()), { maxItems: MAX_ITEMS })], {
    description: 'the question, or items: the last message of the user is the question, and what is before it is the history'
  })),
  instructions: optional(Type.String({ description: 'system text of this request' })),
  previous_response_id: optional(Type.String({ maxLength: 256, description: 'the response that the input follows' })),
  conversation: optional(Type.Union([Type.String({ minLength: 1, maxLength: 256 }), Type.Object({ id: Type.String({ minLength: 1, maxLength: 256 }) }, { additionalProperties: true })])),
  stream: optional(Type.Boolean()),
  store: optional(Type.Boolean({ description: 'default true where the service keeps answers' })),
  background: optional(Type.Boolean({ description: 'answer at once; the response goes on without its reader' })),
  metadata: optional(Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 512 }), { maxProperties: 16 })),
  tools: optional(Type.Array(Type.Record(Type.String(), Type.Unknown()), { description: 'tools of the caller, which the interpreter may leave unused' })),
  tool_choice: optional(Type.Unknown()),
  text: optional(Type.Object({ format: Type.Optional(Type.Unknown()) }, { additionalProperties: true })),
  safety_identifier: optional(Type.String({ maxLength: 128 })),
  prompt_cache_key: optional(Type.String({ maxLength: 1_024 }))
}, { $id: 'ResponseRequest', title: 'ResponseRequest', additionalProperties: true })
export type ResponseRequest = Static<typeof ResponseRequest>

const open = { additionalProperties: true } as const
const anyObject = Type.Object({}, open)

export const Response = Type.Object({
  id: Type.String(),
  object: Type.Literal('response'),
  created_at: Type.Integer({ description: 'seconds since 1970' }),
  completed_at: Type.Union([Type.Integer(), Type.Null()]),
  status: Type.Union(['queued', 'in_progress', 'completed', 'failed', 'cancelled', 'incomplete'].map(status => Type.Literal(status))),
  model: Type.String({ description: 'the VAC' }),
  output: Type.Array(anyObject, { description: 'items: reasoning, messages, calls of the caller\'s functions' }),
  error: Type.Union([anyObject, Type.Null()]),
  incomplete_details: Type.Union([anyObject, Type.Null()]),
  usage: Type.Union([anyObject, Type.Null()]),
  source_documents: Type.Optional(Type.Array(Type.Unknown(), { description: 'not of OpenAI: the sources of the answer' }))
}, { $id: 'Response', title: 'Response', ...open })

export const ResponseDeleted = Type.Object({ id: Type.String(), object: Type.Literal('response'), deleted: Type.Literal(true) }, { title: 'ResponseDeleted' })

export const ItemList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(anyObject),
  first_id: Type.Union([Type.String(), Type.Null()]),
  last_id: Type.Union([Type.String(), Type.Null()]),
  has_more: Type.Boolean()
}, { $id: 'ResponseItemList', title: 'ResponseItemList' })

export const ResponseParams = Type.Object({ response_id: Type.String({ description: 'id of the response' }) })

export const ResponseQuery = Type.Object({
  stream: Type.Optional(Type.Boolean({ description: 'the events of the response' })),
  starting_after: Type.Optional(Type.Integer({ minimum: 0, description: 'only events with a larger sequence_number' }))
}, open)

export const ItemsQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  order: Type.Optional(Type.Union([Type.Literal('asc'), Type.Literal('desc')])),
  after: Type.Optional(Type.String({ description: 'id of the last item of the page before' }))
}, open)

/** The error object of the OpenAI API. `param` and `code` are texts: some clients hide the message otherwise. */
export const ResponseError = Type.Object({
  error: Type.Object({ message: Type.String(), type: Type.String(), param: Type.String(), code: Type.String() })
}, { $id: 'ResponseError', title: 'ResponseError' })
export type ResponseError = Static<typeof ResponseError>
