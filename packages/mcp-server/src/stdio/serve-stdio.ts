import { idOfEdges, innerRequest, isRecord, LineReader, within } from '@polyvac/core/plugin'
import { type CodeName, CODES } from '@polyvac/mcp-protocol'
import { createParser } from 'eventsource-parser'
import type { FastifyInstance } from 'fastify'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Readable, Writable } from 'node:stream'
import { isModernMessage } from '../eras/modern.js'
import { errorText, isNumberId, type RequestId } from '../protocol/rpc.js'

/** Longest line read, in bytes: what prints without end would take the memory. The plugin's own default for a body is the same. */
const MAX_LINE_BYTES = 4 * 1024 * 1024

/** Longest time in ms that requests in progress get once the input has ended. */
const DRAIN_MS = 10_000

/** Pause in ms between a notification and the response: clients that read both at once forget the former. */
const GAP_MS = 5

/** Times that the rest of one broken answer is asked for. */
const MAX_RESUMES = 100

export interface StdioOptions {
  /** Default: standard input. */
  readonly input?: Readable | undefined
  /** Default: standard output. Nothing else may write to it. */
  readonly output?: Writable | undefined
  /** Where the application has its MCP server. Default `/mcp`. */
  readonly path?: string | undefined
  /** Sent with each message, such as `authorization` where the application asks who calls. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** A message in progress. */
interface Open { readonly request: ClientRequest, readonly isModern: boolean, cancelled: boolean }

/**
 * Serves the MCP server of an application over standard input and output, a JSON-RPC message a line, in both eras. The
 * application does not listen. Resolves when the input has ended and what was asked is answered, or at `close`.
 */
export class StdioServer {
  readonly done: Promise<void>
  readonly #app: FastifyInstance
  readonly #output: Writable
  readonly #path: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #open = new Set<Open>()
  readonly #byId = new Map<unknown, Open>()
  readonly #working = new Set<Promise<void>>()
  #session: Record<string, string> = {}
  #room: Promise<void> | undefined
  #makeRoom: () => void = () => {}
  #closed = false
  #finish: () => void = () => {}

