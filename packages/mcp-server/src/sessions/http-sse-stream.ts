import { SseBody } from '@polyvac/core/plugin'
import type { FastifyReply } from 'fastify'
import type { MessageStream } from '../http/message-stream.js'

/**
 * The only stream of a session over HTTP+SSE (2024-11-05). It carries all messages to the client, also the responses to
 * its POSTs. It cannot be resumed: the session ends with it.
 */
export class HttpSseStream implements MessageStream {
  readonly reply: FastifyReply
  readonly #body: SseBody

  /** Begins the response. @param endpoint where the client sends its messages */
  constructor (reply: FastifyReply, endpoint: string) {
    this.reply = reply
    this.#body = new SseBody(reply)
    this.#body.event('endpoint', endpoint)
  }

  get isFull (): boolean { return this.#body.isFull }

  send (text: string): Promise<void> | undefined {
    return this.#body.event('message', text)
  }

  /** One call of several has ended: the stream goes on. */
  end (): void {}

  disconnect (): void {}

  /** Ends the session. */
  detach (): void {
    this.close()
  }

  close (): void {
    this.#body.finish()
  }
}
