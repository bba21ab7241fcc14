import { RpcError } from '../protocol/rpc.js'

/** Counts the streams that stay open without a call. */
export class StreamLimit {
  readonly #max: number
  #taken = 0

  constructor (max: number) {
    this.#max = max
  }

  /** Takes a place; what it returns gives it back, once. @throws RpcError with status 503 */
  take (): () => void {
    if (this.#taken >= this.#max) throw new RpcError('internalError', `all ${this.#max} places for open streams are taken; try again shortly`, undefined, 503)
    this.#taken++
    let isTaken = true
    return () => {
      if (isTaken) this.#taken--
      isTaken = false
    }
  }
}
