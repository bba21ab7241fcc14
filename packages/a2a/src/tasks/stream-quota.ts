import { TooManyStreamsError } from '../errors.js'

/**
 * Characters that the frames of all streams have together. A reader that takes nothing keeps its frame, and a crowd of
 * them would fill the memory; past this, who has taken nothing for longest is disconnected, and may resubscribe.
 */
const MAX_HELD_CHARS = 128 * 1024 * 1024

/** The place of one stream. */
export interface StreamPlace {
  /** The stream's next frame has so many characters: it has taken the one before. */
  hold (chars: number): void
  /** The stream is over. */
  release (): void
}

/** How many streams each owner holds open, and how much they hold together. Nothing is kept for an owner without one. */
export class StreamQuota {
  readonly #limit: number
  readonly #maxChars: number
  readonly #open = new Map<string, number>()
  /** Who has waited for longest comes first. */
  readonly #held = new Map<StreamPlace, { readonly chars: number, readonly leave: () => void }>()
  #chars = 0

  constructor (limit: number, maxChars = MAX_HELD_CHARS) {
    this.#limit = limit
    this.#maxChars = maxChars
  }

  /**
   * Takes a place. `leave` disconnects the stream's reader.
   * @throws A2A_TOO_MANY_STREAMS (429)
   */
  take (owner: string, leave: () => void): StreamPlace {
    const open = this.#open.get(owner) ?? 0
    if (open >= this.#limit) throw new TooManyStreamsError(this.#limit)
    this.#open.set(owner, open + 1)
    const place: StreamPlace = {
      hold: chars => {
        this.#drop(place)
        this.#held.set(place, { chars, leave })
        this.#chars += chars
        for (const [other, { leave }] of this.#held) {
          if (this.#chars <= this.#maxChars || other === place) return
          this.#drop(other)
          leave()
        }
      },
      release: () => {
        this.#drop(place)
        const left = (this.#open.get(owner) ?? 1) - 1
        if (left === 0) this.#open.delete(owner)
        else this.#open.set(owner, left)
      }
    }
    return place
  }

  #drop (place: StreamPlace): void {
    this.#chars -= this.#held.get(place)?.chars ?? 0
    this.#held.delete(place)
  }
}
