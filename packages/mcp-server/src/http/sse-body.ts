import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** Longest silence of a stream in ms; then a comment goes out, so that nothing on the way takes it for dead. */
export const KEEP_ALIVE_MS = 15_000

/** Longest time in ms that a reader may take nothing; then it is disconnected. */
export const STALL_MS = 60_000

/** Text that waits for a reader, in characters; past it, progress and log messages are left out. Answers never are. */
export const MAX_UNREAD_CHARS = 1024 * 1024

/** Calls `then` once a response is over; at once where its reader left before it began. */
export function whenOver ({ raw }: FastifyReply, then: () => void): void {
  if (raw.destroyed) then()
  else raw.once('close', then)
}

/** Server-sent events of one response, made by pushing, at the reader's pace where the promises are awaited. */
export class SseBody extends Readable {
  readonly #reply: FastifyReply
  readonly #stallMs: number
  readonly #alive: NodeJS.Timeout
  #room: { readonly promise: Promise<void>, readonly made: () => void, readonly stall: NodeJS.Timeout } | undefined
  #ended = false

  /** Begins the response; its head leaves with the first event. */
  constructor (reply: FastifyReply, stallMs = STALL_MS) {
    super({ highWaterMark: 64 * 1024 })
    this.#stallMs = stallMs
    this.#reply = reply
    this.#alive = setInterval(() => { if (this.readableLength === 0) this.#push(': keep-alive\n\n') }, KEEP_ALIVE_MS)
    this.#alive.unref()
    reply.headers({ 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' })
    reply.send(this)
  }

  get isFull (): boolean { return this.readableLength >= MAX_UNREAD_CHARS }

  /** Sends one JSON-RPC message. A promise is there to be awaited: the reader is behind. */
  message (text: string, id?: string): Promise<void> | undefined {
    return this.#push(`${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: ${text}\n\n`)
  }

  /** An event that is no message. */
  event (name: string, data: string): void {
    this.#push(`event: ${name}\ndata: ${data}\n\n`)
  }

  /** An event that gives the reader an id to come back with, and says when. */
  prime (id: string, retryMs?: number): void {
    this.#push(`id: ${id}\n${retryMs === undefined ? '' : `retry: ${retryMs}\n`}data: \n\n`)
  }

  /** Lets the head of the response leave before there is an event. */
  open (): void {
    this.#push(': open\n\n')
  }

  finish (): void {
    if (this.#ended) return
    this.#ended = true
    clearInterval(this.#alive)
    if (!this.destroyed) this.push(null)
  }

  #push (text: string): Promise<void> | undefined {
    if (this.destroyed || this.#ended) return undefined
    this.#alive.refresh()
    if (this.push(text)) return undefined
    if (this.#room === undefined) {
      let made = (): void => {}
      const promise = new Promise<void>(resolve => { made = resolve })
      this.#room = { promise, made, stall: setTimeout(() => { this.#reply.raw.destroy() }, this.#stallMs) }
    }
    return this.#room.promise
  }

  #makeRoom (): void {
    if (this.#room === undefined) return
    clearTimeout(this.#room.stall)
    this.#room.made()
    this.#room = undefined
  }

  override _read (): void {
    this.#makeRoom()
  }

  override _destroy (err: Error | null, done: (err: Error | null) => void): void {
    clearInterval(this.#alive)
    this.#makeRoom()
    done(err)
  }
}
