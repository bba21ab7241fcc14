import { CallAbortedError, ShuttingDownError } from '../basics/errors.js'
import { Disconnects, isDestroyed, isSent, type Watch } from './client-disconnect.js'
import { LinkedSet, type LinkedNode } from '../basics/linked-set.js'
import { LightAbort, type AbortSignalLike } from '../basics/light-abort.js'
import { within } from '../basics/within.js'
import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

/** Time in ms for the last event of a stream when the application closes; then its socket is destroyed. */
const CLOSE_GRACE_MS = 500

/** One answer in progress. */
export interface OpenStream {
  readonly signal: AbortSignalLike
  end (): void
}

class Open implements OpenStream {
  readonly signal = new LightAbort()
  readonly raw: ServerResponse
  readonly #watch: Watch
  node: LinkedNode<Open> | undefined

  constructor (reply: FastifyReply, disconnects: Disconnects) {
    this.raw = reply.raw
    this.#watch = disconnects.watch(reply, () => { this.#leave() })
  }

  #leave (): void {
    if (isSent(this.raw)) return
    this.raw.destroy()
    this.signal.abort(new CallAbortedError('the client left'))
  }

  end (): void {
    this.node?.remove()
    this.#watch.remove()
  }
}

/**
 * The answers of a plugin in progress. Its `preClose` hook ends them: each is aborted by its signal and sends its last
 * event, and the hook waits for it. Without that wait `app.close()` would hang.
 */
export class OpenStreams {
  /** Responses that are sent as streams, over all plugins: one count per process, also with two hosts. */
  static count = 0
  // @keyed none: a list in order, of the responses in progress of a plugin
  readonly #open = new LinkedSet<Open>()
  readonly #disconnects = new Disconnects()
  #closing = false

  /**
   * Begins one answer. Its signal fires when the client disconnects, with CALL_ABORTED, and when the application
   * closes, with SHUTTING_DOWN. Call `end` in `finally`.
   * @throws SHUTTING_DOWN (503)
   */
  begin (reply: FastifyReply): OpenStream {
    if (this.#closing) throw new ShuttingDownError()
    const open = new Open(reply, this.#disconnects)
    open.node = this.#open.add(open)
    return open
  }

  /** For the plugin's `preClose` hook: ends all answers and waits until they are sent. May be called twice. */
  async end (): Promise<void> {
    this.#closing = true
    const open = this.#open.values().filter(({ raw }) => !isDestroyed(raw))
    const closed = Promise.all(open.map(({ raw }) => new Promise(resolve => { raw.once('close', resolve) })))
    for (const { signal } of open) signal.abort(new ShuttingDownError())
    await within(closed, CLOSE_GRACE_MS)
    for (const { raw } of open) if (!raw.writableFinished) raw.destroy()
  }
}
