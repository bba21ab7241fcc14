import { OwnerSlots, releaseContext } from '@polyvac/core/plugin'
import { overload } from '../protocol/rpc.js'

/** Counts the streams that stay open without a call. */
export class StreamLimit {
  readonly #slots: OwnerSlots

  constructor (max: number) {
    this.#slots = new OwnerSlots({ part: 'streams', total: max })
  }

  /** Counts a stream; the function that it returns ends that, once. @throws RpcError with status 503 */
  take (owner: string | undefined): () => void {
    if (!this.#slots.tryTake(owner)) throw overload('all streams that this caller may have are open; close one, or try again shortly')
    // a stream without a call only waits, for hours
    releaseContext()
    let isOpen = true
    return () => {
      if (isOpen) this.#slots.release(owner)
      isOpen = false
    }
  }
}
