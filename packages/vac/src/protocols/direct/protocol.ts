import { Answer, ErrorBody, isAnswer, normaliseHistory, type Vac } from '@polyvac/core'
import { InvalidRequestError, MemorySearchResult, takeSteps, vacInfo, type MemorySearchInput } from '@polyvac/core/protocol'
import {
  acceptedType, askRoute, EVENT_STREAM, readRoute, searchRoute, VectorName, type Asked, type ChatProtocol, type ChatRequest, type StreamFormat, type WholeFormat
} from '../../protocol.js'
import { questionFilesIn, turnFile } from '../../chat/question-file.js'
import { takeCitations, withCitations } from './citations.js'
import { bareTextFrames, eventFrames, lineFrames, textFrames } from './frames.js'
import { conversationRoutes } from './conversations.js'
import { backgroundOf, runRoutes } from './runs.js'
import { RunStarted } from './run-schemas.js'
import { sourceRoutes } from './sources.js'
import { SearchBody, SearchQuery, VacList, VacQuery, VacStreamQuery } from './schemas.js'

const tags = ['vac']
const WHOLE: WholeFormat = {
  toBody: (answer, steps) => steps === undefined ? answer : { ...answer, metadata: { ...answer.metadata, steps } }
}
/** The forms of a stream by the media types of `Accept`, the first for any other value. */
const FORMS = ['text/plain', EVENT_STREAM, lineFrames.type]

const streamSchema = {
  tags,
  params: VectorName,
  body: VacStreamQuery,
  response: {
    200: {
      description: 'the answer as it comes',
      content: Object.fromEntries(FORMS.map(type => [type, { schema: { type: 'string' } }]))
    },
    202: RunStarted,
    '4xx': ErrorBody,
    '5xx': ErrorBody
  }
}

const searchSchema = {
  summary: 'Search the memory of a VAC',
  tags,
  params: VectorName,
  response: { 200: MemorySearchResult, '4xx': ErrorBody, '5xx': ErrorBody }
}

const routes = [
  readRoute({
    method: 'GET',
    path: '',
    schema: { operationId: 'listVacs', summary: 'List the VACs', tags, response: { 200: VacList } },
    read: ({ vacs }) => ({ vacs: vacs.list().map(vacInfo) })
  }),

  askRoute({
    method: 'POST',
    path: '/:vector_name',
    schema: {
      operationId: 'askVac',
      summary: 'Ask a VAC',
      tags,
      params: VectorName,
      body: VacQuery,
      response: { 200: Answer, 202: RunStarted, '4xx': ErrorBody, '5xx': ErrorBody }
    },
    ask ({ vac, cite, body: { user_input: question, chat_history: history, background, ...extra }, params, headers }) {
      const { vector_name: name } = params
      const isCited = takeCitations(extra)
      const asked = toAsked(vac(name), question, history, extra, undefined, WHOLE, backgroundOf(name, background, headers))
      return isCited ? withCitations(asked, cite) : asked
    }
  }),

  askRoute({
    method: 'POST',
    path: '/streaming/:vector_name',
    streams: 'text',
    schema: { ...streamSchema, operationId: 'streamVac', summary: 'Ask a VAC, answer as a stream in the form that Accept names' },
    ask: request => toStream(request, acceptedType(request.headers.accept, FORMS))
  }),

  askRoute({
    method: 'POST',
    path: '/streaming/:vector_name/sse',
    streams: 'events',
    schema: { ...streamSchema, operationId: 'streamVacEvents', summary: 'Ask a VAC, answer as server-sent events' },
    ask: request => toStream(request, EVENT_STREAM)
  }),

  searchRoute({
    method: 'GET',
    path: '/:vector_name/search',
    schema: { ...searchSchema, operationId: 'searchVac', querystring: SearchQuery },
    search: ({ vac, params, query: { q, ...rest } }) => ({ vac: vac(params.vector_name), input: toInput({ search_query: q, ...rest }) })
  }),

  searchRoute({
    method: 'POST',
    path: '/:vector_name/search',
    schema: { ...searchSchema, operationId: 'searchVacWithBody', body: SearchBody },
    search: ({ vac, params, body }) => ({ vac: vac(params.vector_name), input: toInput(body) })
  }),

  ...runRoutes,
  ...conversationRoutes,
  ...sourceRoutes
]

type StreamRequest = ChatRequest<typeof streamSchema & { readonly operationId: string, readonly summary: string }>

/** A question whose answer is streamed as a media type; undefined for text. */
function toStream ({ vac, cite, body, params, headers }: StreamRequest, type: string | undefined): Asked {
  const { user_input: question, chat_history: history, stream_wait_time: wait, stream_timeout: timeout, stream_only: only, background, ...extra } = body
  const timeoutMs = timeout === undefined ? undefined : timeout * 1000
  const isCited = takeCitations(extra)
  const named = vac(params.vector_name)
  const asked = toAsked(named, question, history, extra, timeoutMs, formatOf(type, wait, only), backgroundOf(named.name, background, headers))
  return isCited ? withCitations(asked, cite) : asked
}

function toInput ({ threshold, ...input }: SearchBody): MemorySearchInput {
  return { ...threshold !== undefined && { similarity_threshold: threshold }, ...input }
}

function formatOf (type: string | undefined, wait: number | undefined, only: boolean | undefined): StreamFormat {
  if (type === EVENT_STREAM) return eventFrames(wait === undefined ? undefined : wait * 1000)
  if (type === lineFrames.type) return lineFrames
  return only === true ? bareTextFrames : textFrames
}

function toAsked (vac: Vac, question: string, history: unknown, extra: Record<string, unknown>, timeoutMs: number | undefined,
  format: Asked['format'], background: Asked['background']): Asked {
  const conversation = extra.conversation_id as string | null | undefined ?? undefined
  const turns = normaliseHistory(history)
  const steps = takeSteps(extra)
  const store = extra.store !== false
  const files = questionFilesIn(extra.files).map(turnFile)
  const asked: Asked = { vac, question: question.trim(), files, history: turns, extra, timeoutMs, steps, format, background, store }
  if (conversation === undefined && background === undefined) return asked
  if (conversation !== undefined && turns.length > 0) throw new InvalidRequestError([{ path: 'body/chat_history', message: 'is ambiguous next to conversation_id, whose turns are the history; leave one of them out' }])
  if (!store) delete extra.store
  return conversation === undefined ? asked : inConversation({ ...asked, conversation })
}

/** The same with the id of the conversation in the result object. */
function inConversation (asked: Asked): Asked {
  const { format } = asked
  let id: string | undefined
  const withId = (answer: Answer): Answer => ({ ...answer, conversation_id: id })
  return {
    ...asked,
    identify: run => { id = run.conversation },
    format: 'toBody' in format
      ? { toBody: (answer, steps) => format.toBody(withId(answer), steps) }
      : { ...format, encode: (chunk, seq) => format.encode(typeof chunk !== 'string' && isAnswer(chunk) ? withId(chunk) : chunk, seq) }
  }
}

/** Polyvac's own routes. Errors are `{ error: { code, message, requestId } }`. */
export const direct = {
  name: 'direct',
  prefix: '/vac',
  routes: () => routes,
  toError: ({ body }) => body,
  appErrors: true,
  passagePath: (vac, id) => `/${vac}/sources/${id}`
} satisfies ChatProtocol
