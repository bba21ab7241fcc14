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
  /** The frames as they arrive, whole; the exchange keeps their first `MAX_FRAME_CHARS` characters. */
  frames (): AsyncIterable<Frame>
  /** The whole body, parsed. */
  json (): Promise<unknown>
}

export interface SendRequest {
  readonly protocol: Protocol
  readonly label: string
  readonly method?: string
  /** Relative to the page. */
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: unknown
  readonly signal?: AbortSignal
  readonly as: 'json' | 'text' | 'sse'
}

/** The data of a server-sent event; empty for a comment. */
export function eventData (frame: string): string {
  return frame.split(/\r?\n/).filter(line => line.startsWith('data:')).map(line => line.slice(5).trimStart()).join('\n')
}

/** The id of a server-sent event. */
export const eventId = (frame: string): string | undefined => /^id: ?(.+)$/m.exec(frame)?.[1]

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

/** Sends a request to this service; secrets in headers are masked in what is kept. @throws Error for another origin */
export async function send ({ protocol, label, method, path, headers = {}, body, signal, as }: SendRequest): Promise<Sent> {
  const { href, pathname, search } = ownUrl(path)
  const sentHeaders: Record<string, string> = {
    accept: as === 'sse' ? 'text/event-stream' : as === 'json' ? 'application/json' : 'text/plain',
    ...body === undefined ? {} : { 'content-type': 'application/json' },
    ...token.value === '' ? {} : { authorization: `Bearer ${token.value}` },
    ...headers
  }
  const text = body === undefined ? undefined : JSON.stringify(body)
  const exchange: Exchange = {
    id: `${Date.now().toString(36)}-${++count}`,
    startedAt: Date.now(),
    protocol,
    label,
    request: {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      path: maskText(pathname + search),
      headers: maskHeaders(Object.entries(sentHeaders)),
      ...body === undefined ? {} : { body }
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
  let response: Response
  try {
    response = await fetch(href, {
      method: exchange.request.method,
      headers: sentHeaders,
      cache: 'no-store',
      ...text === undefined ? {} : { body: text },
      ...signal === undefined ? {} : { signal }
    })
  } catch (err) {
    end(err)
    throw err
  }
  exchange.status = response.status
  exchange.headers = maskHeaders(response.headers)
  publish()

  function keep (text: string): Frame {
    const frame = { at: now(), bytes: encoder.encode(text).length, text }
    received.frames++
    received.bytes += frame.bytes
    const kept = text.length > MAX_FRAME_CHARS ? { ...frame, text: text.slice(0, MAX_FRAME_CHARS) } : frame
    if (exchange.frames.length < MAX_FRAMES && addChars(exchange, kept.text.length + FRAME_CHARS)) exchange.frames.push(kept)
    publish()
    return frame
  }

  async function * frames (): AsyncGenerator<Frame> {
    const splitter = new FrameSplitter(response.headers.get('content-type') ?? '', as === 'json')
    let length = 0
    let reader: ReadableStreamDefaultReader<string> | undefined
    // what a reader leaves unread may go on
    let failure: unknown = new Error('the page stopped reading')
    try {
      reader = response.body?.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array<ArrayBuffer>, string>).getReader()
      for (;;) {
        const { done, value } = await reader?.read() ?? { done: true, value: undefined }
        if (done) break
        exchange.firstByteAt ??= now()
        length += value.length
        if (length > MAX_RESPONSE_CHARS) throw new Error(`the response has more than ${MAX_RESPONSE_CHARS} characters`)
        for (const text of splitter.push(value)) if (text !== '') yield keep(text)
      }
      failure = undefined
      const rest = splitter.end()
      if (rest !== '') yield keep(rest)
    } catch (err) {
      failure = err
      throw err
    } finally {
      end(failure)
      // a reader that stops in the middle closes the connection
      await reader?.cancel().catch(() => {})
    }
  }

  async function json (): Promise<unknown> {
    let text = ''
    for await (const frame of frames()) text += frame.text
    if (text === '' && response.status !== 401) return undefined
    try {
      return JSON.parse(text)
    } catch {
      throw new Error(`${exchange.request.path} answered ${response.status}${response.status === 401 ? `: ${SIGN_IN}` : ' with a body that is not JSON'}`)
    }
  }
  return { exchange, frames, json }
}
