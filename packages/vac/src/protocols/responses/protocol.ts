import { askRoute, followRoute, readRoute, type ChatProtocol } from '../../protocol.js'
import { retryHeaders } from '../../openai/errors.js'
import { streamOf, toAsked } from './ask.js'
import { conversationRoutes } from './conversations.js'
import { toResponseError } from './errors.js'
import { ItemList, ItemsQuery, Response, ResponseDeleted, ResponseError, ResponseParams, ResponseQuery, ResponseRequest } from './schemas.js'
import { findResponse, inputItems, pageOf, readResponse, writerOf } from './stored.js'

const tags = ['responses']
const failures = { '4xx': ResponseError, '5xx': ResponseError }

const routes = [
  askRoute({
    method: 'POST',
    path: '/responses',
    streams: 'events',
    schema: { operationId: 'createResponse', summary: 'Ask a VAC, as the Responses API does', tags, body: ResponseRequest, response: { 200: Response, ...failures } },
    ask: toAsked
  }),

  followRoute({
    method: 'GET',
    path: '/responses/:response_id',
    streams: 'events',
    schema: {
      operationId: 'getResponse',
      summary: 'Read a response, or its events from its beginning or after one of them',
      tags,
      params: ResponseParams,
      querystring: ResponseQuery,
      response: { 200: Response, ...failures }
    },
    async follow (request) {
      const { params, query: { stream, starting_after: after = -1 } } = request
      const stored = await findResponse(request, params.response_id)
      if (stream !== true) return { body: await readResponse(request, stored) }
      return { vac: undefined, id: stored.run.id, after: 0, turn: stored.turn, format: streamOf(writerOf(request, stored, after)) }
    }
  }),

  readRoute({
    method: 'POST',
    path: '/responses/:response_id/cancel',
    schema: { operationId: 'cancelResponse', summary: 'Stop a response', tags, params: ResponseParams, response: { 200: Response, ...failures } },
    async read (request) {
      const stored = await findResponse(request, request.params.response_id)
      const { run: { id, state, turn: present }, turn } = stored
      if (turn !== present || !['queued', 'running'].includes(state)) return await readResponse(request, stored)
      return await readResponse(request, { run: await request.runs.cancel(undefined, id), turn })
    }
  }),

  readRoute({
    method: 'DELETE',
    path: '/responses/:response_id',
    schema: { operationId: 'deleteResponse', summary: 'Stop a response and delete it', tags, params: ResponseParams, response: { 200: ResponseDeleted, ...failures } },
    async read (request) {
      const { params: { response_id: id } } = request
      const { run } = await findResponse(request, id)
      await request.runs.delete(undefined, run.id)
      return { id, object: 'response', deleted: true }
    }
  }),

  readRoute({
    method: 'GET',
    path: '/responses/:response_id/input_items',
    schema: { operationId: 'listInputItems', summary: 'List what a response was asked with', tags, params: ResponseParams, querystring: ItemsQuery, response: { 200: ItemList, ...failures } },
    async read (request) {
      const stored = await findResponse(request, request.params.response_id)
      return pageOf(await inputItems(request, stored), request.query)
    }
  }),

  ...conversationRoutes
]

/** The Responses API of OpenAI, and Open Responses: `model` names the VAC. */
export const responses = {
  name: 'responses',
  prefix: '/openai/v1',
  routes: () => routes,
  toError: toResponseError,
  list: '/openai/v1/models',
  requestIdHeader: 'x-request-id',
  errorHeaders: retryHeaders
} satisfies ChatProtocol
