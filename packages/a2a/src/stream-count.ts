import { TooManyStreamsError } from './errors.js'

/** How many streams each owner holds open. Nothing is kept for an owner without one. */
export class StreamCount {
  readonly #limit: number
  readonly #open = new Map<string, number>()

  constructor (limit: number) { this.#limit = limit }

  /**
   * Takes a place; call what it returns once, when the stream is over.
   * @throws A2A_TOO_MANY_STREAMS (429)
   */
  take (owner: string): () => void {
    const open = this.#open.get(owner) ?? 0
    if (open >= this.#limit) throw new TooManyStreamsError(this.#limit)
    this.#open.set(owner, open + 1)
    return () => {
      const left = (this.#open.get(owner) ?? 1) - 1
      if (left === 0) this.#open.delete(owner)
      else this.#open.set(owner, left)
    }
  }
}
