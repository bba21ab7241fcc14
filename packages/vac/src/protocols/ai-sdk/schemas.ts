import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { VectorName } from '../../protocol.js'

// Shapes of the AI SDK, packages ai 5 to 7. `null` means absent everywhere; what is not used here is left open.

/** A field that may be absent or null. */
function optional<Schema extends TSchema> (schema: Schema) { return Type.Optional(Type.Union([schema, Type.Null()])) }

const MAX_MESSAGES = 10_000
const open = { additionalProperties: true }

/** What a transport sends. Further fields are for the interpreter. */
export const ChatBody = Type.Object({
  id: optional(Type.String({ maxLength: 256, description: 'id of the chat, which is that of the conversation' })),
  messages: optional(Type.Array(Type.Unknown(), { maxItems: MAX_MESSAGES, description: 'the whole chat; the last message is what to answer' })),
  message: optional(Type.Unknown({ description: 'the last message only; the earlier ones are those that are kept' })),
  prompt: optional(Type.String({ description: 'the question of useCompletion' })),
  trigger: optional(Type.String({ description: '`regenerate-message` asks again' })),
  messageId: optional(Type.String({ description: 'of the message that is edited, asked again or continued' }))
}, { $id: 'AiSdkChat', title: 'AiSdkChat', ...open })
export type ChatBody = Static<typeof ChatBody>

export const ChatQuery = Type.Object({
  protocol: Type.Optional(Type.String({ description: '`text`: the text and nothing else, for TextStreamChatTransport' }))
}, open)

export const ResumeParams = Type.Object({ ...VectorName.properties, id: Type.String({ description: 'id of the chat, or of the run' }) })

export const ResumeQuery = Type.Object({
  ...ChatQuery.properties,
  startIndex: Type.Optional(Type.Integer({
    minimum: -1_000_000_000, maximum: 1_000_000_000, description: 'frames that the reader has; negative: so many frames before the last one until now'
  }))
}, open)

export const StopBody = Type.Union([
  Type.Object({ activeStreamId: optional(Type.String({ description: 'the run to stop: another one is left' })) }, open),
  Type.Null()
])

export const Stopped = Type.Object({ success: Type.Literal(true) }, { $id: 'AiSdkStopped', title: 'AiSdkStopped' })
