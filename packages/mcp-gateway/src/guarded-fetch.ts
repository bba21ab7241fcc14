import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { createParser } from 'eventsource-parser'
import { mirroredHeaders } from './mirrored-headers.js'

type Id = string | number

export interface FetchGuard {
  readonly maxMessageBytes: number
  /** Whether requests carry the headers of revision 2026-07-28. */
  readonly isModern: boolean
  /** Input schema of a tool, for headers that repeat arguments. */
  readonly schemaOf: (tool: string) => unknown
  /** The answer to this request will not come: its stream ended, or its message was too long. */
  readonly onLost: (id: Id, message: string, data: object) => void
  /** What the server asks or logs in the stream of this request's answer. */
  readonly onRelated: (message: JSONRPCMessage, id: Id) => void
  readonly fetch: FetchLike
  /** The requests on their way, so that one can be cut off. */
  readonly open: Map<Id, AbortController>
}

const NEWLINE = 10

/** JSON-RPC code of an answer that nobody reads. */
const CANCELLED = -32000

/**
 * The `fetch` of an HTTP upstream: it knows which request an answer is for, which the transport does not tell. So a stream
 * that is cut, and a message past the limit, fail that one call at once rather than leave it waiting, and what the server
 * asks and logs meanwhile belongs to that call.
 */
export function guardedFetch (guard: FetchGuard): FetchLike {
  return async (url, init = {}) => {
    const message = init.method === 'POST' ? requestOf(init.body) : undefined
    if (message?.id === undefined || message.method === undefined) return await guard.fetch(url, init)
    const { id, method, params = {} } = message
    const headers = new Headers(init.headers)
    if (guard.isModern) {
      for (const [name, value] of Object.entries(mirroredHeaders(method, params, guard.schemaOf(String(params.name))))) headers.set(name, value)
    }
    const cut = new AbortController()
    guard.open.set(id, cut)
    const signal = init.signal == null ? cut.signal : AbortSignal.any([init.signal, cut.signal])
    try {
      const response = await guard.fetch(url, { ...init, headers, signal })
      if (!response.ok) return await asAnswer(response, id)
      if (response.body === null) return response
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
      return new Response(watched(response.body, isStream, id, cut.signal, guard), { status: response.status, headers: response.headers })
    } catch (err) {
      guard.open.delete(id)
      throw err
    }
  }
}

interface Message { readonly id?: Id, readonly method?: string, readonly params?: Record<string, unknown> }

function requestOf (body: unknown): Message | undefined {
  return typeof body === 'string' ? JSON.parse(body) as Message : undefined
}

/** A refusal whose body is the JSON-RPC error of this request is its answer. */
async function asAnswer (response: Response, id: Id): Promise<Response> {
  const text = await response.text().catch(() => '')
  try {
    const { id: answered, error } = JSON.parse(text) as { id?: unknown, error?: unknown }
    if (answered === id && typeof error === 'object') return new Response(text, { status: 200, headers: { 'content-type': 'application/json' } })
  } catch {
    // no JSON: an ordinary refusal
  }
  return new Response(text, { status: response.status, statusText: response.statusText, headers: response.headers })
}

/** The body as it comes, counted, without what the server asks and logs, and its end noticed. */
function watched (body: ReadableStream<Uint8Array>, isStream: boolean, id: Id, cut: AbortSignal, { maxMessageBytes, onLost, onRelated, open }: FetchGuard): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const events = isStream ? new Events(message => onRelated(message, id)) : undefined
  let bytes = 0
  const lost = (): void => {
    open.delete(id)
    // what was read last is still being parsed; a stream with event ids is resumed by the transport
    if (events?.isResumable === false) setTimeout(() => onLost(id, 'the server ended the stream without an answer', {}), 20)
  }
  return new ReadableStream({
    async pull (controller) {
      try {
        const { done, value } = await reader.read()
        if (done) {
          lost()
          controller.close()
          return
        }
        const lineEnd = isStream ? value.lastIndexOf(NEWLINE) : -1
        bytes = lineEnd === -1 ? bytes + value.length : value.length - lineEnd
        if (bytes > maxMessageBytes) {
          onLost(id, 'the message is too long', { oversized: bytes })
          throw new Error('the message is too long')
        }
        controller.enqueue(events === undefined ? value : events.read(value))
      } catch (err) {
        lost()
        reader.cancel().catch(() => {})
        if (isStream && cut.aborted) {
          // the transport would resume a stream that has no answer, though nobody waits for it any more
          controller.enqueue(Buffer.from(`\n\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, error: { code: CANCELLED, message: 'cancelled' } })}\n\n`))
          controller.close()
        } else controller.error(err)
      }
    },
    async cancel (reason) {
      open.delete(id)
      await reader.cancel(reason)
    }
  }, { highWaterMark: 0 })
}

/** Takes the server's questions and log messages out of an event stream. Events without data stay, for their ids. */
class Events {
  /** Whether an event had an id. */
  isResumable = false
  readonly #decoder = new TextDecoder()
  readonly #parser
  #out: string[] = []

  constructor (take: (message: JSONRPCMessage) => void) {
    this.#parser = createParser({
      onEvent: ({ id, event, data }) => {
        if (id !== undefined) this.isResumable = true
        const message = data.includes('"method"') ? relatedIn(data) : undefined
        if (message !== undefined) take(message)
        const lines = (message === undefined ? data : '').split('\n').map(line => `data: ${line}\n`)
        this.#out.push(`${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}${lines.join('')}\n`)
      },
      onRetry: ms => { this.#out.push(`retry: ${ms}\n`) }
    })
  }

  /** The events that are complete with these bytes. */
  read (bytes: Uint8Array): Uint8Array {
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }))
    const text = this.#out.join('')
    this.#out = []
    // a stream cannot pass on nothing
    return Buffer.from(text === '' ? ':\n' : text)
  }
}

function relatedIn (data: string): JSONRPCMessage | undefined {
  try {
    const message = JSON.parse(data) as Message
    return message.method !== undefined && (message.id !== undefined || message.method === 'notifications/message') ? message as JSONRPCMessage : undefined
  } catch {
    return undefined
  }
}
