import { signal, type Signal } from '@preact/signals'
import type { Exchange, Frame, Protocol } from './exchange-record.js'
import { FrameSplitter } from './frame-splitter.js'
import { maskHeaders, maskText } from './mask.js'
import { ownUrl } from './own-url.js'
import { token } from './token.js'

export type { Exchange, Frame, Protocol }

/** Exchanges that the page keeps; the oldest one leaves. */
export const MAX_EXCHANGES = 200
/** Frames that the page keeps of one exchange. */
export const MAX_FRAMES = 10_000
/** Characters that the page keeps of one frame. */
export const MAX_FRAME_CHARS = 64 * 1024
/** Characters that the page keeps of all requests and frames; the oldest exchanges leave. */
export const MAX_SESSION_CHARS = 16 * 1024 * 1024
/** Characters of one response that the page reads. */
export const MAX_RESPONSE_CHARS = 64 * 1024 * 1024

/** What a person does about the status 401, of a service with tokens or of an app with sessions. */
export const SIGN_IN = 'sign in again, or enter a token under Access'

export interface Sent {
  readonly exchange: Exchange
  /** What is read of its body is kept in the exchange; of each frame the first `MAX_FRAME_CHARS` characters. */
  readonly response: Response
  /** The whole body, parsed. */
  json (): Promise<unknown>
}

/** More than the page reads of a response. */
class ResponseTooLongError extends Error {
  override message = `the response has more than ${MAX_RESPONSE_CHARS} characters`
}

/** Why an answer failed, for people: a bound of the page is the cause of a stream that is cut. */
export function reasonOf (err: unknown): string {
  const { message, cause } = err as Error
  return cause instanceof ResponseTooLongError ? cause.message : message
}

/** How the page names an exchange. */
export interface Named { readonly protocol: Protocol, readonly label: string }

export interface SendRequest extends Named {
  readonly method?: string
  /** Relative to the page. */
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: unknown
  readonly signal?: AbortSignal
  readonly as: 'json' | 'text' | 'sse'
}

/** The session: the newest exchange is the last. */
export const exchanges: Signal<readonly Exchange[]> = signal([])

/** What a frame costs besides its text, in characters. */
const FRAME_CHARS = 64
const encoder = new TextEncoder()
let count = 0
/** Characters of the exchanges that are kept. */
const chars = new Map<Exchange, number>()
let sessionChars = 0
let isScheduled = false

/** A view of the session that changes at most once in each picture of the screen, however many frames arrive. */
function publish (): void {
  if (isScheduled) return
  isScheduled = true
  setTimeout(() => {
    isScheduled = false
    exchanges.value = [...exchanges.value]
  }, 16)
}

/** Counts characters of an exchange that is kept; the oldest other exchanges leave where they are too many. */
function addChars (exchange: Exchange, length: number): boolean {
  const known = chars.get(exchange)
  if (known === undefined) return false
  let kept = exchanges.value
  while (sessionChars + length > MAX_SESSION_CHARS && kept[0] !== undefined && kept[0] !== exchange) kept = forgetOldest(kept)
  exchanges.value = kept
  if (sessionChars + length > MAX_SESSION_CHARS) return false
  chars.set(exchange, known + length)
  sessionChars += length
  return true
}

function forgetOldest ([oldest, ...others]: readonly Exchange[]): readonly Exchange[] {
  sessionChars -= chars.get(oldest!) ?? 0
  chars.delete(oldest!)
  return others
}

/** Adds an exchange; its body is left out where it is by itself more than the session keeps. */
function addExchange (exchange: Exchange, bodyChars: number): void {
  const kept = exchanges.value.length < MAX_EXCHANGES ? exchanges.value : forgetOldest(exchanges.value)
  chars.set(exchange, 0)
  exchanges.value = [...kept, exchange]
  if (!addChars(exchange, bodyChars)) delete (exchange.request as { body?: unknown }).body
}

/** Sends a request to this service. @throws Error for another origin */
export async function send ({ protocol, label, method, path, headers = {}, body, signal, as }: SendRequest): Promise<Sent> {
  const init: RequestInit = {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      accept: as === 'sse' ? 'text/event-stream' : as === 'json' ? 'application/json' : 'text/plain',
      ...body === undefined ? {} : { 'content-type': 'application/json' },
      ...headers
    },
    ...body === undefined ? {} : { body: JSON.stringify(body) },
    ...signal === undefined ? {} : { signal }
  }
  return await record({ protocol, label }, path, init)
}

