import * as ai5 from 'ai-5'
import * as ai6 from 'ai-6'
import * as ai7 from 'ai-7'
import { createOpenResponses } from '@ai-sdk/open-responses'
import { createOpenAI as createOpenAI2 } from 'ai-sdk-openai-2'
import { createOpenAI as createOpenAI3 } from 'ai-sdk-openai-3'
import { createOpenAI as createOpenAI4 } from 'ai-sdk-openai-4'
import { versionOf } from './version.mjs'

const stepsOf = parts => parts.map(({ text }) => text)
const urlsOf = sources => sources.map(({ url, title }) => ({ url, title }))

/** This provider has citations only in the metadata of the text. */
const annotationsOf = ({ content = [] }) => content.flatMap(({ providerMetadata }) => providerMetadata?.vac?.annotations ?? []).map(({ url, title }) => ({ url, title }))

/** What a user of the AI SDK writes with one model; the messages of an answer are those of the next turn. */
function connected ({ generateText, streamText }, model, sourcesOf) {
  const turn = (question, previous) => [...previous?.messages ?? [], { role: 'user', content: question }]
  return {
    async ask (question, previous, abortSignal) {
      const messages = turn(question, previous)
      const result = await generateText({ model, messages, abortSignal })
      return { text: result.text, sources: sourcesOf(result), steps: stepsOf(result.reasoning), messages: [...messages, ...result.response.messages] }
    },
    async stream (question) {
      const messages = turn(question)
      let error
      const result = streamText({ model, messages, onError (event) { error = event.error } })
      let streamed = ''
      for await (const part of result.textStream) streamed += part
      // AI SDK 5 and 6 give the event or its error, as it was sent
      if (error !== undefined) throw error instanceof Error ? error : new Error((error.error ?? error).message)
      return {
        text: await result.text,
        streamed,
        sources: sourcesOf({ sources: await result.sources, content: await result.content }),
        steps: stepsOf(await result.reasoning),
        messages: [...messages, ...(await result.response).messages]
      }
    }
  }
}

export const aiSdk = [['5', ai5, createOpenAI2], ['6', ai6, createOpenAI3], ['7', ai7, createOpenAI4]].map(([major, ai, createOpenAI]) => ({
  client: 'AI SDK, @ai-sdk/openai',
  version: versionOf(`ai-${major}`),
  connect: url => connected(ai, createOpenAI({ baseURL: `${url}/openai/v1`, apiKey: 'none' })('docs'), ({ sources }) => urlsOf(sources))
}))

export const openResponses = {
  client: 'AI SDK, @ai-sdk/open-responses',
  version: versionOf('@ai-sdk/open-responses'),
  connect: url => connected(ai7, createOpenResponses({ name: 'vac', url: `${url}/openai/v1/responses`, apiKey: 'none' })('docs'), annotationsOf)
}
