import { ChatHistory, VacInfo } from '@polyvac/core'
import { ApprovalData, MemorySearchInput, NOT_BLANK } from '@polyvac/core/protocol'
import { ConversationId } from './conversation-schemas.js'
import { Type, type Static } from '@sinclair/typebox'

/** Body of POST /vac/<vector_name>. Further fields go to the interpreter as keyword arguments. */
export const VacQuery = Type.Object({
  user_input: Type.String({ pattern: NOT_BLANK, description: 'the question' }),
  chat_history: Type.Optional(Type.Union([ChatHistory, Type.Null()])),
  background: Type.Optional(Type.Boolean({ description: 'answer 202 at once; the answer is a run that goes on without its reader' })),
  conversation_id: Type.Optional(Type.Union([ConversationId, Type.Null()])),
  approval: Type.Optional(ApprovalData),
  store: Type.Optional(Type.Unknown({ description: '`false` leaves the question and its answer out of the conversation; any other value goes to the interpreter' })),
  citations: Type.Optional(Type.Unknown({ description: '`true` asks for the addresses of the sources; any other value goes to the interpreter' })),
  steps: Type.Optional(Type.Unknown({ description: '`true` asks for the steps of the answer; any other value goes to the interpreter' }))
}, { $id: 'VacQuery', title: 'VacQuery', additionalProperties: true })
export type VacQuery = Static<typeof VacQuery>

/** Body of POST /vac/streaming/<vector_name>. */
export const VacStreamQuery = Type.Object({
  ...VacQuery.properties,
  stream_wait_time: Type.Optional(Type.Number({
    minimum: 0,
    maximum: 3600,
    description: 'longest pause without a byte, in seconds; then a keep-alive is sent (SSE); default 7, 0 for none'
  })),
  stream_timeout: Type.Optional(Type.Number({
    minimum: 1, maximum: 3600, description: 'total time for the interpreter, in seconds; default 120'
  })),
  stream_only: Type.Optional(Type.Boolean({ description: 'plain text: leave out the result object at the end' }))
}, { $id: 'VacStreamQuery', title: 'VacStreamQuery', additionalProperties: true })
export type VacStreamQuery = Static<typeof VacStreamQuery>

/** Answer of GET /vac. */
export const VacList = Type.Object({ vacs: Type.Array(VacInfo) }, { $id: 'VacList', title: 'VacList' })
export type VacList = Static<typeof VacList>

const { search_query: searched, limit, similarity_threshold: threshold } = MemorySearchInput.properties
const shared = { limit, similarity_threshold: threshold, threshold: Type.Optional(Type.Number({ ...threshold, description: 'short for `similarity_threshold`' })) }

/** The input of the memory skill as a query string, and as a body. A misspelt name would be a wrong result. */
export const SearchQuery = Type.Object({ q: Type.String({ ...searched, pattern: NOT_BLANK }), ...shared }, { additionalProperties: false })
export const SearchBody = Type.Object({ search_query: searched, ...shared }, { additionalProperties: false })
export type SearchBody = Static<typeof SearchBody>
