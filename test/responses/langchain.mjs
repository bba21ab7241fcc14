import { ChatOpenAI } from '@langchain/openai'
import { versionOf } from './version.mjs'

const partsOf = ({ content }, type) => Array.isArray(content) ? content.filter(part => part.type === type) : []
const answerOf = message => ({
  id: message.response_metadata.id,
  text: message.text,
  sources: partsOf(message, 'text').flatMap(({ annotations = [] }) => annotations).map(({ url, title }) => ({ url, title })),
  steps: (message.additional_kwargs.reasoning?.summary ?? []).map(({ text }) => text)
})

export const langchain = {
  client: 'LangChain',
  version: versionOf('@langchain/openai'),
  connect (url) {
    // by default it repeats what fails six times, with pauses of up to half a minute
    const model = new ChatOpenAI({ model: 'docs', apiKey: 'none', maxRetries: 0, useResponsesApi: true, configuration: { baseURL: `${url}/openai/v1` } })
    return {
      model,
      ask: async (question, previous, signal) => answerOf(await model.invoke(question, { signal, ...previous && { previous_response_id: previous.id } })),
      async stream (question) {
        let whole
        let streamed = ''
        for await (const chunk of await model.stream(question)) {
          streamed += chunk.text
          whole = whole === undefined ? chunk : whole.concat(chunk)
        }
        return { ...answerOf(whole), streamed }
      }
    }
  }
}
