import { Answer, Step } from '@polyvac/core'
import { RUN_STATES, STEPS } from '@polyvac/core/protocol'
import { Type, type Static } from '@sinclair/typebox'
import { SourceAddress } from './citations.js'

const MAX_ID = 256
const MAX_IMPORTED_TURNS = 1_000
/** The validator knows no `format`. */
const RFC_3339 = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d{1,9})?(?:Z|[+-]\\d\\d:\\d\\d)$'
const Time = Type.String({ format: 'date-time' })
const ErrorText = Type.Object({ code: Type.String(), message: Type.String() })
const { source_documents: Sources, metadata: Metadata } = Answer.properties

/** The id of a conversation in requests. */
export const ConversationId = Type.String({ minLength: 1, maxLength: MAX_ID, description: 'the conversation; the service keeps its turns' })

export const ConversationHead = Type.Object({
  id: Type.String(),
  title: Type.String({ description: 'the first question, shortened' }),
  created_at: Time,
  updated_at: Time,
  turn_count: Type.Integer()
}, { $id: 'ConversationHead', title: 'ConversationHead' })
export type ConversationHead = Static<typeof ConversationHead>

const TurnFile = Type.Object({
  ...STEPS.file.properties,
  role: Type.Optional(Type.Literal('user', { description: 'of a file that came with the question' }))
})

export const Turn = Type.Object({
  id: Type.String(),
  question: Type.String(),
  answer: Type.Optional(Type.String({ description: 'absent while there is none, and where it failed or was cancelled' })),
  source_documents: Sources,
  citations: Type.Optional(Type.Array(SourceAddress, { description: 'of the sources that have an address' })),
  metadata: Metadata,
  steps: Type.Array(Step),
  files: Type.Array(TurnFile, { description: 'of the question, then of the answer; one that is too large is named only' }),
  state: Type.Union(RUN_STATES.map(state => Type.Literal(state))),
  created_at: Time,
  duration_ms: Type.Optional(Type.Number({ minimum: 0 })),
  error: Type.Optional(ErrorText)
}, { title: 'Turn' })

/** Answer of GET /vac/<vector_name>/conversations/<id>, and the body that creates a conversation. */
export const Conversation = Type.Object({
  ...ConversationHead.properties,
  turns: Type.Array(Turn, { description: 'in the order of the questions' }),
  has_earlier: Type.Boolean({ description: 'whether there are turns before these: read them with `before`' })
}, { $id: 'Conversation', title: 'Conversation' })
export type Conversation = Static<typeof Conversation>

/** Answer of GET /vac/<vector_name>/conversations. */
export const ConversationList = Type.Object({
  // an `$id` within another schema would be a reference that the document has not
  conversations: Type.Array(Type.Object(ConversationHead.properties, { title: 'ConversationHead' })), next_cursor: Type.Optional(Type.String())
}, { $id: 'ConversationList', title: 'ConversationList' })
export type ConversationList = Static<typeof ConversationList>

export const ConversationListQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'default 50' })),
  cursor: Type.Optional(Type.String({ description: '`next_cursor` of the page before' }))
}, { additionalProperties: false })

export const ConversationQuery = Type.Object({
  before: Type.Optional(Type.String({ minLength: 1, maxLength: 2 * MAX_ID, description: 'only the turns before the one with this id' }))
}, { additionalProperties: false })

export const ConversationParams = Type.Object({ vector_name: Type.String({ description: 'name of the VAC' }), conversation_id: Type.String() })

export const ConversationTitle = Type.Object({
  title: Type.String({ minLength: 1, maxLength: MAX_ID, pattern: '\\S' })
}, { additionalProperties: false })

const nullable = <Schema extends Parameters<typeof Type.Optional>[0]>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]))

/** Body of POST /vac/<vector_name>/conversations: an export, of which only the questions are required. */
export const ConversationImport = Type.Object({
  id: nullable(ConversationId),
  title: nullable(Type.String({ maxLength: 10_000 })),
  turns: Type.Array(Type.Object({
    id: nullable(Type.String({ minLength: 1, maxLength: 2 * MAX_ID })),
    question: Type.String(),
    answer: nullable(Type.String()),
    source_documents: nullable(Sources),
    metadata: nullable(Metadata),
    steps: nullable(Type.Array(Step)),
    files: nullable(Type.Array(TurnFile)),
    state: nullable(Turn.properties.state),
    created_at: nullable(Type.String({ pattern: RFC_3339, description: 'a time of RFC 3339' })),
    duration_ms: nullable(Type.Number({ minimum: 0, maximum: 1e12 })),
    error: nullable(ErrorText)
  }, { additionalProperties: true }), { maxItems: MAX_IMPORTED_TURNS })
}, { $id: 'ConversationImport', title: 'ConversationImport', additionalProperties: true })
export type ConversationImport = Static<typeof ConversationImport>
