import { DefaultChatTransport } from 'ai'

/** The transport of one chat. After a lost line it goes on with the next frame, after a reload it begins anew. */
export function resumableTransport (options) {
  let last
  return new DefaultChatTransport({
    ...options,
    resumeStreamIsReplay: false,
    async fetch (url, init) {
      const headers = new Headers(init?.headers)
      if (init?.method === 'POST') last = undefined
      else if (last !== undefined) headers.set('last-event-id', last)
      const response = await fetch(url, { ...init, headers })
      if (response.status !== 200) return response
      const text = new TextDecoder()
      let line = ''
      const noteIds = new TransformStream({
        transform (bytes, controller) {
          const lines = (line + text.decode(bytes, { stream: true })).split('\n')
          line = lines.pop()
          for (const one of lines) if (one.startsWith('id: ')) last = one.slice(4)
          controller.enqueue(bytes)
        }
      })
      return new Response(response.body.pipeThrough(noteIds), response)
    }
  })
}
