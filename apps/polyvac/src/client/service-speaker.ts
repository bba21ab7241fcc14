import { randomUUID } from 'node:crypto'
import type { Answer } from '@polyvac/core'
import { isRecord } from '@polyvac/core/plugin'
import { ServiceError } from '../errors.js'
import { describeFailure, MAX_REPLY_BYTES, parseJson, type HttpClient, type HttpReply, type HttpRequest, type WholeReply } from './http-client.js'
import type { Speaker } from './conversation.js'

/** The longest answer of a service; its own `stream_timeout` is 120 s unless it is set otherwise. */
const MAX_ANSWER_MS = 3_600_000

type Json = Readonly<Record<string, unknown>>

/** What can be asked at a service, and how. */
export interface Service { readonly names: readonly string[], readonly speakerOf: (name: string) => Speaker }

/**
 * The VACs of a Polyvac service; without its direct routes, the agent of an A2A card; without one, the models of an
 * OpenAI-compatible API.
 * @throws SERVICE_FAILED
 */
export async function findService (client: HttpClient): Promise<Service> {
  const direct = await read(client, 'vac')
  const vacs = listOf(direct.json, 'vacs')
  if (vacs !== undefined) return { names: vacs.map(({ name }) => String(name)), speakerOf: name => speakDirectly(client, name) }
  if (direct.status === 401 || direct.status === 403) throw refusal(client, direct.status)
  const { json: card } = await read(client, '.well-known/agent-card.json')
  const agent = isRecord(card) ? endpointOf(card) : undefined
  if (agent !== undefined) return { names: [agent.name], speakerOf: () => speakA2a(client, agent) }
  // clients of such an API are given its address with the version
  for (const base of ['openai/v1/', 'v1/', '']) {
    const models = listOf((await read(client, `${base}models`)).json, 'data')
    if (models !== undefined) return { names: models.map(({ id }) => String(id)), speakerOf: name => speakOpenAi(client, base, name) }
  }
  throw new ServiceError(client.base.href,
    `GET /vac answered ${direct.status} without a list of VACs, and the service sends no agent card and no list of models; polyvac doctor ${client.base.href} shows what it offers`)
}

async function read (client: HttpClient, path: string): Promise<WholeReply> {
  return await client.send(path).catch((err: unknown) => { throw new ServiceError(client.base.href, describeFailure(err)) })
}

function listOf (value: unknown, key: string): Json[] | undefined {
  const list = isRecord(value) ? value[key] : undefined
  return Array.isArray(list) ? list.filter(isRecord) : undefined
}

/** The direct streaming route, as NDJSON. */
function speakDirectly (client: HttpClient, name: string): Speaker {
  return async function * (question, history, signal) {
    const body = { user_input: question, chat_history: history }
    const reply = await openAnswer(client, `vac/streaming/${encodeURIComponent(name)}`, { headers: { accept: 'application/x-ndjson' }, body, signal })
    for await (const line of linesOf(client, reply)) {
      if (line.trim() === '') continue
      const event = parseJson(line)
      if (event === undefined) throw new ServiceError(client.base.href, `it answered ${reply.status} with text that is not NDJSON; name a Polyvac service`)
      if (!isRecord(event)) continue
      refuseError(client, event, reply)
      if (typeof event.chunk === 'string') yield event.chunk
      else if (typeof event.answer === 'string') yield event as unknown as Answer
    }
  }
}

/** Chat completions, streamed. */
function speakOpenAi (client: HttpClient, base: string, model: string): Speaker {
  return async function * (question, history, signal) {
    const body = { model, stream: true, messages: [...history, { role: 'user', content: question }] }
    let answer = ''
    let sources: unknown
    for await (const event of eventsOf(client, `${base}chat/completions`, { body, signal })) {
      const delta = listOf(event, 'choices')?.[0]?.delta
      const text = isRecord(delta) && typeof delta.content === 'string' ? delta.content : ''
      sources = event.source_documents ?? sources
      answer += text
      if (text !== '') yield text
    }
    yield answerOf(answer, sources)
  }
}

interface Endpoint { readonly name: string, readonly url: string, readonly isModern: boolean }

/** The JSON-RPC address of an agent card, of A2A 1.0 where it has one. */
function endpointOf (card: Json): Endpoint | undefined {
  const name = String(card.name)
  const modern = listOf(card, 'supportedInterfaces')?.find(entry => entry.protocolBinding === 'JSONRPC' && entry.protocolVersion === '1.0')
  if (typeof modern?.url === 'string') return { name, url: modern.url, isModern: true }
  const { url, preferredTransport = 'JSONRPC' } = card
  return typeof url === 'string' && preferredTransport === 'JSONRPC' ? { name, url, isModern: false } : undefined
}

