import { isDestroyed, SseBody } from '@polyvac/core/plugin'
import type { FastifyReply } from 'fastify'
import type { Json } from '../protocol/rpc.js'

/** Pause in ms between progress and the response: clients that read both at once drop the progress. */
const PROGRESS_GAP_MS = 10

/** Resolves once the response may follow progress that was sent at `sentAt`. Undefined: at once. */
export function afterProgress (sentAt: number): Promise<void> | undefined {
  const ms = sentAt + PROGRESS_GAP_MS - performance.now()
  return ms > 0 ? new Promise(resolve => { setTimeout(resolve, ms) }) : undefined
}

/** The stream of the messages of one call, or of those that belong to no call. */
export interface MessageStream {
  /** Lets the head of the response leave before there is a message. */
  open (): void
  /** Sends a message. A promise means that the reader is behind: await it. */
  send (text: Json): Promise<void> | undefined
  /** Ends the stream. */
  end (): void
  /** Whether the response has to follow progress with a pause. */
  readonly hasGap?: boolean
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

  open (): void {
    this.body.comment('open')
  }

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
