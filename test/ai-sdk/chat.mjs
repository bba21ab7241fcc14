// A chat of each published version of the AI SDK, as an application without React has it.
import * as ai5 from 'ai-5'
import * as ai5first from 'ai-5-0-60'
import * as ai6 from 'ai-6'
import * as ai6first from 'ai-6-0-0'
import * as ai7 from 'ai-7'
import * as ai7first from 'ai-7-0-0'
import { versionOf } from '../responses/version.mjs'

export const CLIENTS = [
  { major: 5, version: versionOf('ai-5-0-60'), ai: ai5first }, { major: 5, version: versionOf('ai-5'), ai: ai5 }, { major: 6, version: versionOf('ai-6-0-0'), ai: ai6first },
  { major: 6, version: versionOf('ai-6'), ai: ai6 }, { major: 7, version: versionOf('ai-7-0-0'), ai: ai7first }, { major: 7, version: versionOf('ai-7'), ai: ai7 }
]

class State {
  constructor (messages) { this.messages = messages }
  status = 'ready'
  error = undefined
  pushMessage = message => { this.messages = [...this.messages, structuredClone(message)] }
  popMessage = () => { this.messages = this.messages.slice(0, -1) }
  replaceMessage = (index, message) => { this.messages = this.messages.with(index, structuredClone(message)) }
  snapshot = value => structuredClone(value)
}

/**
 * A fetch as browsers have it: a body that is cut off fails with a network error. `cut()` does that to the body that is
 * read.
 */
export function browserFetch () {
  const requests = []
  let cut = () => {}
  const wrapped = async (url, options = {}) => {
    const request = { url: String(url), method: options.method ?? 'GET', headers: new Headers(options.headers), frames: [] }
    requests.push(request)
    const response = await fetch(url, options)
    request.status = response.status
    request.response = response.headers
    if (response.body === null) return response
    const reader = response.body.getReader()
    const decoder = new TextDecoder()
    let text = ''
    const body = new ReadableStream({
      start (controller) { cut = () => { controller.error(new TypeError('network error')); void reader.cancel().catch(() => {}) } },
      async pull (controller) {
        try {
          const { done, value } = await reader.read()
          if (done) return controller.close()
          text += decoder.decode(value, { stream: true })
          request.text = text
          controller.enqueue(value)
        } catch (err) {
          try { controller.error(err.name === 'AbortError' ? err : new TypeError('network error')) } catch {}
        }
      },
      async cancel (reason) { await reader.cancel(reason) }
    })
    return new Response(body, { status: response.status, headers: response.headers })
  }
  return { fetch: wrapped, requests, cut: () => { cut() } }
}

/** A chat, and what it has got. */
export function openChat (ai, url, { messages = [], id, transport, ...options } = {}) {
  const browser = browserFetch()
  const data = []
  const ends = []
  const Chat = class extends ai.AbstractChat {
    constructor () {
      super({
        id,
        state: new State(messages),
        transport: transport?.({ api: url, fetch: browser.fetch }) ?? new ai.DefaultChatTransport({ api: url, fetch: browser.fetch }),
        onData: part => { data.push(part) },
        onFinish: end => { ends.push(end) },
        ...options
      })
    }
  }
  const chat = new Chat()
  const last = () => chat.messages.at(-1)
  return {
    chat,
    ...browser,
    data,
    ends,
    last,
    text: () => last()?.parts.filter(({ type }) => type === 'text').map(({ text }) => text).join('') ?? ''
  }
}
