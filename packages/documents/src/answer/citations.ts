/** Longest citation, in characters, such as " [1, 2, 3]"; longer brackets are text. */
const MAX_CITATION = 24
/** Models also write citations as 【1】. */
const OPENING = /[[【]/
const CLOSING = /[\]】]/
/** A part of a citation: a number, or a range such as 1-3. */
const NUMBERS = /(\d+)(?:\s?[-–]\s?(\d+))?/g

/**
 * Corrects the citations in a model's text as it comes: numbers of passages that do not exist are removed, the others
 * are renumbered in the order of their first use, so that `[n]` is the n-th passage of `cited`. Code is not changed.
 */
export class Citations {
  /** Passages cited so far, as indexes into the model's passages, in the order of their new numbers. */
  // @keyed none: a list in order, of one answer: at most the passages that the model was given
  readonly cited: number[] = []
  /** The number of removed citations. */
  removed = 0
  readonly #passages: { readonly length: number }
  /** A possible beginning of a citation: spaces, then a bracket, digits and commas. */
  #held = ''
  #ticks = 0
  #code: 'inline' | 'block' | undefined

  /** @param passages those that the model has; more may come while it answers */
  constructor (passages: { readonly length: number }) {
    this.#passages = passages
  }

  /** Returns the text that can be sent now; a possible beginning of a citation is held back. */
  push (text: string): string {
    let out = ''
    for (const character of text) out += this.#next(character)
    return out
  }

  /** Returns the text that was held back at the end. */
  end (): string {
    const held = this.#held
    this.#held = ''
    return held
  }

  #next (character: string): string {
    this.#noteCode(character)
    const inCode = this.#code !== undefined || this.#ticks > 0
    const held = this.#held
    if (!inCode && OPENING.test(held)) {
      if (CLOSING.test(character)) {
        this.#held = ''
        return this.#checked(held + character)
      }
      if (/[\d, ^–-]/.test(character) && held.length < MAX_CITATION) {
        this.#held += character
        return ''
      }
    } else if (!inCode && (OPENING.test(character) || /\s/.test(character)) && held.length < MAX_CITATION) {
      this.#held += character
      return ''
    }
    this.#held = ''
    if (!inCode && (OPENING.test(character) || /\s/.test(character))) {
      this.#held = character
      return held
    }
    return held + character
  }

  /** Three backticks or more open or close a block; fewer open or close inline code, which ends with its line. */
  #noteCode (character: string): void {
    if (character === '`') {
      this.#ticks++
      return
    }
    if (this.#ticks >= 3) this.#code = this.#code === 'block' ? undefined : 'block'
    else if (this.#ticks > 0 && this.#code !== 'block') this.#code = this.#code === 'inline' ? undefined : 'inline'
    this.#ticks = 0
    if (character === '\n' && this.#code === 'inline') this.#code = undefined
  }

  #checked (citation: string): string {
    const ranges = Array.from(citation.matchAll(NUMBERS), ([, from, to]) => ({ from: Number(from), to: Number(to ?? from) }))
    // years, or a class of characters: [2020-2024], [0-9]
    const isText = ranges.some(({ from, to }) => from !== to && !(from >= 1 && from < to && to <= this.#passages.length))
    if (ranges.length === 0 || isText) return citation
    const numbers = ranges.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, at) => from + at))
    const valid = [...new Set(numbers)].filter(number => number >= 1 && number <= this.#passages.length)
    this.removed += numbers.filter(number => number < 1 || number > this.#passages.length).length
    if (valid.length === 0) return ''
    return citation.slice(0, citation.search(OPENING)) + valid.map(number => {
      if (!this.cited.includes(number - 1)) this.cited.push(number - 1)
      return `[${this.cited.indexOf(number - 1) + 1}]`
    }).join('')
  }
}
