import { Leaving, Stop } from '@polyvac/core'
import type { FastifyReply } from 'fastify'
import { CallAbortedError, ShuttingDownError } from './errors.js'

/** How long answers may take to leave when the application closes, in ms; then their sockets are destroyed. */
const CLOSE_GRACE_MS = 200

/**
 * The calls that requests wait for. Each has a signal that fires when its caller leaves or the application closes. Unlike
 * `OpenStreams` of core it waits for the calls themselves, and leaves the sockets alone.
 */
export class OpenCalls {
  readonly #open = new Map<FastifyReply, Stop>()
  readonly #leaving = new Leaving()
  #closing = false
  #idle: (() => void) | undefined

  /** @throws SHUTTING_DOWN (503) */
  begin (reply: FastifyReply): { readonly signal: Stop, end (): void } {
    if (this.#closing) throw new ShuttingDownError()
    const signal = new Stop()
    const forget = this.#leaving.watch(reply, () => {
      if (!reply.raw.writableFinished) signal.abort(new CallAbortedError())
    })
    this.#open.set(reply, signal)
    return {
      signal,
      end: () => {
        this.#open.delete(reply)
        if (this.#open.size === 0) this.#idle?.()
        forget()
      }
    }
  }

  /** Ends all calls and waits, for a moment, until their answers have left. */
  async end (): Promise<void> {
    this.#closing = true
    if (this.#open.size === 0) return
    const left = new Promise<void>(resolve => { this.#idle = resolve })
    for (const stop of [...this.#open.values()]) stop.abort(new ShuttingDownError())
    let timer: NodeJS.Timeout | undefined
    await Promise.race([left, new Promise(resolve => { timer = setTimeout(resolve, CLOSE_GRACE_MS) })])
    clearTimeout(timer)
  }
}
