import { BODY_BYTES, idOfEdges, innerRequest, isRecord, LineReader, within } from '@polyvac/core/plugin'
import { CODES, HEADERS, type CodeName } from '@polyvac/mcp-protocol'
import { createParser } from 'eventsource-parser'
import type { FastifyInstance } from 'fastify'
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { isModernMessage } from '../eras/modern.js'
import { afterProgress } from '../http/message-stream.js'
import { errorText, isNumberId, type ErrorObject, type RequestId } from '../protocol/rpc.js'

/** Longest time in ms that requests in progress get once the input has ended. */
const DRAIN_MS = 10_000

/** Times that one response is resumed. */
const MAX_RESUMES = 100

export interface StdioOptions {
  /** Default: standard input. */
  readonly input?: Readable | undefined
  /** Default: standard output. Nothing else may write to it. */
  readonly output?: Writable | undefined
  /** The path of the application's MCP server. Default `/mcp`. */
  readonly path?: string | undefined
  /** Sent with each message, such as `authorization` for an application with `authenticate`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** A JSON-RPC request in progress. */
interface OpenRequest { readonly request: ClientRequest, readonly isModern: boolean, isCancelled: boolean }

/**
 * Serves the MCP server of an application over standard input and output, one JSON-RPC message a line, in both eras.
 * The application does not listen. `done` resolves when the input has ended and its messages are answered, or at
 * `close`.
 */
export class StdioServer {
  readonly done: Promise<void>
  readonly #app: FastifyInstance
  readonly #output: Writable
  readonly #path: string
  readonly #headers: Readonly<Record<string, string>>
  // @keyed none: the requests of one client over standard input, which has the process to itself
  readonly #open = new Set<ClientRequest>()
  // @keyed none: the keys are ids of one client over standard input, which has the process to itself
  readonly #byId = new Map<unknown, OpenRequest>()
  // @keyed none: the messages of one client over standard input, which has the process to itself
  readonly #working = new Set<Promise<void>>()
  #session: Record<string, string> = {}
  #drained: Promise<void> | undefined
  #onDrain: () => void = () => {}
  #isClosed = false
  #finish: () => void = () => {}

