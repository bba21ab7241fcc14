import type { AbortSignalLike } from '../contract/task-store.js'

/** Aborts a run, once. It creates an AbortSignal at first use: one per run costs more than the rest of a short run. */
export class RunAbort implements AbortSignalLike {
  aborted = false
  reason: unknown
  // @keyed none: a list of one run
  readonly #listeners: Array<() => void> = []
  #controller: AbortController | undefined

  get signal (): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.aborted) this.#controller.abort(this.reason)
    return this.#controller.signal
  }

  abort (reason: Error): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    this.#controller?.abort(reason)
    for (const listener of this.#listeners.splice(0)) listener()
  }

  addEventListener (_type: 'abort', listener: () => void): void {
    this.#listeners.push(listener)
  }

  removeEventListener (_type: 'abort', listener: () => void): void {
    const at = this.#listeners.indexOf(listener)
    if (at !== -1) this.#listeners.splice(at, 1)
  }
}
