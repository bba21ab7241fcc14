// Clients that run a function which the agent calls, and ask again with its output.
import * as ai5 from 'ai-5'
import * as ai6 from 'ai-6'
import * as ai7 from 'ai-7'
import { createOpenResponses } from '@ai-sdk/open-responses'
import { ChatOpenAI } from '@langchain/openai'
import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents'
import { createOpenAI as createOpenAI2 } from 'ai-sdk-openai-2'
import { createOpenAI as createOpenAI3 } from 'ai-sdk-openai-3'
import { createOpenAI as createOpenAI4 } from 'ai-sdk-openai-4'
import { z } from 'zod'

const city = z.object({ city: z.string() })
const execute = async ({ city }) => `mild in ${city}`

async function langchain (url, question) {
  const schema = { type: 'object', properties: { city: { type: 'string' } } }
  const model = new ChatOpenAI({ model: 'docs', apiKey: 'none', maxRetries: 0, useResponsesApi: true, configuration: { baseURL: `${url}/openai/v1` } })
    .bindTools([{ type: 'function', function: { name: 'forecast', description: 'The weather.', parameters: schema } }])
  const asked = { role: 'user', content: question }
  const called = await model.invoke([asked])
  const [{ id, args }] = called.tool_calls
  return (await model.invoke([asked, called, { role: 'tool', tool_call_id: id, content: await execute(args) }])).text
}

async function agents (url, question, stream) {
  const runner = new Runner({ modelProvider: new OpenAIProvider({ baseURL: `${url}/openai/v1`, apiKey: 'none', useResponses: true }), tracingDisabled: true })
  const agent = new Agent({ name: 'Asker', model: 'docs', tools: [tool({ name: 'forecast', description: 'The weather.', parameters: city, execute })] })
  const result = await runner.run(agent, question, { stream })
  await result.completed
  return result.finalOutput
}

async function aiSdk (ai, model, question, stream, store) {
  const options = {
    model,
    prompt: question,
    maxRetries: 0,
    tools: { forecast: ai.tool({ description: 'The weather.', inputSchema: city, execute }) },
    stopWhen: ai.stepCountIs(3),
    ...store !== undefined && { providerOptions: { openai: { store } } }
  }
  if (!stream) return (await ai.generateText(options)).text
  let text = ''
  for await (const part of ai.streamText({ ...options, onError () {} }).textStream) text += part
  return text
}

const SDKS = [
  ['AI SDK 5', ai5, createOpenAI2], ['AI SDK 6', ai6, createOpenAI3], ['AI SDK 7', ai7, createOpenAI4],
  ['@ai-sdk/open-responses', ai7, ({ baseURL, apiKey }) => createOpenResponses({ name: 'vac', url: `${baseURL}/responses`, apiKey })]
]

/** `[name, ask]`; `ask` resolves to the text in the end. */
export const LOOPS = [
  ['LangChain', langchain],
  ...[false, true].flatMap(stream => [
    [`Agents${stream ? ', streamed' : ''}`, (url, question) => agents(url, question, stream)],
    ...SDKS.flatMap(([name, ai, create]) => [undefined, false].map(store => [
      `${name}${stream ? ', streamed' : ''}${store === false ? ', with store: false' : ''}`,
      (url, question) => aiSdk(ai, create({ baseURL: `${url}/openai/v1`, apiKey: 'none' })('docs'), question, stream, store)
    ]))
  ])
]
