import type { Principal } from '@polyvac/core'
import { eventText, InvalidRequestError, sendEvents, streamRoute, type ExposedVacs, type OpenStreams, type RouteTable } from '@polyvac/core/plugin'
import { meterAnswer } from './metered-answer.js'
import { failureHandler, loggedFailure } from './failures.js'
import { Completion, toOpenAiError, toQuestion } from './openai-frames.js'
import { ChatCompletion, ChatCompletionRequest, Model, ModelList, OpenAiError } from './openai-schemas.js'
import { VectorName } from './schemas.js'
import { mayCallTools } from './tool-calls.js'
import { findVac, refuseUnknownPaths } from './unknown-paths.js'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { Type, type Static } from '@sinclair/typebox'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { STREAM_WAIT_TIME } from './options.js'

const DONE = eventText({ data: '[DONE]' })
const MODELS = 'GET /openai/v1/models'

interface OpenAiOptions {
  readonly table: RouteTable
  /** The VACs that the caller may use. */
  readonly vacsOf: (request: FastifyRequest) => ExposedVacs
  readonly streams: OpenStreams
  readonly principalOf: (request: FastifyRequest) => Principal | undefined
  readonly timeoutMs: number
  readonly stallMs: number
  readonly bodyLimit: number
}

function modelOf ({ model = '' }: ChatCompletionRequest): string {
  if (model === '') throw new InvalidRequestError([{ path: 'body/model', message: `is missing; name a VAC of ${MODELS}` }])
  return model
}

/** The OpenAI-compatible routes: `model` names the VAC. Errors are sent as OpenAI's error object. */
export const openAiRoutes: FastifyPluginAsync<OpenAiOptions> = async (host, options) => {
  const { vacsOf, table, streams, principalOf, timeoutMs, stallMs, bodyLimit } = options
  const vacOf = findVac(table, vacsOf, MODELS)
  const app = host.withTypeProvider<TypeBoxTypeProvider>()
  // one time for all models, which does not change while the process runs
  const created = Math.floor(Date.now() / 1000)
  const toModel = (id: string): Static<typeof Model> => ({ id, object: 'model', created, owned_by: 'polyvac' })

  app.setErrorHandler(failureHandler(toOpenAiError))
  refuseUnknownPaths(app, table)
  app.addHook('onRequest', async (request, reply) => { reply.header('x-request-id', request.id) })

  app.get('/models', {
    schema: { operationId: 'listModels', summary: 'List the VACs as models', tags: ['openai'], response: { 200: ModelList } }
  }, async request => ({ object: 'list' as const, data: vacsOf(request).list().map(({ name }) => toModel(name)) }))

  app.get('/models/:model', {
    schema: {
      operationId: 'getModel',
      summary: 'One VAC as a model',
      tags: ['openai'],
      params: Type.Object({ model: Type.String() }),
      response: { 200: Model, '4xx': OpenAiError }
    }
  }, async request => toModel(vacOf(request, request.params.model).name))

  const schema = {
    operationId: 'createChatCompletion',
    summary: 'Complete a chat with a VAC',
    tags: ['openai'],
    body: ChatCompletionRequest,
    response: { 200: ChatCompletion, '4xx': OpenAiError, '5xx': OpenAiError }
  }
  app.post('/chat/completions', { ...streamRoute, bodyLimit, schema },
    (request, reply) => complete(request, reply, request.body, modelOf(request.body)))

  app.post('/chat/completions/:vector_name', { ...streamRoute, bodyLimit, schema: { ...schema, operationId: 'createVacChatCompletion', params: VectorName } },
    (request, reply) => complete(request, reply, request.body, request.params.vector_name))

  async function complete (request: FastifyRequest, reply: FastifyReply, body: ChatCompletionRequest,
    name: string): Promise<ChatCompletion | undefined> {
    const vac = vacOf(request, name)
    const question = toQuestion(body, vac.openai)
    const completion = new Completion(vac.name, question, mayCallTools(body, vac.openai ?? []))
    const call = { vac, protocol: 'openai' as const, timeoutMs, principal: principalOf(request), ...question }
    if (body.stream !== true) return completion.whole(await meterAnswer(streams, request, reply, call, vac => vac.ask()))
    const includeUsage = body.stream_options?.include_usage === true
    await meterAnswer(streams, request, reply, call, (vac, signal) => sendEvents(reply, vac.stream(), {
      encode: vac.countChunks(completion.encoder(includeUsage)),
      end: DONE,
      signal,
      stallMs,
      keepAliveMs: STREAM_WAIT_TIME * 1000,
      onFailure: err => eventText({ data: toOpenAiError(loggedFailure(vac.record.failed(err), request)) }) + DONE
    }))
  }
}
