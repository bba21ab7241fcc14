// The agents of this app, as one Fastify plugin. Register it once, with a prefix of your choice.
import { createVacs, type Interpreter } from '@polyvac/core'
import { vacPlugin } from '@polyvac/vac'
import type { FastifyInstance } from 'fastify'

/** Answers one question: yield text as it is made. Every protocol calls this function. */
const answer: Interpreter = async function * (question, vectorName, history, { signal }) {
  // here goes the call of a language model, a search, a program of yours; hand it the signal
  signal.throwIfAborted()
  yield 'You asked: '
  yield question
}

const vacs = createVacs({
  vacs: { assistant: { display_name: 'My assistant', description: 'Answers with the function in agents.ts.' } },
  streamInterpreter: answer
})

export default async function agents (app: FastifyInstance): Promise<void> {
  await app.register(vacPlugin, { vacs })
}
