import { LinkedSet } from './linked-set.js'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'

/**
 * Tells when a caller leaves. The socket is watched, not the response: one that is queued behind another on its
 * connection emits no `close`. One listener serves all answers of a socket. A stream of HTTP/2 shares its socket, so
 * there the response is watched.
 */
export class Disconnects {
  readonly #sockets = new WeakMap<Socket, LinkedSet<() => void>>()

  /** Calls `left` once the caller has gone, at once if it has. Call what it returns when the answer is over. */
  watch ({ raw, request }: FastifyReply, left: () => void): () => void {
    const { socket, httpVersionMajor } = request.raw
    if (httpVersionMajor > 1) {
      raw.once('close', left)
      return () => { raw.off('close', left) }
    }
    let leaving = this.#sockets.get(socket)
    if (leaving === undefined) {
      const all = leaving = new LinkedSet()
      this.#sockets.set(socket, all)
      socket.once('close', () => { for (const leave of all.values()) leave() })
    }
    const place = leaving.add(left)
    if (socket.destroyed) left()
    return () => { place.remove() }
  }
}
