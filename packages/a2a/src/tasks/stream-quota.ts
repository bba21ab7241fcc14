import type { Principal } from '@polyvac/core'
import { memoryBudget, ownerShare, OwnerSlots } from '@polyvac/core/plugin'
import { ownerKey } from '@polyvac/tasks'
import { TooManyStreamsError } from '../errors.js'

/**
 * Characters that the frames of all streams hold together. A reader that does not read holds its frame, and many of
 * them would fill the memory. Past this bound a reader is disconnected, which may resubscribe: of the owner whose
 * frames have most characters, the one that has not read for longest.
 */
const MAX_HELD_CHARS = 128 * 1024 * 1024
/** Memory of an open stream besides its frames, in bytes, about. */
const STREAM_BYTES = 16 * 1024

/** The slot of one stream. */
export interface StreamPlace {
  /** The length of the stream's next frame: its reader has taken the one before. */
  hold (chars: number): void
  /** Its frame is not held any more: its reader was disconnected. */
  forget (): void
  /** The stream has ended. */
  release (): void
}

/**
 * How many streams each owner and all together hold open, and how many characters all of them hold. Their memory is
 * counted in the budget of the process, in which each owner has a share.
 */
export class StreamQuota {
  readonly #limit: number
  readonly #slots: OwnerSlots
  readonly #maxChars: number
  /** In the order of their last frame, oldest first. */
  // @keyed open stream | holds: the length of its last frame | whose: the owner of the stream | bound: one for each
  //   open stream; MAX_HELD_CHARS | share: the owner with most characters gives way | test:
  //   packages/a2a/test/owners.test.ts: past what all streams hold together, an owner disconnects its own readers,
  //   and none of another
  readonly #held = new Map<StreamPlace, { readonly owner: string, readonly chars: number, readonly disconnect: () => void }>()
  #chars = 0

  constructor (limit: number, maxChars = MAX_HELD_CHARS) {
    this.#limit = limit
    this.#slots = new OwnerSlots({ part: 'streams of tasks', total: Math.ceil(limit / ownerShare()), share: limit })
    this.#maxChars = maxChars
  }

  /**
   * Takes a place. `disconnect` disconnects the stream's reader.
   * @throws A2A_TOO_MANY_STREAMS (429), MEMORY_BUDGET_EXCEEDED (503)
   */
  take (caller: Principal | undefined, disconnect: () => void): StreamPlace {
    const owner = ownerKey(caller?.owner)
    const { total, taken } = this.#slots
    const memory = memoryBudget.hold('streams of tasks', caller?.owner)
    if (!this.#slots.tryTake(owner)) {
      throw new TooManyStreamsError(taken < total ? `this caller follows ${this.#limit}` : `all callers together follow ${total}`)
    }
    if (!memory.tryGrow(STREAM_BYTES)) {
      this.#slots.release(owner)
      throw memory.refusal()
    }
    const place: StreamPlace = {
      hold: chars => {
        this.#drop(place)
        this.#held.set(place, { owner, chars, disconnect })
        this.#chars += chars
        while (this.#chars > this.#maxChars) {
          const other = this.#leaving()
          if (other === undefined || other === place) break
          const { disconnect } = this.#held.get(other)!
          this.#drop(other)
          disconnect()
        }
        // the reader of this owner that has not read for longest is disconnected, in the end this one
        for (const [other, held] of this.#held) {
          if (memory.tryResize(STREAM_BYTES + 2 * chars)) return
          if (held.owner !== owner) continue
          this.#drop(other)
          other.forget()
          held.disconnect()
        }
      },
      forget: () => { memory.tryResize(STREAM_BYTES) },
      release: () => {
        this.#drop(place)
        memory.release()
        this.#slots.release(owner)
      }
    }
    return place
  }

  /** Of the owner whose frames have most characters, the stream that took its last one first. */
  #leaving (): StreamPlace | undefined {
    const charsOf = new Map<string, number>()
    for (const { owner, chars } of this.#held.values()) charsOf.set(owner, (charsOf.get(owner) ?? 0) + chars)
    const most = Math.max(...charsOf.values())
    for (const [place, { owner }] of this.#held) if (charsOf.get(owner) === most) return place
    return undefined
  }

  #drop (place: StreamPlace): void {
    this.#chars -= this.#held.get(place)?.chars ?? 0
    this.#held.delete(place)
  }
}
