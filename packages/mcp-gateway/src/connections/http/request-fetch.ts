import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { createParser } from 'eventsource-parser'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { paramHeaders } from './param-headers.js'

type Id = string | number

export interface RequestFetchOptions {
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

/** Length of a chunk from which others are served before the next one. */
const LONG_BYTES = 16 * 1024

/** Ended streams that are remembered, in case the transport goes on with them. */
const MAX_BROKEN = 1_000

/** Time in ms until what was read of an answer has reached its request. */
const PARSING_MS = 20

/**
 * The `fetch` of an HTTP upstream: it knows which request an answer is for, which the transport does not tell. So a stream
 * that is cut, and a message past the limit, fail that one call at once rather than leave it waiting, and what the server
 * asks and logs meanwhile belongs to that call.
 */
export function requestFetch (guard: RequestFetchOptions): FetchLike {
  const broken = new BrokenStreams()
  return async (url, init = {}) => {
    const headers = new Headers(init.headers)
    const message = init.method === 'POST' ? requestOf(init.body) : broken.goneOnWith(headers)
    if (message?.id === undefined || message.method === undefined) return await guard.fetch(url, init)
    const { id, method, params = {} } = message
    if (guard.isModern) {
      for (const [name, value] of Object.entries(paramHeaders(method, params, guard.schemaOf(String(params.name))))) headers.set(name, value)
    }
    const cut = new AbortController()
    guard.open.set(id, cut)
    const signal = init.signal == null ? cut.signal : AbortSignal.any([init.signal, cut.signal])
    try {
      const response = await guard.fetch(url, { ...init, headers, signal })
      if (!response.ok) return await asAnswer(response, id, guard.maxMessageBytes).finally(() => { guard.open.delete(id) })
      if (response.body === null) {
        guard.open.delete(id)
        return response
      }
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
      return new Response(watched(response.body, isStream, id, cut.signal, guard, broken), { status: response.status, headers: response.headers })
    } catch (err) {
      guard.open.delete(id)
      throw err
    }
  }
}

/** The transport goes on with a stream that broke by another request, which says so with the id of the last event alone. */
class BrokenStreams {
  readonly #requests = new Map<string, Id>()

