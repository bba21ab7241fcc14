import { signal, type Signal } from '@preact/signals'
import { token } from './token.js'

/** Bounds of the session that the page keeps. */
export const MAX_EXCHANGES = 200
export const MAX_FRAMES = 10_000
export const MAX_FRAME_CHARS = 64 * 1024

export type Protocol = 'direct' | 'openai' | 'a2a' | 'a2a-description' | 'mcp' | 'mcp-gateway' | 'http'

/** What arrived, in order: an SSE event, a line, or a piece of text. `at` is in ms since the start of the exchange. */
export interface Frame { readonly at: number, readonly bytes: number, readonly text: string }

/** One request and everything that was received for it. Times are ms since the epoch; `at` is ms since `startedAt`. */
export interface Exchange {
  /** Unique in the session. */
  readonly id: string
  readonly startedAt: number
  readonly protocol: Protocol
  /** For people: `ask demo`, `tools/call get_time`. */
  readonly label: string
  readonly request: {
    readonly method: string
    readonly path: string
    readonly headers: Record<string, string>
    readonly body?: unknown
  }
  status?: number
  headers?: Record<string, string>
  readonly frames: Frame[]
  /** In ms since `startedAt`. */
  firstByteAt?: number
  endedAt?: number
  /** Why it ended early. */
  error?: string
}

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

/** The session: the newest exchange is the last. */
export const exchanges: Signal<readonly Exchange[]> = signal([])

const SECRET = /authorization|cookie|token|secret|api-?key|password/i
/** What ends a frame, by the type of the body. */
const SEPARATORS: Readonly<Record<string, RegExp>> = { 'text/event-stream': /\r?\n\r?\n/, 'application/x-ndjson': /\n/ }
const MASK = '•••'
let count = 0
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

/** Headers without the values of secrets. */
export function maskHeaders (headers: Iterable<readonly [string, string]>): Record<string, string> {
  return Object.fromEntries([...headers].map(([name, value]) => [name, SECRET.test(name) ? MASK : value]))
}

/** Sends a request; secrets in headers are masked in what is kept. */
export async function send ({ protocol, label, method, path, headers = {}, body, signal, as }: SendRequest): Promise<Sent> {
  const sentHeaders: Record<string, string> = {
    accept: as === 'sse' ? 'text/event-stream' : as === 'json' ? 'application/json' : 'text/plain',
    ...body === undefined ? {} : { 'content-type': 'application/json' },
    ...token.value === '' ? {} : { authorization: `Bearer ${token.value}` },
    ...headers
  }
  const exchange: Exchange = {
    id: `${Date.now().toString(36)}-${++count}`,
    startedAt: Date.now(),
    protocol,
    label,
    request: {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      path: new URL(path, location.href).pathname + new URL(path, location.href).search,
      headers: maskHeaders(Object.entries(sentHeaders)),
      ...body === undefined ? {} : { body }
    },
    frames: []
  }
  const clock = performance.now()
  const now = (): number => Math.round((performance.now() - clock) * 10) / 10
  exchanges.value = [...exchanges.value.slice(1 - MAX_EXCHANGES), exchange]
  const end = (err?: unknown): void => {
    if (exchange.endedAt !== undefined) return
    exchange.endedAt = now()
    if (err !== undefined) exchange.error = signal?.aborted === true ? 'stopped' : err instanceof Error ? err.message : String(err)
    publish()
  }
  let response: Response
  try {
    response = await fetch(path, {
      method: exchange.request.method,
      headers: sentHeaders,
      cache: 'no-store',
      ...body === undefined ? {} : { body: JSON.stringify(body) },
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
    const frame = { at: now(), bytes: new Blob([text]).size, text }
    if (exchange.frames.length < MAX_FRAMES) {
      exchange.frames.push(text.length > MAX_FRAME_CHARS ? { ...frame, text: text.slice(0, MAX_FRAME_CHARS) } : frame)
    }
    publish()
    return frame
  }

  async function * frames (): AsyncGenerator<Frame> {
    const separator = SEPARATORS[response.headers.get('content-type')?.split(';')[0]?.trim() ?? '']
    let rest = ''
    let reader: ReadableStreamDefaultReader<string> | undefined
    let failure: unknown
    try {
      reader = response.body?.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array<ArrayBuffer>, string>).getReader()
      for (;;) {
        const { done, value } = await reader?.read() ?? { done: true, value: undefined }
        if (done) break
        exchange.firstByteAt ??= now()
        rest += value
        const pieces = separator === undefined ? as === 'json' ? [rest] : [rest, ''] : rest.split(separator)
        rest = pieces.pop() ?? ''
        for (const text of pieces) if (text !== '') yield keep(text)
      }
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
    if (text === '') return undefined
    try {
      return JSON.parse(text)
    } catch {
      throw new Error(`${exchange.request.path} answered ${response.status} with a body that is not JSON`)
    }
  }
  return { exchange, frames, json }
}
