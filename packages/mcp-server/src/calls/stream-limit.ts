import { overload } from '../protocol/rpc.js'

/** Counts the streams that stay open without a call. */
export class StreamLimit {
  readonly #max: number
  #open = 0

  constructor (max: number) {
    this.#max = max
  }

  /** Counts a stream; the function that it returns ends that, once. @throws RpcError with status 503 */
  take (): () => void {
    if (this.#open >= this.#max) throw overload(`all ${this.#max} streams are in use; try again shortly`)
    this.#open++
    let isOpen = true
    return () => {
      if (isOpen) this.#open--
      isOpen = false
    }
  }
}
