const SSE = /\r?\n\r?\n/
const LINES = /\n/
/** What ends a frame, by the type of the body. */
const SEPARATORS: Readonly<Record<string, RegExp>> = { 'text/event-stream': SSE, 'application/x-ndjson': LINES }
/** Most characters of a separator that can be at the end of a chunk while the rest of it is in the next one. */
const MAX_CUT_SEPARATOR = 3

/** Cuts a body into frames. It searches each character once, however many chunks a frame has. */
export class FrameSplitter {
  readonly #separator: RegExp | undefined
  readonly #isWhole: boolean
  #searched = ''
  #tail = ''

  /** @param isWhole a body without a separator is one frame; otherwise each of its chunks is one */
  constructor (type: string, isWhole: boolean) {
    this.#separator = SEPARATORS[type.split(';')[0]!.trim()]
    this.#isWhole = isWhole
  }

  /** The frames that end in `chunk`. */
  push (chunk: string): string[] {
    if (this.#separator === undefined) {
      if (!this.#isWhole) return [chunk]
      this.#searched += chunk
      return []
    }
    const pieces = (this.#tail + chunk).split(this.#separator)
    const rest = pieces.pop()!
    if (pieces.length > 0) {
      pieces[0] = this.#searched + pieces[0]
      this.#searched = ''
    }
    const cut = Math.max(0, rest.length - MAX_CUT_SEPARATOR)
    this.#searched += rest.slice(0, cut)
    this.#tail = rest.slice(cut)
    return pieces
  }

  /** What is left at the end of the body. */
  end (): string {
    return this.#searched + this.#tail
  }
}
