import { createParser, type EventSourceParser } from 'eventsource-parser'
import { StringDecoder } from 'node:string_decoder'
import type { Dispatcher } from 'undici'
import { isRecord, memoryBudget, type HeldBytes } from '@polyvac/core/plugin'
import { type RpcError, type Id, type RpcMessage } from '../../protocol/json-rpc.js'
import { parseJson, parseProblem } from '../../protocol/read-message.js'
import { refused, tooLong } from '../../session/rpc-channel.js'
import { COUNTED_BYTES } from '../../session/transport.js'
import { HttpError } from '../http-error.js'

/** Length of a chunk in bytes from which the event loop has a turn before the next chunk is read. */
const LONG_BYTES = 16 * 1024

/** One HTTP request. */
export interface ExchangeRequest {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly body?: string
  /** Headers only of this request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The JSON-RPC request whose response is expected. */
  readonly id?: Id | undefined
  /** The owner of that request, for whom its response is counted. */
  readonly owner?: string | undefined
  /** Times that it was sent before, because of a redirect or for authorization. */
  readonly repeats?: number
  /** Failures in a row to resume its stream. */
  readonly failures?: number
  /** Called with the end of a request that is not one of JSON-RPC. */
  readonly settle?: (err?: Error) => void
}

export interface ExchangeOwner {
  readonly maxMessageBytes: number
  /** The session that requests belong to. */
  readonly sessionId?: string | undefined
  started (exchange: Exchange): void
  message (exchange: Exchange, message: RpcMessage): void
  /** Called exactly once, unless the exchange is cancelled. */
  ended (exchange: Exchange, err?: Error): void
  trouble (err: Error): void
}

