import { isDestroyed, SseBody } from '@polyvac/core/plugin'
import type { FastifyReply } from 'fastify'
import type { Json } from '../protocol/rpc.js'

/** The stream of the messages of one call, or of those that belong to no call. */
export interface MessageStream {
  /** Sends a message. A promise means that the reader is behind: await it. */
  send (text: Json): Promise<void> | undefined
  /** Ends the stream. */
  end (): void
  /** Whether the reader is far behind: notifications are then left out. */
  readonly isFull: boolean
  disconnect (retryMs?: number): void
}

/** The messages of one response. They are lost with its connection. */
export class PlainStream implements MessageStream {
  protected readonly body: SseBody

  constructor (readonly reply: FastifyReply) {
    this.body = new SseBody(reply)
  }

  get isFull (): boolean { return this.body.isFull }

  send (text: Json): Promise<void> | undefined {
    return this.body.event('message', text)
  }

  end (): void {
    this.body.finish()
  }

  disconnect (): void {}
}

/** Calls `then` once a response is over; at once if its reader left before it began. */
export function whenOver ({ raw }: FastifyReply, then: () => void): void {
  if (isDestroyed(raw)) then()
  else raw.once('close', then)
}
