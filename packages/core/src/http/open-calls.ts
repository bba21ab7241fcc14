import { ShuttingDownError } from '../basics/errors.js'
import { LinkedSet, type LinkedNode } from '../basics/linked-set.js'
import { within } from '../basics/within.js'

/** The calls in progress of a plugin. When it closes, it waits for them; `OpenStreams` waits for sockets. */
export class OpenCalls<Call extends { abort (reason: unknown): void }> {
  // @keyed none: a list in order, of the calls in progress of a plugin
  readonly #open = new LinkedSet<Call>()
  #closing = false
  #onEmpty: (() => void) | undefined

  get size (): number { return this.#open.size }

  /** The calls at this moment. */
  values (): readonly Call[] {
    return this.#open.values()
  }

  /** Adds a call; give its node to `remove` when it is over. @throws SHUTTING_DOWN (503) */
  add (call: Call): LinkedNode<Call> {
    if (this.#closing) throw new ShuttingDownError()
    return this.#open.add(call)
  }

  remove (node: LinkedNode<Call>): void {
    node.remove()
    if (this.#open.size === 0) this.#onEmpty?.()
  }

  /** Aborts all calls with SHUTTING_DOWN and waits for them, at most `graceMs`. Returns those that are still open. */
  async close (graceMs: number): Promise<readonly Call[]> {
    this.#closing = true
    if (this.#open.size === 0) return []
    const empty = new Promise<void>(resolve => { this.#onEmpty = resolve })
    const reason = new ShuttingDownError()
    for (const call of this.#open.values()) call.abort(reason)
    await within(empty, graceMs)
    return this.#open.values()
  }
}