  constructor (app: FastifyInstance, options: StdioOptions = {}) {
    const { input = process.stdin, output = process.stdout, path = '/mcp', headers = {} } = options
    this.#app = app
    this.#output = output
    this.#path = path
    this.#headers = headers
    this.done = new Promise(resolve => { this.#finish = resolve })
    const lines = new LineReader(BODY_BYTES, {
      line: text => { if (text.trim() !== '') this.#track(this.#forward(text)) },
      oversized: (head, tail, bytes) => {
        const problem = `the message has ${bytes} bytes; send one of at most ${BODY_BYTES}`
        this.#writeError(idOfEdges(head, tail) ?? null, 'invalidRequest', problem)
      }
    })
    input.on('data', (chunk: Buffer) => { lines.push(chunk) })
    input.once('end', () => {
      // the last line may lack its line feed
      if (lines.held > 0) lines.push(Buffer.from('\n'))
      void within(Promise.all(this.#working), DRAIN_MS).then(() => { this.close() })
    })
    for (const stream of [input, output]) stream.once('error', () => { this.close() })
    for (const event of ['drain', 'close']) output.on(event, () => { this.#resumeWrites() })
  }

  /** Aborts the requests in progress. It does not close the application. May be called twice. */
  close (): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const request of this.#open) request.destroy()
    this.#resumeWrites()
    this.#finish()
  }

  #resumeWrites (): void {
    this.#drained = undefined
    this.#onDrain()
  }

  #track (work: Promise<void>): void {
    this.#working.add(work)
    void work.finally(() => { this.#working.delete(work) })
  }

  /** Posts a line to the application and writes the response. It never rejects. */
  async #forward (text: string): Promise<void> {
    let message: unknown
    try {
      message = JSON.parse(text)
    } catch {
      return this.#writeError(null, 'parseError', 'the line is not JSON; send one JSON-RPC message a line')
    }
    const { id, method, params } = isRecord(message) ? message : {}
    if (method === 'notifications/cancelled' && isRecord(params) && this.#cancel(params.requestId)) return
    const isRequest = id !== undefined && method !== undefined
    const isModern = isModernMessage(message)
    const accept = 'application/json, text/event-stream'
    const headers = { accept, 'content-type': 'application/json', ...!isModern && this.#session }
    const { request, response } = this.#send('POST', headers, text)
    const open: OpenRequest = { request, isModern, isCancelled: false }
    if (isRequest) this.#byId.set(id, open)
    try {
      const answer = await response
      if (method === 'initialize') await this.#initialized(answer)
      else await this.#writeResponse(answer, responseIdOf(message))
    } catch (err) {
      if (isRequest && !open.isCancelled && !this.#isClosed) {
        this.#writeError(id as RequestId, 'internalError', `the request failed: ${(err as Error).message}`)
      }
    } finally {
      if (this.#byId.get(id) === open) this.#byId.delete(id)
    }
  }

  /** Opens the stream for messages that belong to no call, or resumes a stream after an event. */
  #resume (lastEventId?: string): Promise<IncomingMessage> {
    const after = lastEventId === undefined ? {} : { [HEADERS.lastEventId]: lastEventId }
    return this.#send('GET', { ...this.#session, accept: 'text/event-stream', ...after }).response
  }

  #send (method: 'GET' | 'POST', headers: OutgoingHttpHeaders, body?: string): ReturnType<typeof innerRequest> {
    const sent = innerRequest(this.#app, { method, path: this.#path, headers: { ...this.#headers, ...headers }, body })
    const { request } = sent
    this.#open.add(request)
    request.once('close', () => { this.#open.delete(request) })
    return sent
  }

  /** Cancels a request of 2026-07-28 by disconnecting it; up to 2025-11-25 the session gets the notification. */
  #cancel (id: unknown): boolean {
    const open = this.#byId.get(id)
    if (open?.isModern !== true) return false
    open.isCancelled = true
    open.request.destroy()
    return true
  }

  async #initialized (answer: IncomingMessage): Promise<void> {
    const text = await textOf(answer)
    const { [HEADERS.sessionId]: session } = answer.headers
    const { result } = JSON.parse(text) as { result?: { protocolVersion?: string } }
    this.#session = {
      ...typeof session === 'string' && { [HEADERS.sessionId]: session },
      ...result?.protocolVersion !== undefined && { [HEADERS.protocolVersion]: result.protocolVersion }
    }
    await this.#write(text)
    if (typeof session === 'string') void this.#listen()
  }

  /** Writes the messages that belong to no request, as long as the session lasts. */
  async #listen (): Promise<void> {
    try {
      const answer = await this.#resume()
      if (answer.statusCode === 200) await this.#writeEvents(answer)
      else answer.resume()
    } catch {
      // the application closes
    }
  }

  async #writeResponse (answer: IncomingMessage, id: RequestId | null | undefined): Promise<void> {
    const { 'content-type': type = '' } = answer.headers
    if (type.startsWith('text/event-stream')) {
      let { isAnswered, last, retryMs } = await this.#writeEvents(answer, id ?? undefined)
      if (id === undefined || id === null) return
      // the server ended the connection on purpose; the client resumes the stream over another
      for (let tries = 0; !isAnswered && last !== undefined && tries < MAX_RESUMES; tries++) {
        await delay(retryMs)
        const rest = await this.#resume(last)
        if (rest.statusCode !== 200) return this.#writeRefusal(await textOf(rest), id)
        ;({ isAnswered, last = last, retryMs } = await this.#writeEvents(rest, id))
      }
      return
    }
    const text = await textOf(answer)
    if (text === '') return
    if (answer.statusCode === 200) await this.#write(text)
    else this.#writeRefusal(text, id)
  }

  /** Writes the error of a refused HTTP request with the id of its message. */
  #writeRefusal (text: string, id: RequestId | null | undefined): void {
    if (id === undefined) return
    const { error } = JSON.parse(text) as { error: ErrorObject }
    void this.#write(errorText(id, { ...error, code: typeof error.code === 'number' ? error.code : CODES.internalError }))
  }

  /** Writes the messages of a stream. Returns whether the response to `id` was among them, and what a resume needs. */
  async #writeEvents (
    answer: IncomingMessage, id?: RequestId
  ): Promise<{ isAnswered: boolean, last: string | undefined, retryMs: number }> {
    const read = { isAnswered: false, last: undefined as string | undefined, retryMs: 0 }
    // @keyed none: a list in order, of one piece of one stream
    const messages: string[] = []
    let progressAt = -Infinity
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
        let hasProgress = false
        if (id !== undefined && !read.isAnswered) {
          const { id: of, method } = JSON.parse(message) as { id?: unknown, method?: unknown }
          read.isAnswered = of === id && method === undefined
          if (read.isAnswered) await afterProgress(progressAt)
          hasProgress = method === 'notifications/progress'
        }
        await this.#write(message)
        if (hasProgress) progressAt = performance.now()
      }
    }
    return read
  }

  #writeError (id: RequestId | null, code: CodeName, message: string): void {
    void this.#write(errorText(id, { code: CODES[code], message }))
  }

  async #write (text: string): Promise<void> {
    if (this.#isClosed || this.#output.write(`${text}\n`)) return
    // one promise for all messages that wait
    this.#drained ??= new Promise(resolve => { this.#onDrain = resolve })
    await this.#drained
  }
}

/**
 * Serves the MCP server of an application, which is ready and need not listen, over standard input and output.
 * @example
 * const app = Fastify()
 * await app.register(mcpServerPlugin, { sources: [vacTools(vacs)] })
 * await app.ready()
 * await serveStdio(app).done
 * await app.close()
 */
export function serveStdio (app: FastifyInstance, options?: StdioOptions): StdioServer {
  return new StdioServer(app, options)
}

/** The id for the response to a message: null if the id cannot be read, undefined for a notification. */
function responseIdOf (message: unknown): RequestId | null | undefined {
  const { id, method } = isRecord(message) ? message : {}
  if (typeof id === 'string' || isNumberId(id)) return id
  return id === undefined && typeof method === 'string' ? undefined : null
}

async function textOf (answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
