import { isSent, CallAbortedError, LightAbort, type Disconnects, type LinkedNode, type OpenCalls, type Watch } from '@polyvac/core/plugin'
import type { FastifyReply } from 'fastify'

/** The call of one request: the signal that fires when its caller disconnects or the application closes. */
export class OpenCall extends LightAbort {
  readonly #calls: OpenCalls<OpenCall>
  readonly #node: LinkedNode<OpenCall>
  readonly #watch: Watch

  /** @throws SHUTTING_DOWN (503) */
  constructor (reply: FastifyReply, calls: OpenCalls<OpenCall>, disconnects: Disconnects) {
    super()
    this.#calls = calls
    this.#node = calls.add(this)
    this.#watch = disconnects.watch(reply, () => {
      if (!isSent(reply.raw)) this.abort(new CallAbortedError('the caller disconnected'))
    })
  }

  /** The response is complete. */
  end (): void {
    this.#watch.remove()
    this.#calls.remove(this.#node)
  }
}
