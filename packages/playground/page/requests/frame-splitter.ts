const SSE = /\r?\n\r?\n/
const LINES = /\n/
/** What ends a frame, by the type of the body. */
const SEPARATORS: Readonly<Record<string, RegExp>> = { 'text/event-stream': SSE, 'application/x-ndjson': LINES }
/** Most characters of a separator that can be at the end of a chunk while the rest of it is in the next one. */
const MAX_CUT_SEPARATOR = 3

/** Cuts a body into frames. It searches each character once, however many chunks a frame has. */
export class FrameSplitter {
  readonly #separator: RegExp | undefined
  readonly #isText: boolean
  #searched = ''
  #tail = ''

  /** @param type of the body; each chunk of a plain text is a frame, another body without a separator is one */
  constructor (type: string) {
    const [bare] = type.split(';').map(part => part.trim())
    this.#separator = SEPARATORS[bare!]
    this.#isText = bare === 'text/plain'
  }

  /** The frames that end in `chunk`. */
  push (chunk: string): string[] {
    if (this.#separator === undefined) {
      if (this.#isText) return [chunk]
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
