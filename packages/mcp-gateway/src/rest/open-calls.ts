import { Disconnects, LinkedSet, LightAbort, type LinkedNode } from '@polyvac/core/plugin'
import type { FastifyReply } from 'fastify'
import { CallAbortedError, ShuttingDownError } from '../errors.js'

/** How long answers may take to leave when the application closes, in ms; then their sockets are destroyed. */
const CLOSE_GRACE_MS = 200

/** A call that a request waits for: the signal that fires when its caller leaves or the application closes. */
export class OpenCall extends LightAbort {
  readonly #forget: () => void
  readonly #ended: () => void
  place: LinkedNode<OpenCall> | undefined

  constructor (reply: FastifyReply, leaving: Disconnects, ended: () => void) {
    super()
    this.#ended = ended
    this.#forget = leaving.watch(reply, () => {
      if (!reply.raw.writableFinished) this.abort(new CallAbortedError())
    })
  }

  /** The request has its answer. */
  end (): void {
    this.#forget()
    this.place?.remove()
    this.#ended()
  }
}

/**
 * The calls that requests wait for. Unlike `OpenStreams` of core it waits for the calls themselves, and leaves the sockets
 * alone.
 */
export class OpenCalls {
  readonly #open = new LinkedSet<OpenCall>()
  readonly #leaving = new Disconnects()
  #closing = false
  #idle: (() => void) | undefined

  /** @throws SHUTTING_DOWN (503) */
  begin (reply: FastifyReply): OpenCall {
    if (this.#closing) throw new ShuttingDownError()
    const call = new OpenCall(reply, this.#leaving, this.#ended)
    call.place = this.#open.add(call)
    return call
  }

  readonly #ended = (): void => {
    if (this.#open.size === 0) this.#idle?.()
  }

  /** Ends all calls and waits, for a moment, until their answers have left. */
  async end (): Promise<void> {
    this.#closing = true
    if (this.#open.size === 0) return
    const left = new Promise<void>(resolve => { this.#idle = resolve })
    for (const call of this.#open.values()) call.abort(new ShuttingDownError())
    let timer: NodeJS.Timeout | undefined
    await Promise.race([left, new Promise(resolve => { timer = setTimeout(resolve, CLOSE_GRACE_MS) })])
    clearTimeout(timer)
  }
}
