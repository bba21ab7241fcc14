import { SseBody, type HeldBytes } from '@polyvac/core/plugin'
import type { FastifyReply } from 'fastify'
import type { MessageStream } from '../http/message-stream.js'
import type { Json } from '../protocol/rpc.js'
import type { EventLog } from './event-store.js'

/** A stream of a session. Its messages are kept, so that a client can resume it (`Last-Event-ID`). */
export class ResumableStream implements MessageStream {
  readonly #store: EventLog
  readonly #key: string
  readonly #primes: boolean
  #seq = 0
  #body: SseBody | undefined
  #ended = false

  /**
   * @param id is unique in the session
   * @param key is unique in the store
   * @param held counts the bytes of its events
   * @param primes whether the revision has priming events: older clients parse the empty data as JSON, and fail
   */
  constructor (readonly id: string, key: string, store: EventLog, readonly held: HeldBytes, primes: boolean) {
    this.#key = key
    this.#store = store
    this.#primes = primes
  }

  get isFull (): boolean { return this.#body?.isFull ?? false }
  get isOpen (): boolean { return !this.#ended }
  get hasReader (): boolean { return this.#body !== undefined && !this.#body.destroyed }

  /**
   * Gives the stream its first reader. A reader that has an id resumes the stream.
   * @param stored resolves once the stream can be resumed
   */
  begin (body: SseBody, stored: Promise<void>): void {
    this.#use(body)
    if (!this.#primes) return body.comment('open')
    stored.then(() => { body.prime(this.#eventId(this.#seq)) }, () => { body.comment('open') })
  }

  /** Its reader has the first bytes already. */
  open (): void {}

  /** Attaches a reader, in place of the present one. @param after the number of the last event that the reader has */
  attach (reply: FastifyReply, after?: number): void {
    this.#body?.finish()
    const body = new SseBody(reply)
    this.#use(body)
    if (after === undefined && this.#primes) body.prime(this.#eventId(this.#seq))
    else body.comment('open')
    const missed = after === undefined ? undefined : this.#store.after(this.#key, after)
    for (const { seq, text } of missed ?? []) void body.event('message', text, this.#eventId(seq))
    if (this.#ended) body.finish()
  }

  /** Whether every event after a number is kept. */
  has (after: number): boolean {
    return after <= this.#seq && (after === this.#seq || (this.#store.after(this.#key, after)?.length ?? 0) > 0)
  }

  send (text: Json): Promise<void> | undefined {
    if (this.#ended) return undefined
    this.#seq = this.#store.add(this.#key, this.#seq + 1, text, this.held)
    return this.#body?.event('message', text, this.#eventId(this.#seq))
  }

  end (): void {
    if (!this.#ended) this.#store.end(this.#key, this.#seq + 1)
    this.#leave()
  }

  /** Disconnects the reader for good: it resumes the stream through another replica. */
  abandon (): void {
    if (!this.#primes || this.#ended) return
    this.disconnect()
    this.#leave()
  }

  /** Disconnects the reader. Later events are kept for the next one. */
  detach (): void {
    this.#body?.finish()
    this.#body = undefined
  }

  disconnect (retryMs?: number): void {
    if (!this.#primes) return
    this.#body?.prime(this.#eventId(this.#seq), retryMs)
    this.detach()
  }

  /** Ends the stream and deletes its events. */
  drop (): void {
    this.end()
    this.#store.drop(this.#key)
  }

  #leave (): void {
    this.#ended = true
    this.#body?.finish()
  }

  #use (body: SseBody): void {
    this.#body = body
    body.once('close', () => { if (this.#body === body) this.#body = undefined })
  }

  #eventId (seq: number): string {
    return `${this.id}_${seq}`
  }
}

/** The stream and the number that an event id names. */
export function parseEventId (text: string): { readonly stream: string, readonly seq: number } | undefined {
  const match = /^([0-9a-z-]{1,60})_(\d{1,10})$/.exec(text)
  return match === null ? undefined : { stream: match[1]!, seq: Number(match[2]) }
}
