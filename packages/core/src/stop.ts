/**
 * The part of an AbortSignal that a call listens to. Any AbortSignal will do; `Stop` is the light one that costs a
 * request nothing, where an AbortController with one listener costs more than all else of a short call.
 */
export interface StopSignal {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener (type: 'abort', listener: () => void): void
  removeEventListener (type: 'abort', listener: () => void): void
}

/** A StopSignal and the means to fire it, once. */
export class Stop implements StopSignal {
  aborted = false
  reason: unknown
  readonly #listeners = new Set<() => void>()

  abort (reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    for (const listener of this.#listeners) listener()
    this.#listeners.clear()
  }

  addEventListener (_type: 'abort', listener: () => void): void {
    this.#listeners.add(listener)
  }

  removeEventListener (_type: 'abort', listener: () => void): void {
    this.#listeners.delete(listener)
  }
}
