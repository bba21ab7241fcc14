// The agents of this app, as one Fastify plugin. Register it once, with a prefix of your choice.
import { createVacs } from '@polyvac/core'
import { vacPlugin } from '@polyvac/vac'

/** Answers one question: yield text as it is made. Every protocol calls this function. */
async function * answer (question, vectorName, history, { signal }) {
  // here goes the call of a language model, a search, a program of yours; hand it the signal
  signal.throwIfAborted()
  yield 'You asked: '
  yield question
}

const vacs = createVacs({
  vacs: { assistant: { display_name: 'My assistant', description: 'Answers with the function in agents.mjs.' } },
  streamInterpreter: answer
})

export default async function agents (app) {
  await app.register(vacPlugin, { vacs })
}
