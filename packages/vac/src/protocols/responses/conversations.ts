import type { ConversationHead, ConversationTurn, LocatedConversation } from '@polyvac/core'
import { quoteName } from '@polyvac/core/protocol'
import { NoSuchConversationError, NoSuchItemError } from '../../errors.js'
import { readRoute, type ChatRequest } from '../../protocol.js'
import { itemsOf, placeItems, readItems, withoutItem } from './conversation-items.js'
import { turnId } from '../../chat/turn-id.js'
import { placeOfItem } from './ids.js'
import type { Item } from './input.js'
import {
  ConversationChange, ConversationDeleted, ConversationItem, ConversationItemParams, ConversationParams, ItemList, ItemsQuery, NewConversation, NewItems, OpenAiConversation, ResponseError
} from './schemas.js'
import { citeIn, listOf } from './stored.js'

const tags = ['responses']
const failures = { '4xx': ResponseError, '5xx': ResponseError }

/** The routes of conversations. One that is created here has no VAC until its first question. */
export const conversationRoutes = [
  readRoute({
    method: 'POST',
    path: '/conversations',
    schema: { operationId: 'createOpenAiConversation', summary: 'Begin a conversation, with items that are there already', tags, body: NewConversation, response: { 200: OpenAiConversation, ...failures } },
    async read (request) {
      const { conversations, body: { items, metadata } } = request
      const { change: { added = [] } } = placeItems(await readItems(request, items ?? []))
      return viewConversation(await conversations.import('', { metadata: metadata ?? undefined, turns: added }))
    }
  }),

  readRoute({
    method: 'GET',
    path: '/conversations/:conversation_id',
    schema: { operationId: 'getOpenAiConversation', summary: 'Read a conversation without its items', tags, params: ConversationParams, response: { 200: OpenAiConversation, ...failures } },
    read: async request => viewConversation(await find(request))
  }),

  readRoute({
    method: 'POST',
    path: '/conversations/:conversation_id',
    schema: {
      operationId: 'updateOpenAiConversation', summary: 'Replace the metadata of a conversation', tags, params: ConversationParams, body: ConversationChange, response: { 200: OpenAiConversation, ...failures }
    },
    async read (request) {
      const { id, vac } = await find(request)
      return viewConversation(await request.conversations.change(vac, id, { metadata: request.body.metadata }))
    }
  }),

  readRoute({
    method: 'DELETE',
    path: '/conversations/:conversation_id',
    schema: {
      operationId: 'deleteOpenAiConversation', summary: 'Delete a conversation with its items and their runs', tags, params: ConversationParams, response: { 200: ConversationDeleted, ...failures }
    },
    async read (request) {
      const { id, vac } = await find(request)
      await request.conversations.delete(vac, id)
      return { id, object: 'conversation.deleted', deleted: true }
    }
  }),

  readRoute({
    method: 'POST',
    path: '/conversations/:conversation_id/items',
    schema: { operationId: 'createConversationItems', summary: 'Add items to a conversation', tags, params: ConversationParams, body: NewItems, response: { 200: ItemList, ...failures } },
    async read (request) {
      const { id, vac } = await find(request)
      const written = await readItems(request, request.body.items)
      let items: readonly Item[] = []
      await request.conversations.edit(vac, id, undefined, last => {
        const placed = placeItems(written, last)
        items = placed.items
        return placed.change
      })
      return listOf(items, false)
    }
  }),

  readRoute({
    method: 'GET',
    path: '/conversations/:conversation_id/items',
    schema: {
      operationId: 'listConversationItems', summary: 'List the items of a conversation, the latest first', tags, params: ConversationParams, querystring: ItemsQuery, response: { 200: ItemList, ...failures }
    },
    async read (request) {
      const { query: { limit = 20, order = 'desc', after } } = request
      const conversation = await find(request)
      const ordered = (turn: ConversationTurn): Item[] => {
        const items = itemsOf(turn, citeIn(request, conversation.vac))
        return order === 'desc' ? items.toReversed() : items
      }
      const last = after === undefined ? undefined : await turnOf(request, conversation, after)
      const begun = last === undefined ? [] : ordered(last)
      const place = begun.findIndex(({ id }) => id === after)
      if (after !== undefined && place === -1) throw new NoSuchItemError(quoteName(after))
      const { turns, hasMore } = await request.conversations.turns(conversation.vac, conversation.id, { order, after: last?.id, limit })
      const items = [...begun.slice(place + 1), ...turns.flatMap(ordered)]
      return listOf(items.slice(0, limit), hasMore || items.length > limit)
    }
  }),

  readRoute({
    method: 'GET',
    path: '/conversations/:conversation_id/items/:item_id',
    schema: { operationId: 'getConversationItem', summary: 'Read an item of a conversation', tags, params: ConversationItemParams, response: { 200: ConversationItem, ...failures } },
    async read (request) {
      const { params: { item_id: id } } = request
      const conversation = await find(request)
      const turn = await turnOf(request, conversation, id)
      const item = turn && itemsOf(turn, citeIn(request, conversation.vac)).find(item => item.id === id)
      if (item === undefined) throw new NoSuchItemError(quoteName(id))
      return item
    }
  }),

  readRoute({
    method: 'DELETE',
    path: '/conversations/:conversation_id/items/:item_id',
    schema: {
      operationId: 'deleteConversationItem',
      summary: 'Delete an item of a conversation; that of a question with its answer and its run',
      tags,
      params: ConversationItemParams,
      response: { 200: OpenAiConversation, ...failures }
    },
    async read (request) {
      const { params: { item_id: item } } = request
      const conversation = await find(request)
      const place = placeOfItem(item)
      let isDeleted = false
      if (place !== undefined) {
        await request.conversations.edit(conversation.vac, conversation.id, turnId(place.run), turn => {
          const change = turn && withoutItem(turn, item)
          isDeleted = change !== undefined
          return change ?? {}
        })
      }
      if (!isDeleted) throw new NoSuchItemError(quoteName(item))
      return viewConversation(conversation)
    }
  })
]

/** @throws CONVERSATION_NOT_FOUND, the same for a foreign, an unknown and an invalid id */
async function find ({ conversations, params: { conversation_id: id } }: ChatRequest & { readonly params: { readonly conversation_id: string } }): Promise<LocatedConversation> {
  try {
    return await conversations.locate(id)
  } catch (err) {
    if ((err as { code?: unknown }).code !== 'CONVERSATION_NOT_FOUND') throw err
    throw new NoSuchConversationError(`'${id.slice(0, 100)}'`)
  }
}

/** The turn that has an item, if it is there. */
async function turnOf ({ conversations }: ChatRequest, { vac, id }: LocatedConversation, item: string): Promise<ConversationTurn | undefined> {
  const place = placeOfItem(item)
  return place && await conversations.turn(vac, id, turnId(place.run))
}

function viewConversation ({ id, createdAt, metadata = {} }: ConversationHead): object {
  return { id, object: 'conversation', created_at: Math.floor(createdAt / 1000), metadata }
}