  add (lastEvent: string, id: Id): void {
    this.#requests.set(lastEvent, id)
    // those that had their answer are not gone on with
    if (this.#requests.size > MAX_BROKEN) this.#requests.delete(this.#requests.keys().next().value!)
  }

  goneOnWith (headers: Headers): Message | undefined {
    const lastEvent = headers.get('last-event-id') ?? ''
    const id = this.#requests.get(lastEvent)
    return id === undefined ? undefined : { id, method: '' }
  }
}

interface Message { readonly id?: Id, readonly method?: string, readonly params?: Record<string, unknown> }

function requestOf (body: unknown): Message | undefined {
  return typeof body === 'string' ? JSON.parse(body) as Message : undefined
}

/** A refusal whose body is the JSON-RPC error of this request is its answer. */
async function asAnswer (response: Response, id: Id, maxBytes: number): Promise<Response> {
  const text = await textOf(response, maxBytes).catch(() => '')
  try {
    const { id: answered, error } = JSON.parse(text) as { id?: unknown, error?: unknown }
    if (answered === id && typeof error === 'object') return new Response(text, { status: 200, headers: { 'content-type': 'application/json' } })
  } catch {
    // no JSON: an ordinary refusal
  }
  return new Response(text, { status: response.status, statusText: response.statusText, headers: response.headers })
}

/** The beginning of a body, about as much as is taken of any message. */
async function textOf ({ body }: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    chunks.push(chunk as Uint8Array)
    bytes += (chunk as Uint8Array).length
    if (bytes > maxBytes) break
  }
  return Buffer.concat(chunks).toString()
}

/** The body as it comes, counted, without what the server asks and logs, and its end noticed. */
function watched (body: ReadableStream<Uint8Array>, isStream: boolean, id: Id, cut: AbortSignal, { maxMessageBytes, isModern, onLost, onRelated, open }: RequestFetchOptions, broken: BrokenStreams): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const events = isStream ? new Events({ id, isModern, maxMessageBytes, take: message => onRelated(message, id) }) : undefined
  let bytes = 0
  let isOver = false
  let isTooLong = false
  const lost = (): void => {
    if (isOver) return
    isOver = true
    open.delete(id)
    // what was read last is still being parsed; a stream with event ids is resumed by the transport
    if (events === undefined) setTimeout(() => onLost(id, 'the server answered something else', {}), PARSING_MS)
    else if (events.lastId !== undefined) broken.add(events.lastId, id)
    else setTimeout(() => onLost(id, 'the server ended the stream without an answer', {}), PARSING_MS)
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
        const passed = events === undefined ? value : events.read(value)
        bytes += value.length
        isTooLong = events === undefined ? bytes > maxMessageBytes : events.isTooLong
        if (isTooLong) {
          onLost(id, 'the message is too long', { oversized: bytes })
          throw new Error('the message is too long')
        }
        if (events?.isEmpty === true) bytes = 0
        controller.enqueue(passed)
        // a flood would go on from promise to promise, with nothing else served in between
        if (value.length > LONG_BYTES) await nextTurn()
      } catch (err) {
        lost()
        reader.cancel().catch(() => {})
        if (isStream && (cut.aborted || isTooLong)) {
          // the transport would resume a stream that has no answer, though nobody waits for it any more
          controller.enqueue(Buffer.from(`\n\ndata: ${endOf(id)}\n\n`))
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

interface EventsOptions {
  /** Of the request that the stream answers. */
  readonly id: Id
  readonly isModern: boolean
  readonly maxMessageBytes: number
  readonly take: (message: JSONRPCMessage) => void
}

/** Takes the server's questions and log messages out of an event stream. Events without data stay, for their ids. */
class Events {
  /** Of the last event that had one, with which the stream can be taken up: from 2026-07-28 on none has. */
  lastId: string | undefined
  /** Whether one event is past the limit. */
  isTooLong = false
  /** Whether nothing is left of an event that is not complete. */
  isEmpty = true
  readonly #decoder = new TextDecoder()
  readonly #parser
  #out: string[] = []

  constructor ({ id: request, isModern, maxMessageBytes, take }: EventsOptions) {
    this.#parser = createParser({
      maxBufferSize: maxMessageBytes,
      onError: ({ type }) => { if (type === 'max-buffer-size-exceeded') this.isTooLong = true },
      onEvent: ({ id: given, event, data }) => {
        this.isEmpty = true
        if (data.length > maxMessageBytes) this.isTooLong = true
        const id = isModern ? undefined : given
        if (id !== undefined && id !== '') this.lastId = id
        const message = relatedIn(data, request)
        if (message !== undefined) take(message)
        // the transport would come back for the rest of a stream that ended with an error
        const rest = message === undefined ? data : isRefused(message) ? endOf(request) : ''
        const lines = rest.split('\n').map(line => `data: ${line}\n`)
        this.#out.push(`${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}${lines.join('')}\n`)
      },
      onRetry: ms => { this.#out.push(`retry: ${ms}\n`) }
    })
  }

  /** The events that are complete with these bytes. */
  read (bytes: Uint8Array): Uint8Array {
    this.isEmpty = false
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }))
    const text = this.#out.join('')
    this.#out = []
    // a stream cannot pass on nothing
    return Buffer.from(text === '' ? ':\n' : text)
  }
}

/** An answer that nobody waits for: it tells the transport that the stream is over. */
function endOf (id: Id): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result: {} })
}

function isRefused (message: object): boolean {
  return 'error' in message
}

/** What is taken out of the stream: questions, log messages, and the error that is the request's answer. */
function relatedIn (data: string, request: Id): JSONRPCMessage | undefined {
  if (!data.includes('"method"') && !data.includes('"error"')) return undefined
  try {
    const message = JSON.parse(data) as Message & { readonly error?: unknown }
    const isTaken = message.method === undefined ? message.id === request && message.error !== undefined : message.id !== undefined || message.method === 'notifications/message'
    return isTaken ? message as JSONRPCMessage : undefined
  } catch {
    return undefined
  }
}
