import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { CHUNK, END } from './interpreters.mjs'

const Query = Type.Object({
  user_input: Type.String({ pattern: '\\S' }),
  chat_history: Type.Optional(Type.Array(Type.Unknown()))
}, { additionalProperties: true })

const Result = Type.Object({
  answer: Type.String(),
  source_documents: Type.Array(Type.Object({
    page_content: Type.String(),
    metadata: Type.Record(Type.String(), Type.Unknown())
  }))
}, { additionalProperties: true })

const ChatQuery = Type.Object({
  model: Type.String(),
  messages: Type.Array(Type.Object({ role: Type.String(), content: Type.String() }), { minItems: 1 })
}, { additionalProperties: true })

const ChatResult = Type.Object({
  id: Type.String(),
  object: Type.String(),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(Type.Object({
    index: Type.Integer(),
    message: Type.Object({ role: Type.String(), content: Type.String(), refusal: Type.Null() }),
    logprobs: Type.Null(),
    finish_reason: Type.String()
  })),
  usage: Type.Object({ prompt_tokens: Type.Integer(), completion_tokens: Type.Integer(), total_tokens: Type.Integer(), estimated: Type.Boolean() }),
  source_documents: Result.properties.source_documents
})

/** The frames of each form of a stream, ready-made: a bare route has nothing to serialise. */
const FORMS = {
  text: { type: 'text/plain; charset=utf-8', chunk: CHUNK, end: `\n${JSON.stringify(END)}\n` },
  ndjson: { type: 'application/x-ndjson', chunk: `${JSON.stringify({ chunk: CHUNK })}\n`, end: `${JSON.stringify(END)}\n` },
  sse: { type: 'text/event-stream', chunk: `data: ${JSON.stringify({ chunk: CHUNK })}\n\n`, end: `data: ${JSON.stringify(END)}\n\ndata: [DONE]\n\n` }
}

/**
 * The comparison: a bare Fastify route for the same bytes. Same parsing, Fastify's own validation (Ajv)
 * and serialisation, no signal, no timeout, no error in a stream.
 */
export async function bareApp () {
  const app = Fastify()
  const schema = { body: Query, response: { 200: Result } }

  app.post('/vac/:vector_name', { schema }, async request => ({ answer: request.body.user_input, source_documents: [] }))

  app.post('/vac/streaming/:vector_name', { schema: { body: Query } }, (request, reply) => {
    const { type, chunk, end } = FORMS[request.body.form]
    const { chunks } = request.body
    reply.type(type).send(Readable.from(chunks === undefined ? oneAndWait(chunk) : ready(chunk, chunks, end)))
  })

  app.post('/openai/v1/chat/completions', { schema: { body: ChatQuery, response: { 200: ChatResult } } }, async ({ body: { model, messages, chunks } }, reply) => {
    if (chunks !== undefined) return await reply.type('text/event-stream').send(Readable.from(ready(CHAT.chunk, chunks, CHAT.end)))
    return {
      id: `chatcmpl-${randomUUID()}`,
      object: 'chat.completion',
      created: Math.floor(Date.now() / 1_000),
      model,
      choices: [{ index: 0, message: { role: 'assistant', content: messages.at(-1).content, refusal: null }, logprobs: null, finish_reason: 'stop' }],
      usage: { prompt_tokens: 4, completion_tokens: 4, total_tokens: 8, estimated: true },
      source_documents: []
    }
  })

  app.post('/a2a', (request, reply) => {
    const chunks = Number(request.body.params.message.parts[0].text)
    reply.type('text/event-stream').send(Readable.from(ready(A2A.chunk, chunks, A2A.end)))
  })

  app.post('/openai/v1/responses', (request, reply) => {
    const { chunks } = request.body
    const { deltas, end } = responseFrames(chunks)
    reply.type('text/event-stream').send(Readable.from(ready(deltas, chunks, end)))
  })

  app.post('/ai/:vector_name', (request, reply) => {
    const { chunks } = request.body
    reply.type('text/event-stream').send(Readable.from(ready(AI_SDK.delta, chunks, AI_SDK.end)))
  })

  app.post('/ag-ui/:vector_name', (request, reply) => {
    const { chunks } = request.body.forwardedProps
    reply.type('text/event-stream').send(Readable.from(ready(AG_UI.delta, chunks, AG_UI.end)))
  })
  return app
}

function event (data, id = '0-2-123456') {
  return `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`
}

/** The frames of chat completions, as Polyvac sends them. */
const CHAT = {
  chunk: completion({ index: 0, delta: { content: CHUNK }, logprobs: null, finish_reason: null }),
  end: completion({ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }) + 'data: [DONE]\n\n'
}

function completion (choice) {
  return `data: ${JSON.stringify({ id: `chatcmpl-${'0'.repeat(36)}`, object: 'chat.completion.chunk', created: 1_700_000_000, model: 'counted', choices: [choice] })}\n\n`
}

/** The events of an A2A task: one for each chunk. Polyvac joins the text of several. */
const A2A = {
  chunk: event({ jsonrpc: '2.0', id: 1, result: { artifactUpdate: { taskId: '0'.repeat(36), contextId: '0'.repeat(36), artifact: { artifactId: 'streaming_response', name: 'streaming_response', parts: [{ text: CHUNK }] }, append: true } } }, '12345'),
  end: event({ jsonrpc: '2.0', id: 1, result: { statusUpdate: { taskId: '0'.repeat(36), contextId: '0'.repeat(36), status: { state: 'TASK_STATE_COMPLETED', timestamp: '2026-01-01T00:00:00.000Z' } } } }, '12346')
}

/** The frames of the protocols of chats, as Polyvac sends them. */
const AI_SDK = { delta: event({ type: 'text-delta', id: '0', delta: CHUNK }), end: event({ type: 'finish' }) + 'data: [DONE]\n\n' }
const AG_UI = { delta: event({ type: 'TEXT_MESSAGE_CONTENT', messageId: '0'.repeat(36), delta: CHUNK }), end: event({ type: 'RUN_FINISHED', threadId: 't', runId: 'r' }) }

/** The events of a response: those of its pieces, ready-made, and the four at its end that have the whole text. */
function responseFrames (chunks) {
  const id = `msg_${'0'.repeat(36)}`
  const event = (type, fields) => `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 12_345, ...fields })}\n\n`
  const place = { item_id: id, output_index: 0, content_index: 0 }
  const text = CHUNK.repeat(chunks)
  const part = { type: 'output_text', text, annotations: [], logprobs: [] }
  const item = { id, type: 'message', status: 'completed', role: 'assistant', content: [part] }
  return {
    deltas: event('response.output_text.delta', { ...place, delta: CHUNK, logprobs: [] }),
    end: event('response.output_text.done', { ...place, text, logprobs: [] }) + event('response.content_part.done', { ...place, part }) +
      event('response.output_item.done', { output_index: 0, item }) + event('response.completed', { response: { output: [item] } })
  }
}

async function * ready (chunk, chunks, end) {
  for (let i = 0; i < chunks; i++) yield chunk
  yield end
}

/** An idle stream: one chunk, then nothing. */
async function * oneAndWait (chunk) {
  yield chunk
  await new Promise(() => {})
}
