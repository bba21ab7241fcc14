import { SseBody } from '@polyvac/core/plugin'
import type { FastifyReply } from 'fastify'

/** Where the messages of one call, or those that belong to no call, go. */
export interface MessageStream {
  /** A promise is there to be awaited: the reader is behind. */
  send (text: string): Promise<void> | undefined
  /** No more messages come. */
  end (): void
  /** Whether the reader is far behind: what can be left out is. */
  readonly isFull: boolean
  disconnect (retryMs?: number): void
}

/** The messages of one response, gone with its connection. */
export class PlainStream implements MessageStream {
  readonly #body: SseBody

  constructor (reply: FastifyReply) {
    this.#body = new SseBody(reply)
  }

  get isFull (): boolean { return this.#body.isFull }

  send (text: string): Promise<void> | undefined {
    return this.#body.event('message', text)
  }

  end (): void {
    this.#body.finish()
  }

  disconnect (): void {}
}

/** Calls `then` once a response is over; at once if its reader left before it began. */
export function whenOver ({ raw }: FastifyReply, then: () => void): void {
  if (raw.destroyed) then()
  else raw.once('close', then)
}
