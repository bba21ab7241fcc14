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
  return app
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
