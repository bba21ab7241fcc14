// Your agent: one function, which every protocol of the service calls.
import type { Interpreter } from '@polyvac/core'

/** Answers one question. Yield text as it is made; end with an object that has the whole answer. */
export const stream_interpreter: Interpreter = async function * (question, vectorName, history, { signal, vac }) {
  // here goes the call of a language model, a search, a program of yours
  const words = `${vac?.display_name ?? vectorName} got your question: "${question}"`.split(/(?<= )/)
  for (const word of words) {
    signal.throwIfAborted()
    yield word
  }
  yield { answer: words.join(''), source_documents: [], metadata: { earlier_turns: history.length } }
}
