/**
 * The part of an AbortSignal that a call listens to. Any AbortSignal will do; `LightAbort` is the light one that costs a
 * request nothing, where an AbortController with one listener costs more than all else of a short call.
 */
export interface AbortSignalLike {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener (type: 'abort', listener: () => void): void
  removeEventListener (type: 'abort', listener: () => void): void
}

/** An AbortSignalLike and the means to fire it, once. */
export class LightAbort implements AbortSignalLike {
  aborted = false
  reason: unknown
  /** Few listen to one call, one or two; a list made by need is lighter than a set. */
  #listeners: Array<() => void> | undefined

  abort (reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    const listeners = this.#listeners ?? []
    this.#listeners = undefined
    for (const listener of listeners) listener()
  }

  /** What libraries that take an AbortSignal call first. */
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
