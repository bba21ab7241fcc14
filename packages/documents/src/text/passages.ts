import { cutBefore } from './cuts.js'

/** The text of one heading, or a part of it: the unit of index, search and citation. */
export interface Passage {
  /** The headings above the text, outermost first, joined by " > "; empty before the first heading. */
  readonly heading: string
  /** First and last line of the text in the file, counted from 1. */
  readonly first: number
  readonly last: number
  readonly content: string
}

/** Soft hyphens and spaces without a width: they divide words that are searched for whole. */
export const INVISIBLE = /[\u00ad\u200b\u2060\ufeff]/g

/** The rest of a longer heading, in characters, is text: a heading is kept with each passage below it. */
export const MAX_HEADING_CHARS = 1_000

/** Past this many characters a passage ends at the next blank line. */
const CUT_AT_BLANK = 1_200
/** Past this many characters it ends at the next line end, blank or not: tables, logs. A longer line is split. */
const CUT_AT_LINE = 2_400
/** Past this many characters a code block is split, too: it is minified, or a fence without its end. */
const CUT_IN_CODE = 16_384

/** The end of a sentence, before a space in scripts with spaces. */
const SENTENCE_END = /[.!?…](?=\s)|[。！？।॥؟۔]/gu

/** Collects the lines of a document, in order, into passages. Code blocks of a usual length are not split. */
export class PassageBuilder {
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; maxFileBytes
  readonly #passages: Passage[] = []
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; maxFileBytes
  #path: readonly { readonly level: number, readonly text: string }[]
  /** The last heading, while no text has followed it. */
  #bare: { level: number, text: string, line: number } | undefined
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; maxFileBytes
  #lines: { first: number, last: number, text: string }[] = []
  #size = 0
  #code = false

  /** @param above the headings that the first lines are below, of the `path` of another builder */
  constructor (above: PassageBuilder['path'] = []) {
    this.#path = above
  }

  /** The headings that the next line is below. */
  get path (): readonly { readonly level: number, readonly text: string }[] {
    return this.#path
  }

  /**
   * Adds a heading of level 1 to 6. It ends the headings before it of the same or a higher level number.
   * @param repeats the heading before it, which has no text, is the same title
   */
  heading (level: number, raw: string, line: number, repeats = false): void {
    const all = raw.replace(INVISIBLE, '')
    const text = all.slice(0, MAX_HEADING_CHARS)
    this.#end()
    if (repeats) this.#bare = undefined
    this.#endBareHeading(level)
    this.#code = false
    this.#path = [...this.#path.filter(above => above.level < level), { level, text }]
    this.#bare = text === '' ? undefined : { level, text, line }
    if (all.length > text.length) this.line(all.slice(text.length), line)
  }

  /** Ends the headings of a level, and those below: what follows is text of the heading above them. */
  endHeadings (level: number): void {
    this.#end()
    this.#endBareHeading(level)
    this.#path = this.#path.filter(above => above.level < level)
  }

  /** Adds a line of text; `last` is its last line where it spans several lines of the file. */
  line (text: string, first: number, last = first): void {
    if (text.trim() === '') {
      this.#blank(first)
      return
    }
    this.#bare = undefined
    if (text.length > (this.#code ? CUT_IN_CODE : CUT_AT_LINE)) {
      for (const part of partsOf(text)) {
        this.#end()
        this.#add(part, first, last)
      }
      return
    }
    if (this.#size > (this.#code ? CUT_IN_CODE : CUT_AT_LINE)) this.#end()
    this.#add(text, first, last)
  }

  /** Begins (`true`) or ends (`false`) a code block. */
  code (inside: boolean): void {
    this.#code = inside
  }

  finish (): Passage[] {
    this.#end()
    this.#endBareHeading(0)
    return this.#passages
  }

  /** Made for a passage, since many headings of a hostile document have none. */
  #heading (): string {
    return this.#path.map(part => part.text).filter(part => part !== '').join(' > ')
  }

  #blank (line: number): void {
    if (this.#lines.length === 0) return
    // a sentence that ends in ":" belongs to the list or code below it
    const introduces = this.#lines.at(-1)?.text.trimEnd().endsWith(':') === true && this.#size <= CUT_AT_LINE
    if (this.#size > CUT_AT_BLANK && !this.#code && !introduces) this.#end()
    else this.#lines.push({ first: line, last: line, text: '' })
  }

  #add (text: string, first: number, last: number): void {
    this.#lines.push({ first, last, text })
    this.#size += text.length + 1
  }

  #end (): void {
    const lines = this.#lines
    while (lines.at(-1)?.text === '') lines.pop()
    const [start] = lines
    if (start !== undefined) {
      this.#passages.push({
        heading: this.#heading(),
        first: start.first,
        last: lines.reduce((last, line) => Math.max(last, line.last), start.last),
        content: lines.map(line => line.text).join('\n').replace(INVISIBLE, '')
      })
    }
    this.#lines = []
    this.#size = 0
  }

  /** Adds a heading without text as a passage, so that no text of the file is lost. */
  #endBareHeading (nextLevel: number): void {
    const bare = this.#bare
    this.#bare = undefined
    if (bare === undefined || nextLevel > bare.level) return
    this.#passages.push({ heading: this.#heading(), first: bare.line, last: bare.line, content: bare.text })
  }
}

/** Each part ends after the first sentence past CUT_AT_BLANK, otherwise at the last space before CUT_AT_LINE. */
function * partsOf (text: string): Generator<string> {
  let start = 0
  while (text.length - start > CUT_AT_LINE) {
    const part = text.slice(start, start + CUT_AT_LINE + 1)
    SENTENCE_END.lastIndex = CUT_AT_BLANK
    const sentence = SENTENCE_END.exec(part)
    const space = part.lastIndexOf(' ')
    const end = start + (sentence !== null ? sentence.index + sentence[0].length : space > 0 ? space : cutBefore(part, CUT_AT_LINE))
    yield text.slice(start, end)
    start = end
    while (text[start] === ' ') start++
  }
  yield text.slice(start)
}
