import { SseBody } from '@polyvac/core/plugin'
import type { FastifyReply } from 'fastify'
import type { MessageStream } from '../http/message-stream.js'

/**
 * The one stream of a session over HTTP+SSE (2024-11-05): all that its client is told comes here, the answers to its
 * POSTs as well. It cannot be resumed: when it closes, the session is over.
 */
export class HttpSseStream implements MessageStream {
  readonly reply: FastifyReply
  readonly #body: SseBody

  /** Begins the response. `endpoint` is where the client is to send its messages. */
  constructor (reply: FastifyReply, endpoint: string) {
    this.reply = reply
    this.#body = new SseBody(reply)
    this.#body.event('endpoint', endpoint)
  }

  get isFull (): boolean { return this.#body.isFull }

  send (text: string): Promise<void> | undefined {
    return this.#body.event('message', text)
  }

  /** The end of one call among others. */
  end (): void {}

  disconnect (): void {}

  /** Without its reader the session is over. */
  leave (): void {
    this.close()
  }

  close (): void {
    this.#body.finish()
  }
}
