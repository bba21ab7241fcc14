import { ErrorBody, type Conversation as StoredConversation, type ConversationExport, type ConversationHead as StoredHead, type ConversationTurn } from '@polyvac/core'
import { InvalidRequestError } from '@polyvac/core/protocol'
import { Type, type Static } from '@sinclair/typebox'
import { readRoute, VectorName } from '../../protocol.js'
import { addressesOf } from './citations.js'
import {
  Conversation, ConversationHead, ConversationImport, ConversationList, ConversationListQuery, ConversationParams, ConversationQuery, ConversationTitle, type Turn
} from './conversation-schemas.js'

const tags = ['vac']
const failures = { '4xx': ErrorBody, '5xx': ErrorBody }
const DEFAULT_LIMIT = 50

/** The routes of conversations, of every protocol. */
export const conversationRoutes = [
  readRoute({
    method: 'GET',
    path: '/:vector_name/conversations',
    schema: {
      operationId: 'listConversations',
      summary: 'List the conversations with a VAC, latest change first',
      tags,
      params: VectorName,
      querystring: ConversationListQuery,
      response: { 200: ConversationList, ...failures }
    },
    async read ({ vac, conversations, params, query: { limit = DEFAULT_LIMIT, cursor } }) {
      const page = await conversations.list(vac(params.vector_name).name, { limit, cursor })
      return { conversations: page.conversations.map(viewHead), next_cursor: page.nextCursor }
    }
  }),

  readRoute({
    method: 'POST',
    path: '/:vector_name/conversations',
    status: 201,
    schema: {
      operationId: 'importConversation',
      summary: 'Create a conversation from an export',
      tags,
      params: VectorName,
      body: ConversationImport,
      response: { 201: ConversationHead, ...failures }
    },
    read: async ({ vac, conversations, params, body }) => viewHead(await conversations.import(vac(params.vector_name).name, toExport(body)))
  }),

  readRoute({
    method: 'GET',
    path: '/:vector_name/conversations/:conversation_id',
    schema: {
      operationId: 'getConversation',
      summary: 'Read a conversation with its latest turns',
      tags,
      params: ConversationParams,
      querystring: ConversationQuery,
      response: { 200: Conversation, ...failures }
    },
    async read ({ vac, cite, conversations, params, query }) {
      const of = vac(params.vector_name)
      const { turns, ...conversation } = viewConversation(await conversations.get(of.name, params.conversation_id, query.before))
      const cited = turns.map(turn => ({ ...turn, citations: addressesOf(cite, of, { answer: '', source_documents: turn.source_documents }) }))
      return { ...conversation, turns: cited.map(({ citations, ...turn }) => citations.length === 0 ? turn : { ...turn, citations }) }
    }
  }),

  readRoute({
    method: 'GET',
    path: '/:vector_name/conversations/:conversation_id/export',
    schema: { operationId: 'exportConversation', summary: 'Export a conversation with all its turns', tags, params: ConversationParams, response: { 200: Conversation, ...failures } },
    async read ({ vac, conversations, params }) {
      const [{ name }, id] = [vac(params.vector_name), params.conversation_id]
      let page = await conversations.get(name, id)
      const turns = [...page.turns]
      while (page.hasEarlier && page.turns[0] !== undefined) {
        page = await conversations.get(name, id, page.turns[0].id)
        turns.unshift(...page.turns)
      }
      return viewConversation({ ...page, turns, hasEarlier: false })
    }
  }),

  readRoute({
    method: 'PATCH',
    path: '/:vector_name/conversations/:conversation_id',
    schema: {
      operationId: 'renameConversation', summary: 'Give a conversation a title', tags, params: ConversationParams, body: ConversationTitle, response: { 200: ConversationHead, ...failures }
    },
    read: async ({ vac, conversations, params, body }) => viewHead(await conversations.change(vac(params.vector_name).name, params.conversation_id, { title: body.title.trim() }))
  }),

  readRoute({
    method: 'DELETE',
    path: '/:vector_name/conversations/:conversation_id',
    schema: {
      operationId: 'deleteConversation', summary: 'Delete a conversation with its turns and their runs', tags, params: ConversationParams, response: { 204: Type.Null(), ...failures }
    },
    async read ({ vac, conversations, params }) {
      await conversations.delete(vac(params.vector_name).name, params.conversation_id)
      return undefined
    }
  })
]

function viewHead ({ id, title, createdAt, updatedAt, turnCount }: StoredHead): ConversationHead {
  return { id, title, created_at: timeOf(createdAt), updated_at: timeOf(updatedAt), turn_count: turnCount }
}

function viewConversation ({ turns, hasEarlier, ...head }: StoredConversation): Conversation {
  return { ...viewHead(head), turns: turns.map(viewTurn), has_earlier: hasEarlier }
}

function viewTurn ({ id, question, answer, state, error, sourceDocuments, steps, files, createdAt, durationMs, metadata }: ConversationTurn): Static<typeof Turn> {
  return {
    id,
    question,
    ...answer !== undefined && { answer },
    state,
    ...error !== undefined && { error },
    source_documents: [...sourceDocuments],
    ...metadata !== undefined && { metadata },
    steps: [...steps],
    files: [...files],
    created_at: timeOf(createdAt),
    ...durationMs !== undefined && { duration_ms: durationMs }
  }
}

function toExport ({ id, title, turns }: ConversationImport): ConversationExport {
  const now = Date.now()
  return {
    id: id ?? undefined,
    title: title ?? undefined,
    turns: turns.map((turn, i) => ({
      question: turn.question,
      answer: turn.answer ?? undefined,
      createdAt: turn.created_at == null ? now : parseTime(turn.created_at, `body/turns/${i}/created_at`),
      ...turn.id != null && { id: turn.id },
      ...turn.source_documents != null && { sourceDocuments: turn.source_documents },
      ...turn.metadata != null && { metadata: turn.metadata },
      ...turn.steps != null && { steps: turn.steps },
      ...turn.files != null && { files: turn.files },
      ...turn.state != null && { state: turn.state },
      ...turn.duration_ms != null && { durationMs: Math.round(turn.duration_ms) },
      ...turn.error != null && { error: turn.error }
    }))
  }
}

/** @throws BAD_REQUEST for a time that does not exist */
function parseTime (text: string, path: string): number {
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw new InvalidRequestError([{ path, message: 'must be a time that exists' }])
  return time
}

function timeOf (ms: number): string { return new Date(ms).toISOString() }
