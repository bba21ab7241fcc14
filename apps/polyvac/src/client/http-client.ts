import { deadlineSignal } from '@polyvac/core/plugin'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { UsageError } from '../errors.js'

/** Time until the headers of a reply, and until its end. */
export const MAX_REPLY_MS = 10_000
/** What is read of a reply. A longer one is cut off there. */
export const MAX_REPLY_BYTES = 4 * 1024 * 1024

/** Time for a service to refuse a body that it has not received. */
export const MAX_WAIT_MS = 3_000

export interface HttpRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON, unless it is a string. */
  readonly body?: unknown
  readonly signal?: AbortSignal
  readonly maxMs?: number
}

/** One piece of a body, with the time of its arrival. Its text has whole characters only. */
export interface Piece { readonly at: number, readonly text: string, readonly bytes: number }

export interface HttpReply {
  readonly status: number
  readonly headers: Headers
  readonly pieces: AsyncIterable<Piece>
}

/** A reply that was read to its end, or to the bound. */
export interface WholeReply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body parsed as JSON; undefined where it is not JSON. */
  readonly json: unknown
  readonly isCut: boolean
}

/**
 * A client of one service, with limits of time and size. It does not follow redirects, so that the headers of
 * `--header`, which may be secrets, reach the origin that the user named and no other one.
 */
export class HttpClient {
  readonly base: URL
  readonly #headers: Readonly<Record<string, string>>
  readonly #maxMs: number

  /** @throws USAGE for an address that is not http(s) */
  constructor (address: string, headers: readonly string[] = [], maxMs = MAX_REPLY_MS) {
    if (!/^https?:\/\/./.test(address) || !URL.canParse(address)) throw new UsageError(`${address} is not an http(s) URL`)
    this.base = new URL(address)
    this.base.search = this.base.hash = ''
    if (!this.base.pathname.endsWith('/')) this.base.pathname += '/'
    this.#headers = readHeaders(headers)
    this.#maxMs = maxMs
  }

  /** Whether requests have headers of `--header`, such as a token. */
  get hasHeaders (): boolean {
    return Object.keys(this.#headers).length > 0
  }

  /** The address of a path below the service, or of an absolute address. */
  address (path: string): URL {
    return new URL(path.replace(/^\/+/, ''), this.base)
  }

  /** As `fetch`, for a path below the service or an absolute address, with the headers of the user for the service. */
  readonly fetch = async (path: string, init: RequestInit): Promise<Response> => {
    const url = this.address(path)
    const own = url.origin === this.base.origin ? this.#headers : {}
    return await fetch(url, { ...init, redirect: 'manual', headers: { ...init.headers as Record<string, string>, ...own } })
  }

  /** Sends a request; the caller reads the pieces, and the request ends when it stops reading. */
  async open (path: string, { method, headers, body, signal, maxMs = this.#maxMs }: HttpRequest = {}): Promise<HttpReply> {
    // a caller that reads no piece does not end it
    const { signal: stop, end } = deadlineSignal(maxMs, signal, { ref: false })
    try {
      const response = await this.fetch(path, {
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers: { ...body === undefined ? {} : { 'content-type': 'application/json' }, ...headers },
        ...body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) },
        signal: stop
      })
      return { status: response.status, headers: response.headers, pieces: readPieces(response, stop, end) }
    } catch (err) {
      end()
      throw err
    }
  }

  /** The status of a POST that announces a JSON body and never sends it; undefined where the service waits for it. */
  async announceBody (path: string, length: number): Promise<number | undefined> {
    const url = this.address(path)
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: '*/*', ...this.#headers, 'content-length': length },
      signal: AbortSignal.timeout(Math.min(this.#maxMs, MAX_WAIT_MS))
    })
    try {
      return await new Promise<number | undefined>((resolve, reject) => {
        request.once('response', ({ statusCode }) => { resolve(statusCode) })
        request.on('error', (err: NodeJS.ErrnoException) => { if (err.name === 'AbortError' || err.name === 'TimeoutError') resolve(undefined); else reject(err) })
        request.flushHeaders()
      })
    } finally {
      request.destroy()
    }
  }

  /** Sends a request and reads the reply to its end, or to MAX_REPLY_BYTES. */
  async send (path: string, request: HttpRequest = {}): Promise<WholeReply> {
    const { status, headers, pieces } = await this.open(path, request)
    let text = ''
    let bytes = 0
    for await (const piece of pieces) {
      text += piece.text
      bytes += piece.bytes
      if (bytes >= MAX_REPLY_BYTES) break
    }
    return { status, headers, text, json: parseJson(text), isCut: bytes >= MAX_REPLY_BYTES }
  }
}

/** Why a request got no reply, in one line: the causes that fetch hides behind `fetch failed` are named. */
export function describeFailure (err: unknown): string {
  const { message, cause, name } = err as Error & { cause?: NodeJS.ErrnoException & { errors?: Error[], reason?: string } }
  if (name === 'TimeoutError') return 'no reply in time'
  // the message of an error of OpenSSL has addresses and a path of its sources
  return cause?.errors?.[0]?.message || cause?.reason || cause?.message || message
}

/** Reads the body until `stop` aborts: fetch may forget the signal of a response whose body goes on. */
async function * readPieces ({ body }: Response, stop: AbortSignal, onEnd: () => void): AsyncGenerator<Piece> {
  const decoder = new TextDecoder()
  if (body === null) return onEnd()
  const reader = body.getReader()
  const cancel = (): void => { reader.cancel().catch(() => {}) }
  stop.addEventListener('abort', cancel)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      stop.throwIfAborted()
      if (done) break
      yield { at: performance.now(), text: decoder.decode(value as Uint8Array, { stream: true }), bytes: (value as Uint8Array).byteLength }
    }
  } finally {
    stop.removeEventListener('abort', cancel)
    onEnd()
    cancel()
  }
}

export function parseJson (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** @throws USAGE that does not repeat the value, which may be a secret */
function readHeaders (lines: readonly string[]): Record<string, string> {
  const headers = new Headers()
  for (const line of lines) {
    const colon = line.indexOf(':')
    try {
      headers.set(line.slice(0, Math.max(colon, 0)).trim(), line.slice(colon + 1).trim())
    } catch {
      throw new UsageError('--header takes \'name: value\', in characters that HTTP allows')
    }
  }
  return Object.fromEntries(headers)
}
