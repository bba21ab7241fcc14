import type { FastifyReply } from 'fastify'
import { PlainStream } from '../http/message-stream.js'

/**
 * The only stream of a session over HTTP+SSE (2024-11-05). It carries all messages to the client, also the responses to
 * its POSTs. It cannot be resumed: the session ends with it.
 */
export class HttpSseStream extends PlainStream {
  readonly hasGap = true

  /** Begins the response. @param endpoint where the client sends its messages */
  constructor (reply: FastifyReply, endpoint: string) {
    super(reply)
    void this.body.event('endpoint', endpoint)
  }

  /** One call of several has ended: the stream goes on. */
  override end (): void {}

  /** Ends the session. */
  detach (): void {
    this.body.finish()
  }
}
