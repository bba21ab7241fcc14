import type { FastifyReply } from 'fastify'
import { PlainStream, type MessageStream } from './message-stream.js'

/**
 * The answer to one POST. Its head is held back until the first message is there: a lone response leaves as JSON, with
 * a status of its own; anything before it makes the answer a stream of events.
 */
export class ResponseWriter {
  readonly reply: FastifyReply
  readonly #open: ((reply: FastifyReply) => MessageStream) | undefined
  readonly #texts: string[] | undefined
  #missing: number
  #stream: MessageStream | undefined
  #done = false

  /** `open` begins the stream where it is not a plain one; `batch` is the number of responses of an array. */
  constructor (reply: FastifyReply, open?: ((reply: FastifyReply) => MessageStream), batch?: number) {
    this.reply = reply
    this.#open = open
    this.#missing = batch ?? 1
    this.#texts = batch === undefined ? undefined : []
  }

  get stream (): MessageStream | undefined { return this.#stream }

  /** A message before the response. */
  send (text: string): Promise<void> | undefined {
    if (this.#done) return undefined
    return this.begin().send(text)
  }

  /** Makes the answer a stream. */
  begin (): MessageStream {
    if (this.#stream === undefined) {
      this.#stream = this.#open?.(this.reply) ?? new PlainStream(this.reply)
      for (const text of this.#texts?.splice(0) ?? []) this.#stream.send(text)
    }
    return this.#stream
  }

  /** The response, or one of a batch. The status counts where nothing has left yet. */
  end (text: string, status = 200): void {
    if (this.#done) return
    const isLast = --this.#missing === 0
    if (this.#stream !== undefined) this.#stream.send(text)
    else if (this.#texts !== undefined) this.#texts.push(text)
    else {
      this.#done = true
      this.reply.code(status).header('content-type', 'application/json; charset=utf-8').send(text)
      return
    }
    if (isLast) this.#finish()
  }

  /** A request that gets no response, since its caller cancelled it. */
  drop (): void {
    if (this.#done || --this.#missing > 0) return
    const isEmpty = this.#stream === undefined && (this.#texts?.length ?? 0) === 0
    if (!isEmpty) return this.#finish()
    this.#done = true
    // an empty stream of events: clients wait for no more, and take no offence
    this.reply.header('content-type', 'text/event-stream; charset=utf-8').send('')
  }

  #finish (): void {
    this.#done = true
    if (this.#stream !== undefined) this.#stream.end()
    else this.reply.header('content-type', 'application/json; charset=utf-8').send(`[${this.#texts?.join(',') ?? ''}]`)
  }
}
