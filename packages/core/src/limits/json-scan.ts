/** The most that a JSON text may have, and how many values a name counts as. */
export interface JsonBounds { readonly depth: number, readonly values: number, readonly valuesOfName: number }

/**
 * What a JSON text will cost to parse, counted without parsing it. Strings are skipped from quote to quote, so a
 * megabyte of one string costs less than a tenth of a millisecond, and a megabyte of numbers about 5 ms.
 */
export class JsonScan {
  /**
   * About the number of its values: one for each `[`, `{` and `,` outside of strings, and `valuesOfName` for each `:`:
   * distinct names are the most expensive to parse and to enumerate.
   */
  values = 0
  /** The bound that the text exceeds. */
  exceeded: 'depth' | 'values' | undefined
  readonly #bounds: JsonBounds
  #level = 0
  #inString = false
  #isEscaped = false

  constructor (bounds: JsonBounds) {
    this.#bounds = bounds
  }

  /** Reads the next characters, to the end or to the bound that they exceed. Bytes may be read as Latin-1. */
  read (text: string): void {
    const { depth, values: maxValues, valuesOfName } = this.#bounds
    const start = this.#inString ? this.#endOfString(text, 0) + 1 : 0
    let { values } = this
    let level = this.#level
    for (let i = start; i < text.length; i++) {
      const char = text.charCodeAt(i)
      if (char === QUOTE) i = this.#endOfString(text, i + 1)
      else if (char === COMMA) values++
      else if (char === COLON) values += valuesOfName
      // brackets and braces differ by 32: [ { and ] }
      else if ((char | 32) === OPEN_OBJECT) {
        values++
        if (++level > depth) { this.exceeded = 'depth'; break }
      } else if ((char | 32) === CLOSE_OBJECT) level--
      else continue
      if (values > maxValues) { this.exceeded = 'values'; break }
    }
    this.values = values
    this.#level = level
  }

  /** The closing quote of the string whose characters begin at `start`, or the end of the text. */
  #endOfString (text: string, start: number): number {
    let end = text.indexOf('"', start)
    while (end !== -1 && this.#isAfterEscape(text, start, end)) end = text.indexOf('"', end + 1)
    this.#inString = end === -1
    if (end !== -1) return end
    this.#isEscaped = this.#isAfterEscape(text, start, text.length)
    return text.length
  }

  /** Whether the character at `end` comes after an odd number of backslashes, those of the last text included. */
  #isAfterEscape (text: string, start: number, end: number): boolean {
    let at = end
    while (at > start && text.charCodeAt(at - 1) === BACKSLASH) at--
    const isOdd = (end - at) % 2 === 1
    // only a string that goes on from the last text begins at 0
    return at === 0 && this.#isEscaped ? !isOdd : isOdd
  }
}

const [QUOTE, BACKSLASH, COMMA, COLON, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from('"\\,:{}')
