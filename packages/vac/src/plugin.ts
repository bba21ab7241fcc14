import { negotiate } from '@fastify/accept-negotiator'
import { Answer, ErrorBody, normaliseHistory, type Principal, type Vac } from '@polyvac/core'
import {
  authenticateCallers, boundMemory, describeRoutes, OpenStreams, parseJson, readOptions, registerStreams, RouteTable, sendEvents,
  sendText, streamRoute, traceRequests, vacInfo, vacsFor, type ExposedVacs
} from '@polyvac/core/plugin'
import fp from 'fastify-plugin'
import { meterAnswer, type Question } from './metered-answer.js'
import { eventFrames, lineFrames, STREAM_TYPES, textFrames, type Frames, type StreamForm } from './answer-frames.js'
import { failureHandler, loggedFailure } from './failures.js'
import { InvalidOptionsError } from './errors.js'
import { openAiRoutes } from './openai-routes.js'
import { OPTIONS, STREAM_WAIT_TIME, type VacPluginOptions } from './options.js'
import { addSearchRoutes } from './search-routes.js'
import { findVac, refuseUnknownPaths } from './unknown-paths.js'
import { VacList, VacQuery, VacStreamQuery, VectorName } from './schemas.js'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'

/** Direct and OpenAI-compatible routes for VACs. Errors are sent as `{ error: { code, message, requestId } }`. */
const routes: FastifyPluginAsync<VacPluginOptions> = async (host, options) => {
  const app = host.withTypeProvider<TypeBoxTypeProvider>()
  const { vacs, openai, openapi, authenticate, timeoutMs, stallMs, bodyLimit } =
    readOptions(OPTIONS, options, InvalidOptionsError, 'the vac plugin')
  const streams = new OpenStreams()

  await traceRequests(app)
  await registerStreams(app)
  const table = new RouteTable(app)
  boundMemory(app, stallMs)
  describeRoutes(app, openapi)
  // those of the app may return bytes, for signatures
  parseJson(app)
  app.setErrorHandler(failureHandler(({ body }) => body))
  const principalOf = authenticateCallers(host, authenticate)
  const vacsOf = (request: FastifyRequest): ExposedVacs => vacsFor(vacs, principalOf(request), request.log)
  const vacOf = findVac(table, vacsOf)
  app.addHook('preClose', () => streams.end())

  app.get('/vac', {
    schema: { operationId: 'listVacs', summary: 'List the VACs', tags: ['vac'], response: { 200: VacList } }
  }, async request => ({ vacs: vacsOf(request).list().map(vacInfo) }))

  app.post('/vac/:vector_name', {
    bodyLimit,
    schema: {
      operationId: 'askVac',
      summary: 'Ask a VAC',
      tags: ['vac'],
      params: VectorName,
      body: VacQuery,
      response: { 200: Answer, '4xx': ErrorBody, '5xx': ErrorBody }
    }
  }, async (request, reply) => {
    const question = toQuestion(request.body, vacOf(request, request.params.vector_name), timeoutMs, principalOf(request))
    return await meterAnswer(streams, request, reply, question, vac => vac.ask())
  })

  const streamSchema = {
    tags: ['vac'],
    params: VectorName,
    body: VacStreamQuery,
    response: {
      200: { description: 'the answer as it comes', content: streamContent(['text', 'sse', 'ndjson']) },
      '4xx': ErrorBody,
      '5xx': ErrorBody
    }
  }
  app.post('/vac/streaming/:vector_name', {
    ...streamRoute,
    ...uncompressed,
    bodyLimit,
    schema: { ...streamSchema, operationId: 'streamVac', summary: 'Ask a VAC, answer as a stream in the form that Accept names' }
  }, (request, reply) => stream(request, reply, request.params.vector_name, request.body, formFor(request.headers.accept)))

  app.post('/vac/streaming/:vector_name/sse', {
    ...streamRoute,
    bodyLimit,
    schema: { ...streamSchema, operationId: 'streamVacEvents', summary: 'Ask a VAC, answer as server-sent events' }
  }, (request, reply) => stream(request, reply, request.params.vector_name, request.body, 'sse'))

  addSearchRoutes(app, { vacOf, streams, principalOf, timeoutMs, bodyLimit })
  if (openai) await app.register(openAiRoutes, { prefix: '/openai/v1', table, vacsOf, streams, principalOf, timeoutMs, stallMs, bodyLimit })
  await app.register(async function unknownVacPaths (scope) { refuseUnknownPaths(scope, table) }, { prefix: '/vac' })

  async function stream (request: FastifyRequest, reply: FastifyReply, name: string, body: VacStreamQuery,
    form: StreamForm): Promise<void> {
    const { stream_wait_time: wait = STREAM_WAIT_TIME, stream_timeout: timeout, stream_only: only = false, ...query } = body
    const question = toQuestion(query, vacOf(request, name), timeout === undefined ? timeoutMs : timeout * 1000, principalOf(request))
    const frames = framesOf(form, only)
    await meterAnswer(streams, request, reply, question, async (vac, signal) => {
      const onFailure = (err: unknown): string => frames.failure(loggedFailure(vac.record.failed(err), request).body)
      const encoding = { encode: vac.countChunks(frames.chunk), end: frames.end, onFailure, signal, stallMs }
      if (form !== 'sse') return await sendText(reply, STREAM_TYPES[form], vac.stream(), encoding)
      await sendEvents(reply, vac.stream(), { ...encoding, keepAliveMs: wait === 0 ? undefined : Math.max(100, wait * 1000) })
    })
  }
}

/** For @fastify/compress, which buffers text; it leaves event streams alone. */
const uncompressed = { compress: false } as const

function framesOf (form: StreamForm, streamOnly: boolean): Frames {
  return { sse: eventFrames, ndjson: lineFrames, text: textFrames(streamOnly) }[form]
}

/** A body as a question: its unknown fields are for the interpreter. */
function toQuestion ({ user_input: question, chat_history: history, ...extra }: VacQuery, vac: Vac, timeoutMs: number,
  principal: Principal | undefined): Question {
  return { vac, protocol: 'direct', question: question.trim(), history: normaliseHistory(history), extra, timeoutMs, principal }
}

/** The form that `Accept` names; text for any other value. */
function formFor (accept: string | undefined): StreamForm {
  if (accept === undefined) return 'text'
  const type = negotiate(accept, ['text/plain', STREAM_TYPES.sse, STREAM_TYPES.ndjson])
  return type === STREAM_TYPES.sse ? 'sse' : type === STREAM_TYPES.ndjson ? 'ndjson' : 'text'
}

function streamContent (forms: StreamForm[]): Record<string, { schema: object }> {
  return Object.fromEntries(forms.map(form => [STREAM_TYPES[form].split(';')[0]!, { schema: { type: 'string' } }]))
}

/**
 * The plugin. Routes under the scope's prefix: GET /vac, POST /vac/<vector_name>, POST /vac/streaming/<vector_name>,
 * POST /vac/streaming/<vector_name>/sse, GET and POST /vac/<vector_name>/search, and /openai/v1. It does not add hooks,
 * parsers or error handlers to the scope around it.
 * @example await app.register(vacPlugin, { vacs: createVacs({ vacs: ['demo'], streamInterpreter }) })
 */
export const vacPlugin = fp(routes, { name: '@polyvac/vac', fastify: '5.x', encapsulate: true })