  constructor (app: FastifyInstance, { input = process.stdin, output = process.stdout, path = '/mcp', headers = {} }: StdioOptions = {}) {
    this.#app = app
    this.#output = output
    this.#path = path
    this.#headers = headers
    this.done = new Promise(resolve => { this.#finish = resolve })
    const lines = new LineReader(MAX_LINE_BYTES, {
      line: text => { if (text.trim() !== '') this.#begin(this.#take(text)) },
      oversized: (head, tail, bytes) => this.#fail(idOfEdges(head, tail) ?? null, 'invalidRequest', `the message has ${bytes} bytes; send one of at most ${MAX_LINE_BYTES}`)
    })
    input.on('data', (chunk: Buffer) => { lines.push(chunk) })
    input.once('end', () => {
      // the last line may lack its end
      if (lines.held > 0) lines.push(Buffer.from('\n'))
      this.#drain()
    })
    for (const stream of [input, output]) stream.once('error', () => { this.close() })
    for (const event of ['drain', 'close']) output.on(event, () => { this.#goOn() })
  }

  /** Ends what is in progress. The application is the caller's to close. May be called twice. */
  close (): void {
    if (this.#closed) return
    this.#closed = true
    for (const { request } of this.#open) request.destroy()
    this.#goOn()
    this.#finish()
  }

  /** The output takes more, or nothing more. */
  #goOn (): void {
    this.#room = undefined
    this.#makeRoom()
  }

  async #drain (): Promise<void> {
    await within(Promise.all(this.#working), DRAIN_MS)
    this.close()
  }

  #begin (work: Promise<void>): void {
    this.#working.add(work)
    work.finally(() => { this.#working.delete(work) })
  }

  /** Passes a line on, and its answer back. It never rejects. */
  async #take (text: string): Promise<void> {
    let message: unknown
    try {
      message = JSON.parse(text)
    } catch {
      return this.#fail(null, 'parseError', 'the line is no JSON; send one JSON-RPC message a line')
    }
    const { id, method, params } = isRecord(message) ? message : {}
    if (method === 'notifications/cancelled' && isRecord(params) && this.#cancel(params.requestId)) return
    const isModern = isModernMessage(message)
    const { request, response } = innerRequest(this.#app, {
      method: 'POST',
      path: this.#path,
      headers: { ...this.#headers, accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...!isModern && this.#session },
      body: text
    })
    const open: Open = { request, isModern, cancelled: false }
    this.#open.add(open)
    if (id !== undefined && method !== undefined) this.#byId.set(id, open)
    try {
      const answer = await response
      if (method === 'initialize') await this.#initialized(answer)
      else await this.#pass(answer, answerIdOf(message))
    } catch (err) {
      if (!open.cancelled && !this.#closed && id !== undefined && method !== undefined) this.#fail(id as RequestId, 'internalError', `the request failed: ${(err as Error).message}`)
    } finally {
      this.#open.delete(open)
      if (this.#byId.get(id) === open) this.#byId.delete(id)
    }
  }

  /** From 2026-07-28 on leaving is what cancels; before, the session is told. */
  #cancel (id: unknown): boolean {
    const open = this.#byId.get(id)
    if (open?.isModern !== true) return false
    open.cancelled = true
    open.request.destroy()
    return true
  }

  async #initialized (answer: IncomingMessage): Promise<void> {
    const text = await textOf(answer)
    const { 'mcp-session-id': session } = answer.headers
    const { result } = JSON.parse(text) as { result?: { protocolVersion?: string } }
    this.#session = {
      ...typeof session === 'string' && { 'mcp-session-id': session },
      ...result?.protocolVersion !== undefined && { 'mcp-protocol-version': result.protocolVersion }
    }
    await this.#write(text)
    if (typeof session === 'string') this.#listen()
  }

  /** What belongs to no request, for as long as there is a session. */
  async #listen (): Promise<void> {
    const { request, response } = innerRequest(this.#app, { method: 'GET', path: this.#path, headers: { ...this.#headers, ...this.#session, accept: 'text/event-stream' } })
    const open: Open = { request, isModern: false, cancelled: false }
    this.#open.add(open)
    try {
      const answer = await response
      if (answer.statusCode === 200) await this.#events(answer)
      else answer.resume()
    } catch {
      // the application closes
    } finally {
      this.#open.delete(open)
    }
  }

  async #pass (answer: IncomingMessage, id: RequestId | null | undefined): Promise<void> {
    const { 'content-type': type = '' } = answer.headers
    if (type.startsWith('text/event-stream')) {
      let { answered, last, retryMs } = await this.#events(answer, id ?? undefined)
      if (id === undefined || id === null) return
      // the server has let go of the connection on purpose; the rest comes over another
      for (let tries = 0; !answered && last !== undefined && tries < MAX_RESUMES; tries++) {
        await delay(retryMs)
        const { response } = innerRequest(this.#app, { method: 'GET', path: this.#path, headers: { ...this.#headers, ...this.#session, accept: 'text/event-stream', 'last-event-id': last } })
        const rest = await response
        if (rest.statusCode !== 200) return this.#refused(await textOf(rest), id)
        ;({ answered, last = last, retryMs } = await this.#events(rest, id))
      }
      return
    }
    const text = await textOf(answer)
    if (text === '') return
    if (answer.statusCode === 200) await this.#write(text)
    else this.#refused(text, id)
  }

  /** An error that has no id yet since the whole request was refused. */
  #refused (text: string, id: RequestId | null | undefined): void {
    if (id === undefined) return
    const { error } = JSON.parse(text) as { error: { code: number, message: string } }
    this.#write(errorText(id, { ...error, code: typeof error.code === 'number' ? error.code : CODES.internalError }))
  }

  /** Passes the messages of a stream on; tells whether the response to `id` was among them, and how to have the rest. */
  async #events (answer: IncomingMessage, id?: RequestId): Promise<{ answered: boolean, last: string | undefined, retryMs: number }> {
    const read = { answered: false, last: undefined as string | undefined, retryMs: 0 }
    const messages: string[] = []
    let told = false
    const parser = createParser({
      onEvent ({ id, data }) {
        read.last = id ?? read.last
        if (data !== '') messages.push(data)
      },
      onRetry (ms) { read.retryMs = ms }
    })
    answer.setEncoding('utf8')
    for await (const chunk of answer) {
      parser.feed(chunk as string)
      for (const message of messages.splice(0)) {
        if (id !== undefined && !read.answered) {
          const { id: of, method } = JSON.parse(message) as { id?: unknown, method?: unknown }
          read.answered = of === id && method === undefined
          if (read.answered && told) await delay(GAP_MS)
          told = true
        }
        await this.#write(message)
      }
    }
    return read
  }

  #fail (id: RequestId | null, code: CodeName, message: string): void {
    this.#write(errorText(id, { code: CODES[code], message }))
  }

  async #write (text: string): Promise<void> {
    if (this.#closed || this.#output.write(`${text}\n`)) return
    // one wait for all that have to: any number of answers may be behind
    this.#room ??= new Promise(resolve => { this.#makeRoom = resolve })
    await this.#room
  }
}

/** Begins to serve the MCP server of an application, which is ready and need not listen, over standard input and output. */
export function serveStdio (app: FastifyInstance, options?: StdioOptions): StdioServer {
  return new StdioServer(app, options)
}

/** The id that an answer goes under: null where there is none to read, undefined for a notification, which gets no answer. */
function answerIdOf (message: unknown): RequestId | null | undefined {
  const { id, method } = isRecord(message) ? message : {}
  if (typeof id === 'string' || isNumberId(id)) return id
  return id === undefined && typeof method === 'string' ? undefined : null
}

async function textOf (answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
