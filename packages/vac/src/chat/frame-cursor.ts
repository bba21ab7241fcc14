import type { Text } from '@polyvac/core/protocol'

/** What a reader has of the frames of a run. */
export interface FramePlace {
  /** The number of the event at which the text of the run begins anew; 0 where it does not. */
  readonly begun: number
  /** Frames other than deltas. */
  readonly frames: number
  /** Characters of all deltas. */
  readonly chars: number
}

const ID = /^(\d{1,15})-(\d{1,9})-(\d{1,12})$/

/** The place of the id of a frame; undefined for any other text. */
export function readFrameId (id: string): FramePlace | undefined {
  const [, begun, frames, chars] = ID.exec(id) ?? []
  return begun === undefined ? undefined : { begun: Number(begun), frames: Number(frames), chars: Number(chars) }
}

/**
 * Leaves out the frames that a reader has, and gives the others their ids. It counts frames and characters, so that the
 * rest is the same however the text is cut into deltas: piece by piece as it came, or joined for a late reader.
 */
export class FrameCursor {
  readonly #has: FramePlace | undefined
  #skip: number
  #begun = 0
  #frames = 0
  #chars = 0
  /** What the ids begin with: of the frames of a text, all but the characters. */
  #before = '0-0-'

  /**
   * @param has what the reader has
   * @param skip frames of any kind that it has, for a reader that counts them: of a run that is encoded piece by piece
   */
  constructor (has?: FramePlace, skip = 0) {
    this.#has = has
    this.#skip = skip
  }

  /** The text begins at event `seq`. Returns whether the reader has frames of a text that begins elsewhere. */
  begin (seq: number): boolean {
    this.#begun = seq
    this.#before = `${seq}-${this.#frames}-`
    return this.#has !== undefined && this.#has.begun !== seq
  }

  /** A frame other than a delta. */
  frame (encode: (id: string) => Text): Text {
    this.#before = `${this.#begun}-${++this.#frames}-`
    if (this.#skips(({ frames }) => this.#frames <= frames)) return ''
    return encode(this.#id())
  }

  /** A delta, or what the reader has not of it. */
  delta (text: string, encode: (rest: string, id: string) => Text): Text {
    const before = this.#chars
    this.#chars += text.length
    if (this.#has === undefined && this.#skip === 0) return encode(text, this.#id())
    if (this.#skips(({ chars }) => this.#chars <= chars)) return ''
    const has = this.#has?.begun === this.#begun ? Math.max(0, this.#has.chars - before) : 0
    return encode(has === 0 ? text : text.slice(has), this.#id())
  }

  #skips (hasIt: (has: FramePlace) => boolean): boolean {
    if (this.#skip > 0) {
      this.#skip--
      return true
    }
    return this.#has?.begun === this.#begun && hasIt(this.#has)
  }

  #id (): string { return `${this.#before}${this.#chars}` }
}
