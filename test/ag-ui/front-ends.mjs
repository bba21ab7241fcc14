// TanStack AI and the front-end half of CopilotKit, as a page uses them.
import { fetchServerSentEvents, ChatClient } from '@tanstack/ai-client'
import { Window } from 'happy-dom'

/** A chat of TanStack AI. With `persistence: true` it begins with what the service has. */
export function tanstackChat ({ url, threadId, fetchClient, headers, ...options }) {
  return new ChatClient({ connection: fetchServerSentEvents(url, { fetchClient, headers, reconnect: { baseDelayMs: 1, maxDelayMs: 5 } }), threadId, ...options })
}

/** The texts of the messages of a chat, by their roles. */
export function uiTexts (chat) {
  return chat.getMessages().map(({ role, parts }) => [role, parts.filter(({ type }) => type === 'text').map(({ content }) => content).join('')])
}

/** Fetches, and cuts the body of the first response after a text has come; `seen` gets each request. */
export function cuttingFetch (seen, text) {
  return async (input, init = {}) => {
    seen.push({ method: init.method, url: String(input), headers: new Headers(init.headers), body: init.body })
    const response = await fetch(input, init)
    if (seen.length > 1) return response
    let got = ''
    const cut = new TransformStream({
      transform (chunk, controller) {
        if (got.includes(text)) controller.error(new TypeError('network error'))
        else controller.enqueue(chunk)
        got += new TextDecoder().decode(chunk)
      }
    })
    return new Response(response.body.pipeThrough(cut), { status: response.status, headers: response.headers })
  }
}

/** CopilotKit connects only where there is a window. Call `close` at the end. */
export async function copilotPage ({ url, headers, transport = 'rest' }) {
  const window = new Window({ url: 'http://localhost/' })
  const before = new Map(['window', 'document', 'location'].map(name => [name, Object.getOwnPropertyDescriptor(globalThis, name)]))
  for (const [name, value] of [['window', window], ['document', window.document], ['location', window.location]]) Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  const { CopilotKitCore } = await import('@copilotkit/core')
  const errors = []
  const connect = async () => {
    const core = new CopilotKitCore({ runtimeUrl: url, runtimeTransport: transport, ...headers !== undefined && { headers } })
    core.subscribe({ onError: ({ error, code }) => { errors.push(`${code}: ${error.message}`) } })
    return core
  }
  return {
    connect,
    errors,
    async close () {
      for (const [name, descriptor] of before) {
        if (descriptor === undefined) delete globalThis[name]
        else Object.defineProperty(globalThis, name, descriptor)
      }
      await window.happyDOM.close()
    }
  }
}
