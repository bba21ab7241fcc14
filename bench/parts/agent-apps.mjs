// The agent as Polyvac serves it, and a route that calls the package `ai` by hand; both ask the model of the benchmark.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { agentInterpreter } from '@polyvac/agent'
import { createVacs } from '@polyvac/core'
import { vacPlugin } from '@polyvac/vac'
import { streamText } from 'ai'
import Fastify from 'fastify'

const baseURL = process.env.BENCH_MODEL_URL

export async function agentApp () {
  const app = Fastify()
  const vacs = createVacs({ vacs: { help: { model: 'instant', openai: { base_url: baseURL } } }, streamInterpreter: agentInterpreter() })
  await app.register(vacPlugin, { vacs })
  return app
}

export async function aiApp () {
  const app = Fastify()
  const model = createOpenAICompatible({ name: 'model', baseURL, includeUsage: true })('instant')
  app.post('/vac/streaming/help/sse', (request, reply) => {
    const { user_input: question, chat_history: history = [] } = request.body
    reply.hijack()
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' })
    void pipe(streamText({ model, messages: [...history, { role: 'user', content: question }] }), reply.raw)
  })
  return app
}

async function pipe ({ textStream }, raw) {
  for await (const chunk of textStream) raw.write(`data: ${JSON.stringify({ chunk })}\n\n`)
  raw.end('data: [DONE]\n\n')
}
