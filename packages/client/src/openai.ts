import { addressOf, conversationOf, sendForEvents, toEnd, updateWith, type Json } from './send.js'
import type { Protocol, Question, Source, Update } from './types.js'

/** Chat completions of any server that is compatible with OpenAI; the VAC is the model. */
export const openai: Protocol = { ask: question => toEnd(streamed(question)) }

async function * streamed (question: Question): AsyncGenerator<Update, void> {
  const { vac, text, history = [], conversation, steps } = question
  const body = {
    model: vac,
    stream: true,
    messages: [...history, { role: 'user', content: text }],
    ...conversation !== undefined && { conversation_id: conversation },
    ...steps === true && { steps }
  }
  let known: Pick<Update, 'conversation'> | undefined
  let isComplete = false
  const url = `${addressOf(question, 'openai/v1')}/chat/completions`
  for await (const { value, isEnd } of sendForEvents(question, url, { body }, response => { known = conversationOf(response) })) {
    if (value !== undefined) {
      const { choices, source_documents: sources } = value
      const { delta, message = delta, finish_reason: reason } = (choices?.[0] ?? {}) as Json
      isComplete ||= reason != null
      if (message?.reasoning_content) yield { step: { reasoning: message.reasoning_content as string } }
      yield { ...updateWith({ delta: message?.content ?? undefined, sources: sources as readonly Source[] | undefined, event: value }), ...known }
    }
    isComplete ||= isEnd
  }
  if (isComplete) yield { done: true }
}
