/** Words that are remembered of a document. */
const MAX_WORDS = 200_000

/** A word that is divided at the end of a line: its first part. */
const DIVIDED = /(?<![\p{L}\p{N}])([\p{L}\p{N}]*\p{L})[-\u2010\u00ad]$/u
/** The rest of it, at the beginning of the next line. */
const REST = /^(\p{Ll}\p{L}*)(\p{P}*)(?:\s+|$)/u

/** First parts of English words that keep their hyphen. */
const COMPOUNDS: ReadonlySet<string> = new Set(`well self non high low long short left right half full one two three four five
six seven eight nine ten first second third all cross east west north south mid part fast slow old new open hard soft
large small hand home user real time built so`.split(/\s+/))
/** What follows a first part that shares the rest of a later word: "two- and three-bedroom". */
const SHARED = /^(?:and|or|to|und|oder|bis|et|ou|y|e|o|en|of|i|och|og)(?!\p{L})/iu

/** The words of a document, and whether lines divide them. */
export class Hyphens {
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_WORDS
  readonly #words = new Set<string>()

  /** Remembers the words of lines, also those with a hyphen inside, but not the parts of divided ones. */
  learn (lines: Iterable<string>): void {
    let isDivided = false
    for (const line of lines) {
      const whole = isDivided ? line.replace(/^\P{L}*\p{L}+/u, '') : line
      isDivided = DIVIDED.test(line)
      for (const [word] of (isDivided ? whole.replace(DIVIDED, '') : whole).matchAll(/\p{L}+(?:[-\u2010]\p{L}+)*/gu)) {
        if (this.#words.size >= MAX_WORDS) return
        this.#words.add(word.toLowerCase().replaceAll('\u2010', '-'))
      }
    }
  }

  /**
   * Two lines with the word whole that the end of the first divides, on the first of them. The hyphen stays where the
   * document has the word with it, or where both parts are words.
   */
  join (line: string, next: string): readonly [string, string] {
    const part = DIVIDED.exec(line)
    if (part === null) return [line, next]
    const [, first = ''] = part
    const soft = line.endsWith('\u00ad')
    const rest = REST.exec(next)
    if (rest === null) {
      // a figure, or a name: "Nord-" and "Süd"
      const whole = /^[\p{Lu}\p{N}][\p{L}\p{N}]*\p{P}*/u.exec(next)?.[0]
      return whole === undefined || soft ? [line, next] : [line + whole, next.slice(whole.length).trimStart()]
    }
    if (SHARED.test(next)) return [line, next]
    const [all, second = '', marks = ''] = rest
    const keeps = !soft && this.#keepsHyphen(first.toLowerCase(), second.toLowerCase())
    return [`${line.slice(0, -1)}${keeps ? '-' : ''}${second}${marks}`, next.slice(all.length)]
  }

  #keepsHyphen (first: string, second: string): boolean {
    const has = (word: string): boolean => this.#words.has(word)
    if (has(first + second)) return false
    return has(`${first}-${second}`) || COMPOUNDS.has(first) || (first.length > 2 && second.length > 2 && has(first) && has(second))
  }
}
