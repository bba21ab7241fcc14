import { LinkedSet, ShuttingDownError, type LinkedNode } from '@polyvac/core/plugin'
import type { Call } from './call.js'
import { RpcError } from '../protocol/rpc.js'

/** Time in ms that calls have to end once the application closes; then they are answered that it does. */
const CLOSE_GRACE_MS = 300

/** The calls in progress. */
export class OpenCalls {
  readonly #open = new LinkedSet<Call>()
  #closing = false
  #idle: (() => void) | undefined

  /** The call's place, to be given back. @throws SHUTTING_DOWN (503) */
  add (call: Call): LinkedNode<Call> {
    if (this.#closing) throw new ShuttingDownError()
    return this.#open.add(call)
  }

  remove (place: LinkedNode<Call>): void {
    place.remove()
    if (this.#open.size === 0) this.#idle?.()
  }

  /** Lets calls end by themselves for a moment, then ends them. May be called twice. */
  async close (): Promise<void> {
    this.#closing = true
    if (this.#open.size === 0) return
    const idle = new Promise<void>(resolve => { this.#idle = resolve })
    const reason = new ShuttingDownError()
    for (const call of this.#open.values()) call.abort(reason)
    let timer: NodeJS.Timeout | undefined
    await Promise.race([idle, new Promise(resolve => { timer = setTimeout(resolve, CLOSE_GRACE_MS) })])
    clearTimeout(timer)
    for (const call of this.#open.values()) call.cancel(reason, new RpcError('internalError', reason.message, undefined, 503))
  }
}
