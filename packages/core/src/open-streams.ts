import { CallAbortedError, ShuttingDownError } from './errors.js'
import { Disconnects } from './client-disconnect.js'
import { LinkedSet, type LinkedNode } from './linked-set.js'
import { LightAbort, type AbortSignalLike } from './light-abort.js'
import { within } from './within.js'
import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

/** How long a stream may take over its last event when the application closes, in ms; then its socket is destroyed. */
const CLOSE_GRACE_MS = 500

/** One answer in progress. */
export interface OpenStream {
  readonly signal: AbortSignalLike
  end (): void
}

class Open implements OpenStream {
  readonly signal = new LightAbort()
  readonly raw: ServerResponse
  readonly #forget: () => void
  place: LinkedNode<Open> | undefined

  constructor (reply: FastifyReply, leaving: Disconnects) {
    const { raw } = reply
    this.raw = raw
    this.#forget = leaving.watch(reply, () => {
      if (raw.writableFinished) return
      raw.destroy()
      this.signal.abort(new CallAbortedError('the client left'))
    })
  }

  readonly end = (): void => {
    this.place?.remove()
    this.#forget()
  }
}

/**
 * The answers a plugin has in progress. `preClose` ends them: every one learns it by `signal`, sends its last event
 * and is waited for; aborting without waiting would leave `app.close()` hanging.
 */
export class OpenStreams {
  readonly #open = new LinkedSet<Open>()
  readonly #leaving = new Disconnects()
  #closing = false

  /**
   * Begins one answer, with a signal that fires when its client leaves (within a tick of the socket's close) or when
   * the application closes; the signal's reason is then CALL_ABORTED or SHUTTING_DOWN. `end` it in `finally`.
   * @throws SHUTTING_DOWN (503)
   */
  begin (reply: FastifyReply): OpenStream {
    if (this.#closing) throw new ShuttingDownError()
    const open = new Open(reply, this.#leaving)
    open.place = this.#open.add(open)
    return open
  }

  /** For the plugin's `preClose` hook: ends all answers and waits until they have left. May be called twice. */
  async end (): Promise<void> {
    this.#closing = true
    const open = this.#open.values().filter(({ raw }) => !raw.destroyed)
    const left = Promise.all(open.map(({ raw }) => new Promise(resolve => { raw.once('close', resolve) })))
    for (const { signal } of open) signal.abort(new ShuttingDownError())
    await within(left, CLOSE_GRACE_MS)
    for (const { raw } of open) if (!raw.writableFinished) raw.destroy()
  }
}
