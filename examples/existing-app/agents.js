// The agent: a function that answers questions. It is independent of the protocol.
import { createVacs } from '@polyvac/core'

async function * helpdesk (question, vectorName, chatHistory, { signal }) {
  const words = `You asked: ${question}`.split(/(?<= )/)
  for (const word of words) {
    signal.throwIfAborted()
    yield word
  }
  yield {
    answer: words.join(''),
    source_documents: [{ page_content: 'Kettles are sent within a day.', metadata: { source: 'delivery.md' } }]
  }
}

export const vacs = createVacs({
  vacs: { helpdesk: { display_name: 'Helpdesk', description: 'Answers questions about orders' } },
  streamInterpreter: helpdesk
})
