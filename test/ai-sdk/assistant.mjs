// A page with the runtime of assistant-ui.
import { mount } from './page.mjs'

const { AssistantRuntimeProvider } = await import('@assistant-ui/core/react')
const { AssistantChatTransport, createResumableSessionStorage, useChatRuntime } = await import('@assistant-ui/react-ai-sdk')
const { createElement } = await import('react')

/** Opens the page. A reload is another one: what it has of the one before is `sessionStorage`. */
export function openAssistant ({ api, fetch, messages = [] }) {
  const storage = createResumableSessionStorage()
  const transport = new AssistantChatTransport({ api, fetch, resumable: { storage, resumeApi: id => `${api}/${encodeURIComponent(id)}/stream` } })
  const page = mount(() => useChatRuntime({ messages, transport }), runtime => createElement(AssistantRuntimeProvider, { runtime }))
  return {
    ...page,
    streamId: () => storage.getStreamId(),
    thread: () => page.current()?.thread.getState().isLoading === false ? page.current().thread : undefined,
    said: () => page.current().thread.getState().messages.map(({ content }) => content.filter(({ type }) => type === 'text').map(({ text }) => text).join(''))
  }
}
