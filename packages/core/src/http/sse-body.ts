import { OpenStreams } from './open-streams.js'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { ownerOf } from '../access/authentication.js'
import type { Bytes } from '../limits/json-pieces.js'
import { memoryBudget, type HeldBytes } from '../limits/memory-budget.js'
import { MAX_STALL_MS } from './send-stream.js'
import { commentText } from './stream-text.js'

/** Longest silence of a stream in ms; then a comment goes out, so that proxies do not close the connection. */
export const KEEP_ALIVE_MS = 15_000

/** Unread text from which `isFull` is true, in characters: callers then leave out progress and log messages. */
export const MAX_UNREAD_CHARS = 1024 * 1024

/**
 * The server-sent events of one response, pushed by the program; `sendEvents` is the other way round and pulls from an
 * iterable. The response begins with the first event, so that a failure before it can still be an ordinary error.
 */
export class SseBody extends Readable {
  readonly #reply: FastifyReply
  readonly #stallMs: number
  readonly #keepAlive: NodeJS.Timeout
  #drained: { readonly promise: Promise<void>, readonly resolve: () => void, readonly stall: NodeJS.Timeout } | undefined
  #held: HeldBytes | undefined
  #hasBegun = false
  #ended = false

  /** @param stallMs longest time in ms that a reader may take nothing; then it is disconnected */
  constructor (reply: FastifyReply, stallMs = MAX_STALL_MS) {
    super({ highWaterMark: 64 * 1024 })
    OpenStreams.count++
    this.#reply = reply
    this.#stallMs = stallMs
    this.#keepAlive = setInterval(() => { if (this.readableLength === 0) this.comment('keep-alive') }, KEEP_ALIVE_MS)
    this.#keepAlive.unref()
  }

  /** Whether anything was sent. */
  get hasBegun (): boolean { return this.#hasBegun }

  get isFull (): boolean { return this.readableLength >= MAX_UNREAD_CHARS }

  /**
   * Sends one event; `data` and `id` are without line breaks. A promise means that the reader is behind: it resolves
   * when the reader has caught up, or left.
   */
  event (name: string, data: string | Bytes, id?: string): Promise<void> | undefined {
    const head = `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: `
    if (typeof data === 'string') return this.#send(`${head}${data}\n\n`)
    void this.#send(head)
    for (const piece of data.pieces) this.push(piece)
    return this.#send('\n\n')
  }

  /** Sends an event without data: the id with which a reader resumes, and the time after which it does. */
  prime (id: string, retryMs?: number): void {
    void this.#send(`id: ${id}\n${retryMs === undefined ? '' : `retry: ${retryMs}\n`}data: \n\n`)
  }

  /** Sends a comment, which readers skip. It lets the head of the response leave before there is an event. */
  comment (text: string): void {
    void this.#send(commentText(text))
  }

  /** Ends the response. */
  finish (): void {
    if (this.#ended) return
    this.#begin()
    this.#ended = true
    clearInterval(this.#keepAlive)
    if (!this.destroyed) this.push(null)
  }

  #begin (): void {
    if (this.#hasBegun || this.destroyed) return
    this.#hasBegun = true
    this.#reply.headers({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no'
    }).send(this)
  }

  #send (text: string): Promise<void> | undefined {
    if (this.destroyed || this.#ended) return undefined
    this.#begin()
    this.#keepAlive.refresh()
    if (this.push(text)) return undefined
    this.#held ??= memoryBudget.hold('events that wait for their reader', ownerOf(this.#reply.request))
    if (!this.#held.tryResize(this.readableLength)) this.#reply.raw.destroy()
    if (this.#drained === undefined) {
      let resolve = (): void => {}
      const promise = new Promise<void>(_resolve => { resolve = _resolve })
      this.#drained = { promise, resolve, stall: setTimeout(() => { this.#reply.raw.destroy() }, this.#stallMs) }
    }
    return this.#drained.promise
  }

  #drain (): void {
    this.#held?.release()
    if (this.#drained === undefined) return
    clearTimeout(this.#drained.stall)
    this.#drained.resolve()
    this.#drained = undefined
  }

  override _read (): void {
    this.#drain()
  }

  override _destroy (err: Error | null, done: (err: Error | null) => void): void {
    OpenStreams.count--
    clearInterval(this.#keepAlive)
    this.#drain()
    done(err)
  }
}
