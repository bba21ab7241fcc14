import type { Answer, ListedAgent, ToolCallResult } from '@polyvac/core'
import { askedBack } from '@polyvac/core/plugin'
import type { Passages } from './passages.js'

/** Another agent as a tool of the model. */
export function agentTool ({ name, description }: Pick<ListedAgent, 'name' | 'description'>): { readonly description: string, readonly inputSchema: Readonly<Record<string, unknown>> } {
  return {
    description: `Ask the agent ${name}${description === name ? '' : `: ${description}`}`,
    inputSchema: {
      type: 'object',
      properties: { message: { type: 'string', description: 'the whole question: the agent sees nothing else of the conversation' } },
      required: ['message'],
      additionalProperties: false
    }
  }
}

/** Its answer as the result of a tool: the text, its sources as the model can cite them, and what it asks back. */
export function agentResult (answer: Answer, passages: Passages): ToolCallResult<unknown> {
  const asked = askedBack(answer)
  const { text, sources } = passages.adopt(answer)
  const texts = [
    asked?.text === answer.answer ? '' : text,
    sources.length === 0 ? '' : `Sources of the agent:\n${sources.join('\n')}`,
    asked === undefined
      ? ''
      // where nothing keeps approvals: otherwise the answer has ended with the question
      : 'approval' in answer
        ? `The agent waits for an approval, which only a person can give: it has to be asked directly. Its question: ${asked.text}`
        : asked.kind === 'input'
          ? `The agent asks back: ${asked.text}\nCall it again with the reply, which is all that it needs. What you do not know you ask the user.`
          : `The agent needs an authorization, of which the user should know: ${asked.text}`
  ]
  return { content: [{ type: 'text', text: texts.filter(text => text !== '').join('\n\n') || 'The agent gave no text.' }] }
}