/** A2A 1.0 or 0.3. The agent keeps the history, in a context; a reply to a question goes to its task. */
function speakA2a (client: HttpClient, { url, isModern }: Endpoint): Speaker {
  let contextId: unknown
  let waiting: unknown
  return async function * (question, _history, signal) {
    const message = {
      ...isModern ? { role: 'ROLE_USER', parts: [{ text: question }] } : { kind: 'message', role: 'user', parts: [{ kind: 'text', text: question }] },
      messageId: randomUUID(),
      ...contextId === undefined ? {} : { contextId },
      ...waiting === undefined ? {} : { taskId: waiting }
    }
    waiting = undefined
    const body = { jsonrpc: '2.0', id: 1, method: isModern ? 'SendStreamingMessage' : 'message/stream', params: { message } }
    let answer = ''
    let sources: unknown
    for await (const event of eventsOf(client, url, { headers: { 'a2a-version': isModern ? '1.0' : '0.3' }, body, signal })) {
      const result = isRecord(event.result) ? event.result : {}
      // 1.0 names the kind by the field around it
      const item = [result.task, result.message, result.statusUpdate, result.artifactUpdate].find(isRecord) ?? result
      contextId = item.contextId ?? contextId
      const parts = [item.artifact, ...listOf(item, 'artifacts') ?? [], item].flatMap(holder => listOf(holder, 'parts') ?? [])
      const text = textOf(parts)
      sources = parts.map(({ data }) => isRecord(data) ? data.source_documents : undefined).find(Array.isArray) ?? sources
      if (text !== '' && text !== answer) {
        answer += text
        yield text
      }
      const status = isRecord(item.status) ? item.status : {}
      const state = String(status.state).toLowerCase().replace('task_state_', '').replaceAll('_', '-')
      const asked = textOf(listOf(status.message, 'parts') ?? [])
      if (['failed', 'rejected', 'canceled', 'auth-required'].includes(state)) throw new ServiceError(client.base.href, asked || `the task is ${state}`)
      // an agent may put its answer there instead of into an artifact
      if (state === 'completed' && answer === '' && asked !== '') yield answer = asked
      if (state !== 'input-required') continue
      waiting = item.taskId ?? item.id
      yield { ...answerOf(answer, sources), input_required: asked }
      return
    }
    yield answerOf(answer, sources)
  }
}

const textOf = (parts: readonly Json[]): string => parts.map(({ text }) => typeof text === 'string' ? text : '').join('')

function answerOf (answer: string, sources: unknown): Answer {
  return { answer, source_documents: Array.isArray(sources) ? sources : [] } as Answer
}

/** The JSON of server-sent events, or of a reply that is one document. @throws SERVICE_FAILED */
async function * eventsOf (client: HttpClient, path: string, request: HttpRequest): AsyncGenerator<Json> {
  const reply = await openAnswer(client, path, { ...request, headers: { accept: 'text/event-stream', ...request.headers } })
  const isStream = reply.headers.get('content-type')?.startsWith('text/event-stream') === true
  let data: string[] = []
  for await (const line of linesOf(client, reply)) {
    if (!isStream) data.push(line)
    else if (line.startsWith('data:')) data.push(line.slice(5))
    else if (line.trim() === '' && data.length > 0) {
      const event = parseJson(data.join('\n'))
      data = []
      if (!isRecord(event)) continue
      refuseError(client, event, reply)
      yield event
    }
  }
  const last = parseJson(data.join('\n'))
  if (isRecord(last)) {
    refuseError(client, last, reply)
    yield last
  } else if (!isStream) throw new ServiceError(client.base.href, `it answered ${reply.status} without JSON`)
}

/** Sends a question. @throws SERVICE_FAILED for a status that is not that of an answer */
async function openAnswer (client: HttpClient, path: string, request: HttpRequest): Promise<HttpReply> {
  const reply = await client.open(path, { ...request, maxMs: MAX_ANSWER_MS })
  if (reply.status < 300) return reply
  let text = ''
  for await (const piece of reply.pieces) {
    text += piece.text
    if (text.length > MAX_REPLY_BYTES) break
  }
  const body = parseJson(text)
  if (isRecord(body)) refuseError(client, body, reply)
  throw refusal(client, reply.status)
}

function refusal ({ base }: HttpClient, status: number): Error {
  return new ServiceError(base.href, `it answered ${status}${status === 401 || status === 403 ? '; send a token with --header \'authorization: Bearer …\'' : ''}`)
}

async function * linesOf ({ base }: HttpClient, { pieces }: HttpReply): AsyncGenerator<string> {
  let rest = ''
  for await (const { text } of pieces) {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    if (Buffer.byteLength(rest) > MAX_REPLY_BYTES) throw new ServiceError(base.href, 'a line of the answer is longer than 4 MiB')
    yield * lines
  }
  if (rest !== '') yield rest
}

/** @throws SERVICE_FAILED with the id that the text of an error speaks of: of the error, otherwise of the reply */
function refuseError (client: HttpClient, { error }: Json, { headers }: HttpReply): void {
  if (!isRecord(error)) return
  const text = String(error.message ?? error.code)
  const id = error.requestId ?? headers.get('x-request-id')
  throw new ServiceError(client.base.href, text.endsWith('the request id') && typeof id === 'string' ? `${text} ${id}` : text)
}
