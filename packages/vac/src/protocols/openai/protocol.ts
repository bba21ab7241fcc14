import { eventText, InvalidRequestError, vacInfo } from '@polyvac/core/protocol'
import { Type, type Static } from '@sinclair/typebox'
import type { Vac } from '@polyvac/core'
import { askRoute, EVENT_STREAM, readRoute, VectorName, type Asked, type ChatProtocol, type ChatRequest } from '../../protocol.js'
import { Completion, toOpenAiError, toQuestion } from './frames.js'
import { ChatCompletion, ChatCompletionRequest, Model, ModelList, OpenAiError } from './schemas.js'
import { retryHeaders } from '../../openai/errors.js'
import { mayCallTools } from '../../openai/tool-calls.js'

const tags = ['openai']
const DONE = eventText({ data: '[DONE]' })
const MODELS = '/openai/v1/models'
/** One time for all models, which does not change while the process runs. */
const CREATED = Math.floor(Date.now() / 1000)

const completionSchema = {
  operationId: 'createChatCompletion',
  summary: 'Complete a chat with a VAC',
  tags,
  body: ChatCompletionRequest,
  response: { 200: ChatCompletion, '4xx': OpenAiError, '5xx': OpenAiError }
}

const routes = [
  readRoute({
    method: 'GET',
    path: '/models',
    schema: { operationId: 'listModels', summary: 'List the VACs as models', tags, response: { 200: ModelList } },
    read: ({ vacs }) => ({ object: 'list', data: vacs.list().map(toModel) })
  }),

  readRoute({
    method: 'GET',
    path: '/models/:model',
    schema: {
      operationId: 'getModel',
      summary: 'One VAC as a model',
      tags,
      params: Type.Object({ model: Type.String() }),
      response: { 200: Model, '4xx': OpenAiError }
    },
    read: ({ vac, params }) => toModel(vac(params.model))
  }),

  askRoute({
    method: 'POST',
    path: '/chat/completions',
    streams: 'events',
    schema: completionSchema,
    ask: ({ vac, body, cite }) => complete(vac(modelOf(body)), body, cite)
  }),

  askRoute({
    method: 'POST',
    path: '/chat/completions/:vector_name',
    streams: 'events',
    schema: { ...completionSchema, operationId: 'createVacChatCompletion', params: VectorName },
    ask: ({ vac, body, params, cite }) => complete(vac(params.vector_name), body, cite)
  })
]

function toModel (vac: Vac): Static<typeof Model> {
  const { name: id, display_name: name, description } = vacInfo(vac)
  return { id, object: 'model', created: CREATED, owned_by: 'polyvac', name, description }
}

function modelOf ({ model = '' }: ChatCompletionRequest): string {
  if (model === '') throw new InvalidRequestError([{ path: 'body/model', message: `is missing; name a VAC of GET ${MODELS}` }])
  return model
}

function complete (vac: Vac, body: ChatCompletionRequest, cite: ChatRequest['cite']): Asked {
  const asked = toQuestion(body, vac.takes)
  const { question, history, extra, steps, conversation } = asked
  const kept = { conversation, sendsAll: true, store: body.store !== false }
  const completion = new Completion(vac.name, asked, answer => cite(vac, answer), mayCallTools(body, vac.takes ?? []))
  const { identify } = completion
  if (body.stream !== true) return { vac, question, history, extra, steps, identify, ...kept, format: { toBody: (answer, taken) => completion.whole(answer, taken) } }
  const format = {
    type: EVENT_STREAM,
    encode: completion.encoder(body.stream_options?.include_usage === true),
    end: DONE,
    toFailure: failureEvent
  }
  return { vac, question, history, extra, steps, identify, ...kept, format }
}

function failureEvent (failure: Parameters<typeof toOpenAiError>[0]): string {
  return eventText({ data: toOpenAiError(failure) }) + DONE
}

/** The OpenAI-compatible routes: `model` names the VAC. Errors are OpenAI's error objects. */
export const openai = {
  name: 'openai',
  prefix: '/openai/v1',
  routes: () => routes,
  toError: toOpenAiError,
  list: MODELS,
  requestIdHeader: 'x-request-id',
  errorHeaders: retryHeaders
} satisfies ChatProtocol
