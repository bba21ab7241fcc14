import type { FastifyReply } from 'fastify'
import { batchText, type Json } from '../protocol/rpc.js'
import { accepts, type Form } from './accept.js'
import { PlainStream, type MessageStream } from './message-stream.js'

/**
 * The HTTP response to one POST. Its head is held back until the first message: a lone JSON-RPC response is sent as
 * JSON with its status; a message before it makes the HTTP response an event stream. A client that takes one of the
 * two forms gets that.
 */
export class ResponseWriter {
  readonly reply: FastifyReply
  readonly #open: ((reply: FastifyReply) => MessageStream) | undefined
  readonly #batch: Json[] | undefined
  #pending: number
  #stream: MessageStream | undefined
  #done = false

  /** @param open creates the stream; by default a plain one. @param batchSize the number of requests of a batch */
  constructor (reply: FastifyReply, open?: ((reply: FastifyReply) => MessageStream), batchSize?: number) {
    this.reply = reply
    this.#open = open
    this.#pending = batchSize ?? 1
    this.#batch = batchSize === undefined ? undefined : []
  }

  get stream (): MessageStream | undefined { return this.#stream }

  /** Whether messages can be sent before the response. */
  get canStream (): boolean { return this.#stream !== undefined || this.#accepts('events') }

  /** Sends a message before the response. It is left out where the client takes only JSON. */
  send (text: string): Promise<void> | undefined {
    return this.begin()?.send(text)
  }

  /** Makes the HTTP response an event stream, unless the response was sent or the client takes only JSON. */
  begin (): MessageStream | undefined {
    if (this.#done) return undefined
    if (this.#stream === undefined && this.#accepts('events')) {
      this.#stream = this.#open?.(this.reply) ?? new PlainStream(this.reply)
      for (const text of this.#batch?.splice(0) ?? []) void this.#stream.send(text)
    }
    return this.#stream
  }

  /** Lets an event stream begin now, so that proxies do not close a connection that is silent. */
  keepAlive (): void {
    if (this.#stream === undefined) this.begin()?.open()
  }

  /** Sends the JSON-RPC response, or one of a batch. The status has no effect on an event stream or a batch. */
  end (text: Json, status = 200): void {
    if (this.#done) return
    const isLast = --this.#pending === 0
    if (this.#stream === undefined && status === 200 && !this.#accepts('json')) this.begin()
    if (this.#stream !== undefined) void this.#stream.send(text)
    else if (this.#batch !== undefined) this.#batch.push(text)
    else {
      this.#done = true
      this.reply.code(status).header('content-type', 'application/json; charset=utf-8').send(text)
      return
    }
    if (isLast) this.#finish()
  }

  /** Ends a request without a JSON-RPC response, because its client cancelled it. */
  drop (): void {
    if (this.#done || --this.#pending > 0) return
    const isEmpty = this.#stream === undefined && (this.#batch?.length ?? 0) === 0
    if (!isEmpty) return this.#finish()
    this.#done = true
    // an empty event stream: clients treat the request as finished
    this.reply.header('content-type', 'text/event-stream; charset=utf-8').send('')
  }

  #accepts (form: Form): boolean {
    return accepts(this.reply.request.headers.accept, form)
  }

  #finish (): void {
    this.#done = true
    if (this.#stream !== undefined) this.#stream.end()
    else this.reply.header('content-type', 'application/json; charset=utf-8').send(batchText(this.#batch ?? []))
  }
}
