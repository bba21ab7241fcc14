import { LinkedSet } from '../basics/linked-set.js'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'

type Raw = FastifyReply['raw']

/** Whether a response is destroyed: one of HTTP/2 knows it only of its stream. */
export function isDestroyed (raw: Raw): boolean {
  return raw.destroyed || (raw as { stream?: { readonly destroyed: boolean } }).stream?.destroyed === true
}

/** Whether all of a response was sent: one of HTTP/2 counts as finished when its connection is closed, too. */
export function isSent (raw: Raw): boolean {
  return raw.writableFinished && (raw as { stream?: { readonly aborted: boolean } }).stream?.aborted !== true
}

/** Whether what was written to a response waits for its reader, of HTTP/2 too. */
export function needsDrain (raw: Raw): boolean {
  return raw.writableNeedDrain || (raw as { stream?: { readonly writableNeedDrain: boolean } }).stream?.writableNeedDrain === true
}

/** One of a response, until it is removed. */
export interface Watch { remove (): unknown }

const NONE: Watch = { remove () {} }

/**
 * Notifies of callers that disconnect. It listens to the socket, not to the response: a response that is queued behind
 * another one on its connection emits no `close`. One listener serves all answers of a socket. A stream of HTTP/2
 * shares its socket, so there it listens to the response.
 */
export class Disconnects {
  // @keyed none: the keys are open connections, which the host bounds; a function for each response in progress
  readonly #sockets = new WeakMap<Socket, LinkedSet<() => void>>()

  /** Calls `onDisconnect` once the caller has disconnected, at once if it has. */
  watch ({ raw, request }: FastifyReply, onDisconnect: () => void): Watch {
    const { socket, httpVersionMajor } = request.raw
    if (httpVersionMajor > 1) {
      raw.once('close', onDisconnect)
      if (isDestroyed(raw)) onDisconnect()
      return { remove: () => raw.off('close', onDisconnect) }
    }
    const node = this.#listenersOf(socket).add(onDisconnect)
    if (socket.destroyed) onDisconnect()
    return node
  }

  /** Its listener sees nothing of a request, which would live as long as the connection. */
  #listenersOf (socket: Socket): LinkedSet<() => void> {
    const known = this.#sockets.get(socket)
    if (known !== undefined) return known
    const all = new LinkedSet<() => void>()
    this.#sockets.set(socket, all)
    socket.once('close', () => { for (const listener of all.values()) listener() })
    return all
  }

  /** Calls `onOver` once, when the response is complete or the caller has disconnected. */
  whenOver (reply: FastifyReply, onOver: () => void): void {
    let isOver = false
    // the caller may have disconnected already
    let watch: Watch = NONE
    const end = (): void => {
      if (isOver) return
      isOver = true
      watch.remove()
      onOver()
    }
    reply.raw.once('close', end)
    watch = this.watch(reply, end)
    if (isOver) watch.remove()
  }
}