/** Sends one HTTP request and reads the messages of its response: a JSON body or an event stream. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly request: ExchangeRequest
  status = 0
  headers: Readonly<Record<string, string | string[] | undefined>> = {}
  isStream = false
  /** Whether the response to `request.id` has been read. */
  isAnswered = false
  /** Id of the last event that had one. */
  lastEventId: string | undefined
  /** The token that it was sent with. */
  authorization: string | undefined
  /** Delay in ms that the server wants before a stream is resumed. */
  retryMs: number | undefined
  readonly #owner: ExchangeOwner
  #controller: Dispatcher.DispatchController | undefined
  #mediaType: string | undefined
  #isOver = false
  #read: ((chunk: Buffer) => void) | undefined
  // @keyed none: a list in order, of one answer of a server; maxMessageBytes, counted in the memory budget of the
  //   process
  #chunks: Buffer[] = []
  #bytes = 0
  readonly #held: HeldBytes

  constructor (request: ExchangeRequest, owner: ExchangeOwner) {
    this.request = request
    this.#held = memoryBudget.hold('answers of MCP servers', request.owner)
    this.#owner = owner
  }

  get isSuccess (): boolean { return this.status >= 200 && this.status < 300 }

  cancel (): void {
    this.#isOver = true
    this.#held.release()
    this.#controller?.abort(new Error('cancelled'))
  }

  onRequestStart (controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isOver) controller.abort(new Error('cancelled'))
  }

  onResponseStart (_controller: Dispatcher.DispatchController, status: number, headers: Exchange['headers']): void {
    if (this.#isOver || status < 200) return
    this.status = status
    this.headers = headers
    const type = headers['content-type']
    this.#mediaType = typeof type === 'string' ? type.split(';', 1)[0]!.trim().toLowerCase() : undefined
    this.isStream = this.isSuccess && this.#mediaType === 'text/event-stream'
    this.#read = this.isStream ? this.#eventReader() : chunk => this.#collect(chunk)
    this.#owner.started(this)
  }

  onResponseData (controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return
    this.#read?.(chunk)
    if (chunk.length < LONG_BYTES) return
    controller.pause()
    setImmediate(() => controller.resume())
  }

  onResponseEnd (): void {
    if (this.#isOver) return
    if (this.isStream) return this.#end()
    const { id } = this.request
    const isExpected = id !== undefined && (!this.isSuccess || this.#mediaType === 'application/json')
    const text = id !== undefined || !this.isSuccess ? this.#text : ''
    if (isExpected) this.#deliver(text)
    if (this.#isOver) return
    if (this.isAnswered) this.#end()
    else if (!this.isSuccess) this.#end(new HttpError(this.status, text))
    else if (id === undefined) this.#end()
    else this.#end(new HttpError(this.status, text))
  }

  onResponseError (_controller: Dispatcher.DispatchController, err: Error): void {
    // a refusal counts although its body is not complete
    if (!this.#isOver) this.#end(this.status >= 400 ? new HttpError(this.status, this.#text) : err)
  }

  get #endsSession (): boolean { return this.status === 404 && this.#owner.sessionId !== undefined }

  get #text (): string { return Buffer.concat(this.#chunks).toString() }

  #end (err?: Error): void {
    this.#isOver = true
    this.#held.release()
    this.#owner.ended(this, err)
  }

  #abort (err: Error): void {
    this.#end(err)
    this.#controller?.abort(err)
  }

  #collect (chunk: Buffer): void {
    this.#chunks.push(chunk)
    if (!this.#count(chunk.length) || this.#bytes <= this.#owner.maxMessageBytes) return
    this.#abort(this.isSuccess ? this.#tooLong(this.#bytes) : new HttpError(this.status, this.#text))
  }

  /** Counts bytes that are kept. Aborts where the memory for them is used up. */
  #count (bytes: number): boolean {
    this.#bytes += bytes
    const uncounted = this.#bytes - this.#held.bytes
    if (uncounted < COUNTED_BYTES || this.#held.tryGrow(uncounted)) return true
    this.#abort(this.#held.refusal())
    return false
  }

  #tooLong (bytes: number): RpcError {
    return refused(tooLong(bytes, this.#owner.maxMessageBytes))
  }

  /**
   * The messages of a JSON body: one, or an array of them up to revision 2025-03-26. A refusal counts only if it
   * answers the request, and 404 within a session is the end of the session whatever its body.
   */
  #deliver (text: string): void {
    const problem = parseProblem(text, this.#owner.maxMessageBytes)
    if (problem !== undefined) return this.#end(this.isSuccess ? refused(problem) : new HttpError(this.status, text))
    const parsed = parseJson(text)
    for (const message of Array.isArray(parsed) ? parsed as unknown[] : [parsed]) {
      if (!isMessage(message)) continue
      if (this.isSuccess || (!this.#endsSession && message.id === this.request.id && isRecord(message.error))) this.#message(message)
    }
  }

  /** An error without an id in the response to a request can be about nothing else. */
  #message (message: RpcMessage): void {
    const { id: own } = this.request
    const { method, error } = message
    const id = own !== undefined && !this.isAnswered && message.id == null && method === undefined && isRecord(error) ? own : message.id
    if (method === undefined && id !== undefined && id === own) this.isAnswered = true
    this.#owner.message(this, id === message.id ? message : { ...message, id: id! })
  }

  #eventReader (): (chunk: Buffer) => void {
    const { maxMessageBytes } = this.#owner
    const decoder = new StringDecoder('utf8')
    const parser: EventSourceParser = createParser({
      maxBufferSize: maxMessageBytes,
      onError: ({ type }) => { if (type === 'max-buffer-size-exceeded') this.#abort(this.#tooLong(this.#bytes)) },
      onRetry: ms => { this.retryMs = ms },
      onEvent: ({ id, event = 'message', data }) => {
        this.#bytes = 0
        this.#held.release()
        if (this.#isOver) return
        const problem = data.length > maxMessageBytes ? tooLong(data.length, maxMessageBytes) : parseProblem(data, maxMessageBytes)
        if (problem !== undefined) return this.#abort(refused(problem))
        if (id !== undefined && id !== '') this.lastEventId = id
        if (data === '' || event !== 'message') return
        const message = parseJson(data)
        if (isMessage(message)) this.#message(message)
        else this.#owner.trouble(new Error('an event is not a message of JSON-RPC'))
      }
    })
    return chunk => {
      if (this.#count(chunk.length)) parser.feed(decoder.write(chunk))
    }
  }
}

function isMessage (value: unknown): value is RpcMessage {
  return isRecord(value) && value.jsonrpc === '2.0'
}
