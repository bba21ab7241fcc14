import { Agent, OpenAIProvider, Runner } from '@openai/agents'
import { versionOf } from './version.mjs'

const answerOf = ({ finalOutput, lastResponseId, rawResponses }) => {
  const output = rawResponses.flatMap(({ output }) => output)
  return {
    id: lastResponseId,
    text: finalOutput,
    sources: output.flatMap(({ content = [] }) => content).flatMap(({ providerData }) => providerData?.annotations ?? []).map(({ url, title }) => ({ url, title })),
    steps: output.filter(({ type }) => type === 'reasoning').flatMap(({ content }) => content).map(({ text }) => text)
  }
}

export const agents = {
  client: 'OpenAI Agents',
  version: versionOf('@openai/agents'),
  connect (url) {
    const modelProvider = new OpenAIProvider({ baseURL: `${url}/openai/v1`, apiKey: 'none', useResponses: true })
    const runner = new Runner({ modelProvider, tracingDisabled: true })
    const agent = new Agent({ name: 'Asker', model: 'docs' })
    return {
      ask: async (question, previous, signal) => answerOf(await runner.run(agent, question, { signal, previousResponseId: previous?.id })),
      async stream (question) {
        const result = await runner.run(agent, question, { stream: true })
        let streamed = ''
        for await (const part of result.toTextStream()) streamed += part
        await result.completed
        return { ...answerOf(result), streamed }
      }
    }
  }
}
