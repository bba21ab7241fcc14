// The agent: counts the words of a question, with pauses. Both functions have the same arguments.
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Answers as a stream. Yields text while it produces it and, for protocols that show it, progress; returns the whole
 * answer. `pause_ms` is a further field of the request; `vac` is the entry in vac_config.yaml, with `greeting`.
 */
export async function * stream_interpreter (question, vectorName, chatHistory, { signal, log, vac, pause_ms: pause = 20 }) {
  const words = question.split(/\s+/)
  let answer = ''
  try {
    if (vac.greeting !== undefined) yield answer = `${vac.greeting} `
    for (const [index, word] of words.entries()) {
      // everything that waits takes the signal: it aborts when the caller disconnects, or the timeout passes
      await delay(pause, undefined, { signal })
      yield { progress: (index + 1) / words.length, message: `counting ${word}` }
      const piece = `${index + 1} ${word} `
      answer += piece
      yield piece
    }
  } finally {
    // a connection or a file would be closed here
    if (signal.aborted) log.info({ vac: vectorName }, 'stopped counting')
  }
  return { answer: answer.trimEnd(), source_documents: [], metadata: { words: words.length, earlier_turns: chatHistory.length } }
}

/** Answers once, where the caller requests no stream. Without it the stream is collected. */
export async function vac_interpreter (question, vectorName, chatHistory, { vac }) {
  const words = question.split(/\s+/).length
  return {
    answer: [vac.greeting, `${words} words`].filter(Boolean).join(' '),
    source_documents: [],
    metadata: { words, earlier_turns: chatHistory.length }
  }
}
