/**
 * The part of an AbortSignal that a call uses. Every AbortSignal has it, and so has `LightAbort`, which is cheaper: an
 * AbortController with one listener costs more than the rest of a short call.
 */
export interface AbortSignalLike {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener (type: 'abort', listener: () => void): void
  removeEventListener (type: 'abort', listener: () => void): void
}

/** An AbortSignalLike with its own `abort`, which fires once. */
export class LightAbort implements AbortSignalLike {
  aborted = false
  reason: unknown
  /** Most signals have one or two listeners; a lazily created array is cheaper than a Set. */
  #listeners: Array<() => void> | undefined

  abort (reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    const listeners = this.#listeners ?? []
    this.#listeners = undefined
    for (const listener of listeners) listener()
  }

  /** Libraries that take an AbortSignal call it first. */
  throwIfAborted (): void {
    if (this.aborted) throw this.reason
  }

  addEventListener (_type: 'abort', listener: () => void): void {
    (this.#listeners ??= []).push(listener)
  }

  removeEventListener (_type: 'abort', listener: () => void): void {
    const at = this.#listeners?.indexOf(listener) ?? -1
    if (at !== -1) this.#listeners?.splice(at, 1)
  }
}
