// An agent function of your own. It is not in use yet: vac_config.yaml has the few lines that switch it on.

/**
 * Answers one question. Yield text as it is made; end with an object that holds the whole answer. Every protocol of
 * the service calls this one function.
 *
 * @param {string} question what the caller asks
 * @param {string} vectorName the VAC's name in vac_config.yaml, here `assistant`
 * @param {Array<{ role: 'user' | 'assistant' | 'system', content: string }>} chatHistory earlier turns, oldest first
 * @param {object} extra the caller's further fields, and always `signal` (fires when the caller left or the time is up;
 *   hand it to fetch), `log`, `vac` (the entry in vac_config.yaml), `protocol` and `principal`
 */
export async function * stream_interpreter (question, vectorName, chatHistory, { signal, vac }) {
  // here goes the call of a language model, a search, a program of yours
  const words = `${vac.display_name ?? vectorName} got your question: "${question}"`.split(/(?<= )/)
  for (const word of words) {
    signal.throwIfAborted()
    yield word
  }
  yield {
    answer: words.join(''),
    source_documents: [],
    metadata: { earlier_turns: chatHistory.length }
  }
}