/** The `fetch` of @polyvac/client: `onSent` gets each exchange as its response begins. */
export function recorder (named: Named, onSent?: (sent: Sent) => void): (url: string, init: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const sent = await record(named, url, init)
    onSent?.(sent)
    return sent.response
  }
}

/** Sends a request with the token, and keeps it with what is read of its response; secrets in headers are masked. */
async function record ({ protocol, label }: Named, path: string, { method, headers, body, signal }: RequestInit): Promise<Sent> {
  const { href, pathname, search } = ownUrl(path)
  const sentHeaders: Record<string, string> = { ...token.value === '' ? {} : { authorization: `Bearer ${token.value}` }, ...headers as Record<string, string> }
  const text = body as string | undefined
  const exchange: Exchange = {
    id: `${Date.now().toString(36)}-${++count}`,
    startedAt: Date.now(),
    protocol,
    label,
    request: {
      method: method!,
      path: maskText(pathname + search),
      headers: maskHeaders(Object.entries(sentHeaders)),
      ...text === undefined ? {} : { body: JSON.parse(text) as unknown }
    },
    frames: []
  }
  const clock = performance.now()
  const now = (): number => Math.round((performance.now() - clock) * 10) / 10
  const received = exchange.received = { frames: 0, bytes: 0 }
  addExchange(exchange, text?.length ?? 0)
  const end = (err?: unknown): void => {
    if (exchange.endedAt !== undefined) return
    exchange.endedAt = now()
    if (err !== undefined) exchange.error = signal?.aborted === true ? 'stopped' : err instanceof Error ? err.message : String(err)
    publish()
  }
  let answered: Response
  try {
    answered = await fetch(href, { method: method!, headers: sentHeaders, cache: 'no-store', ...text !== undefined && { body: text }, ...signal != null && { signal } })
  } catch (err) {
    end(err)
    throw err
  }
  exchange.status = answered.status
  exchange.headers = maskHeaders(answered.headers)
  publish()

  const splitter = new FrameSplitter(answered.headers.get('content-type') ?? '')
  const decoder = new TextDecoder()
  let length = 0
  function keep (text: string): void {
    if (text === '') return
    const frame = { at: now(), bytes: encoder.encode(text).length, text: text.slice(0, MAX_FRAME_CHARS) }
    received.frames++
    received.bytes += frame.bytes
    if (exchange.frames.length < MAX_FRAMES && addChars(exchange, frame.text.length + FRAME_CHARS)) exchange.frames.push(frame)
    publish()
  }
  function keepPiece (piece: Uint8Array): void {
    exchange.firstByteAt ??= now()
    const text = decoder.decode(piece, { stream: true })
    length += text.length
    if (length > MAX_RESPONSE_CHARS) throw new ResponseTooLongError()
    for (const frame of splitter.push(text)) keep(frame)
  }

  const { body: sentBody } = answered
  // a browser gives a body to the status 204 and refuses it in a response of the page
  const isEmpty = sentBody === null || answered.status === 204
  const response = isEmpty ? answered : new Response(observed(sentBody, keepPiece, err => { keep(splitter.end()); end(err) }), answered)
  if (isEmpty) end()

  async function json (): Promise<unknown> {
    const text = await response.text()
    if (text === '' && response.status !== 401) return undefined
    try {
      return JSON.parse(text)
    } catch {
      throw new Error(`${exchange.request.path} answered ${response.status}${response.status === 401 ? `: ${SIGN_IN}` : ' with a body that is not JSON'}`)
    }
  }
  return { exchange, response, json }
}

/** A body whose pieces are seen as they are read, and its end. A reader that leaves before closes the connection. */
function observed (body: ReadableStream<Uint8Array>, onPiece: (piece: Uint8Array) => void, onEnd: (err?: unknown) => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream({
    async pull (controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) onPiece(value)
        if (!done) return controller.enqueue(value)
        onEnd()
        controller.close()
      } catch (err) {
        onEnd(err)
        controller.error(err)
        await reader.cancel().catch(() => {})
      }
    },
    async cancel () {
      onEnd(new Error('the page stopped reading'))
      await reader.cancel().catch(() => {})
    }
  }, { highWaterMark: 0 })
}
