import OpenAI6 from 'openai'
import OpenAI5 from 'openai-5'
import OpenAI7 from 'openai-7'
import { versionOf } from './version.mjs'

const sourcesOf = ({ output }) => output.flatMap(({ content = [] }) => content).flatMap(({ annotations }) => annotations).map(({ url, title }) => ({ url, title }))
const stepsOf = ({ output }) => output.filter(({ type }) => type === 'reasoning').flatMap(({ summary }) => summary).map(({ text }) => text)
const textOf = ({ output }) => output.flatMap(({ content = [] }) => content).map(({ text }) => text).join('')
// openai 5 computes `output_text` only for the answer of a request that creates
const answerOf = response => ({
  id: response.id, text: response.output_text ?? textOf(response), sources: sourcesOf(response), steps: stepsOf(response), asks: response.input_required === true, status: response.status
})

export const openai = [['openai-5', OpenAI5], ['openai', OpenAI6], ['openai-7', OpenAI7]].map(([alias, OpenAI]) => ({
  client: 'openai',
  version: versionOf(alias),
  connect (url) {
    const client = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: 'none' })
    const model = 'docs'
    return {
      client,
      ask: async (input, previous, signal) => answerOf(await client.responses.create({ model, input, previous_response_id: previous?.id }, { signal })),
      async stream (input) {
        const stream = client.responses.stream({ model, input })
        let text = ''
        stream.on('response.output_text.delta', ({ delta }) => { text += delta })
        return { ...answerOf(await stream.finalResponse()), streamed: text }
      },
      async begin (input, isLast = ({ type }) => type === 'response.output_text.delta') {
        const seen = { text: '' }
        for await (const event of await client.responses.create({ model, input, stream: true })) {
          seen.after = event.sequence_number
          if (event.type === 'response.created') seen.id = event.response.id
          if (event.type === 'response.output_text.delta') seen.text += event.delta
          if (isLast(event)) break
        }
        return seen
      },
      async resume ({ id, text, after }) {
        let response
        for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: after })) {
          if (event.type === 'response.output_text.delta') text += event.delta
          response = event.response ?? response
        }
        return { ...answerOf(response), text }
      },
      stop: async ({ id }) => answerOf(await client.responses.cancel(id))
    }
  }
}))
