import { IssuerGuard, peerJsonProblem, redirectOf, type Resolve } from '@polyvac/core/plugin'
import { createParser } from 'eventsource-parser'
import { StringDecoder } from 'node:string_decoder'
import { Agent, request, type Dispatcher } from 'undici'
import { certifiedConnector, type ClientCertificate } from './client-certificate.js'
import { HttpFailure } from './failures.js'

/** Longest JSON of one response, and longest event of a stream, in bytes. */
export const MAX_RESPONSE_BYTES = 16 * 1024 * 1024
const CONNECT_MS = 10_000
/** Longest pause of a stream; then the connection counts as broken, and the task is read over another one. */
const MAX_SILENCE_MS = 120_000
const MAX_REDIRECTS = 3

export interface AgentRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly signal: AbortSignal
}

export interface AgentResponse {
  readonly status: number
  readonly headers: Dispatcher.ResponseData['headers']
  readonly mediaType: string
  /** The whole body as text. @throws HttpFailure past `maxBytes` */
  text (maxBytes?: number): Promise<string>
  /** The body as parsed JSON. @throws HttpFailure for anything else */
  json (maxBytes?: number): Promise<unknown>
  /** The data of its events, as they come. */
  events (): AsyncGenerator<string, void>
  /** Drops the body. */
  drop (): void
}

/**
 * The HTTP client for one agent. It follows redirects within an origin. A card is text of another server, so the
 * addresses that it names have to be public and https, except on hosts that the configuration names.
 */
export class AgentRequests {
  readonly #origins: ReadonlySet<string>
  readonly #guard: IssuerGuard
  // @keyed none: the connections to one agent of the configuration, one for each request in progress
  readonly #agent: Agent

  /**
   * @param named the URLs of the configuration: that of the agent first
   * @param identity proves who connects, with what makes the error for a certificate that cannot be used
   */
  constructor (named: readonly URL[], resolve?: Resolve, identity?: { readonly certificate: ClientCertificate, readonly refuse: (problem: string) => Error }) {
    this.#origins = new Set(named.map(({ origin }) => origin))
    this.#guard = new IssuerGuard(named, 'requests are not sent to', resolve)
    const connect = { timeout: CONNECT_MS, lookup: this.#guard.lookup }
    this.#agent = new Agent({
      headersTimeout: 0,
      bodyTimeout: MAX_SILENCE_MS,
      connect: identity === undefined ? connect : certifiedConnector(identity.certificate, connect, identity.refuse)
    })
  }

  /** @throws for a URL that is refused before any lookup */
  check (url: URL): void {
    if (!this.isNamed(url)) this.#guard.check(url)
  }

  /** Whether the configuration names the origin. */
  isNamed (url: URL): boolean { return this.#origins.has(url.origin) }

  /** Sends a request. Any status resolves. Rejects as undici, and for a URL that is refused. */
  async send (to: URL, { method, headers, body, signal }: AgentRequest): Promise<AgentResponse> {
    let url = to
    for (let redirects = 0; ; redirects++) {
      signal.throwIfAborted()
      this.check(url)
      const response = await request(url, { method, headers, body: body ?? null, signal, dispatcher: this.#agent })
      const target = redirectOf({ status: response.statusCode, headers: response.headers, request: { method } }, url)
      if (target === undefined || redirects === MAX_REDIRECTS) return new Received(response)
      drop(response.body)
      url = target
    }
  }

  async close (): Promise<void> { await this.#agent.destroy() }
}

class Received implements AgentResponse {
  readonly status: number
  readonly headers: Dispatcher.ResponseData['headers']
  readonly mediaType: string
  readonly #body: Dispatcher.ResponseData['body']

  constructor ({ statusCode, headers, body }: Dispatcher.ResponseData) {
    this.status = statusCode
    this.headers = headers
    this.mediaType = String(headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
    this.#body = body
  }

  async text (maxBytes = MAX_RESPONSE_BYTES): Promise<string> {
    // @keyed none: a list in order, of one response of an agent; maxBytes
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of this.#body as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLong(maxBytes)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString('utf8')
  }

  async json (maxBytes?: number): Promise<unknown> {
    return parseBody(await this.text(maxBytes), () => new HttpFailure(this.status, this.status < 300 ? 'a body that is not JSON' : undefined, this.headers['retry-after']), maxBytes)
  }

  async * events (): AsyncGenerator<string, void> {
    // @keyed none: the events of one chunk of a response, in order; MAX_RESPONSE_BYTES
    const ready: string[] = []
    let excess = false
    const decoder = new StringDecoder('utf8')
    const parser = createParser({
      maxBufferSize: MAX_RESPONSE_BYTES,
      onEvent: ({ data }) => { if (data !== '') ready.push(data) },
      onError: ({ type }) => { if (type === 'max-buffer-size-exceeded') excess = true }
    })
    for await (const chunk of this.#body as AsyncIterable<Buffer>) {
      parser.feed(decoder.write(chunk))
      if (excess) throw tooLong(MAX_RESPONSE_BYTES)
      yield * ready.splice(0)
    }
  }

  drop (): void { drop(this.#body) }
}

function drop (body: Dispatcher.ResponseData['body']): void { body.on('error', () => {}).destroy() }

/** JSON of an agent as a value. @param other makes the error for what is not JSON @throws HttpFailure */
export function parseBody (text: string, other: () => HttpFailure, maxBytes = MAX_RESPONSE_BYTES): unknown {
  const problem = peerJsonProblem(text, maxBytes)
  if (problem !== undefined) throw excess(`JSON that ${problem}`)
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw other()
  }
}

function tooLong (bytes: number): HttpFailure { return excess(`more than ${bytes} bytes`) }

/** It comes again with each try, so it does not pass. */
function excess (what: string): HttpFailure { return new HttpFailure(413, what) }
