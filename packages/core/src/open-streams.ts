import { setTimeout as delay } from 'node:timers/promises'
import { CallAbortedError, ShuttingDownError } from './errors.js'
import { Leaving } from './leaving.js'
import { Stop, type StopSignal } from './stop.js'
import type { FastifyReply } from 'fastify'

/** How long a stream may take over its last event when the application closes, in ms; then its socket is destroyed. */
const CLOSE_GRACE_MS = 500

/** One answer in progress. */
export interface OpenStream {
  readonly signal: StopSignal
  end (): void
}

/**
 * The answers a plugin has in progress. `preClose` ends them: every one learns it by `signal`, sends its last event
 * and is waited for; aborting without waiting would leave `app.close()` hanging.
 */
export class OpenStreams {
  readonly #open = new Map<FastifyReply, Stop>()
  readonly #leaving = new Leaving()
  #closing = false

  get size (): number { return this.#open.size }

  /**
   * Begins one answer, with a signal that fires when its client leaves (within a tick of the socket's close) or when
   * the application closes; the signal's reason is then CALL_ABORTED or SHUTTING_DOWN. `end` it in `finally`.
   * @throws SHUTTING_DOWN (503)
   */
  begin (reply: FastifyReply): OpenStream {
    if (this.#closing) throw new ShuttingDownError()
    const stop = new Stop()
    const forget = this.#leaving.watch(reply, () => {
      if (reply.raw.writableFinished) return
      reply.raw.destroy()
      stop.abort(new CallAbortedError('the client left'))
    })
    this.#open.set(reply, stop)
    return {
      signal: stop,
      end: () => {
        this.#open.delete(reply)
        forget()
      }
    }
  }

  /** For the plugin's `preClose` hook: ends all answers and waits until they have left. May be called twice. */
  async end (): Promise<void> {
    this.#closing = true
    const open = [...this.#open].filter(([{ raw }]) => !raw.destroyed)
    const left = Promise.all(open.map(([{ raw }]) => new Promise(resolve => { raw.once('close', resolve) })))
    for (const [, stop] of open) stop.abort(new ShuttingDownError())
    const late = new AbortController()
    try {
      await Promise.race([left, delay(CLOSE_GRACE_MS, undefined, { signal: late.signal })])
    } finally {
      late.abort()
      for (const [{ raw }] of open) if (!raw.writableFinished) raw.destroy()
    }
  }
}
