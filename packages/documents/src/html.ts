import { Parser } from 'htmlparser2'
import { PassageBuilder, type Passage } from './passages.js'

/** The element names of HTML: anything else in angle brackets is text, such as the type in `Promise<string>`. */
export const HTML_TAGS: ReadonlySet<string> = new Set(`a abbr address area article aside audio b base bdi bdo blockquote
body br button canvas caption center cite code col colgroup data datalist dd del details dfn dialog div dl dt em embed
fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label
legend li link main map mark menu meta meter nav noscript object ol optgroup option output p param picture pre progress q
rp rt ruby s samp script section select slot small source span strong style sub summary sup svg table tbody td template
textarea tfoot th thead time title tr track tt u ul var video wbr path g`.split(/\s+/))

/** Elements without text for readers. */
const SILENT_TAGS: ReadonlySet<string> = new Set(`script style template noscript svg nav iframe select button
textarea datalist`.split(/\s+/))

/** Elements that begin a new line. */
const BLOCK_TAGS: ReadonlySet<string> = new Set(`address article aside blockquote body br caption center dd details
dialog div dl dt fieldset figcaption figure footer form header hr html li main ol p pre section summary table tbody tfoot
thead tr ul`.split(/\s+/))

/** The entities that occur in Markdown; the parser of HTML decodes all of them. */
export const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', nbsp: ' ', '#39': "'", apos: "'" }
export const ENTITY = /&(lt|gt|amp|quot|nbsp|#39|apos);/g

/** Elements after which a new paragraph begins. */
const PARAGRAPH_TAGS: ReadonlySet<string> = new Set(['p', 'pre', 'div', 'ul', 'ol', 'dl', 'table', 'section', 'article', 'blockquote', 'details'])

/**
 * Splits HTML into passages: `h1` to `h6` are the headings; scripts, styles and navigation are left out. Lists, code
 * and table rows are converted to Markdown, so that answers look the same for both formats.
 */
export function splitHtml (text: string): Passage[] {
  const page = new Page(text)
  const parser = new Parser({
    onopentag: name => { page.open(name, parser.startIndex) },
    ontext: data => { page.text(data, parser.startIndex, parser.endIndex) },
    onclosetag: name => { page.close(name, parser.endIndex) }
  }, { decodeEntities: true })
  parser.write(text)
  parser.end()
  return page.finish()
}

class Page {
  readonly #builder = new PassageBuilder()
  readonly #lineStarts: number[] = [0]
  #cursor = 0
  #silent = 0
  #heading: { level: number, line: number } | undefined
  #pre = false
  #text = ''
  /** Kept apart: reading the end of a long text that grows would copy it for each chunk. */
  #endsWithSpace = false
  /** 0 before the first text. */
  #first = 0
  #last = 0
  /** Whether anything was written since the last blank line. */
  #written = false
  #headerCells = 0

  constructor (text: string) {
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) this.#lineStarts.push(at + 1)
  }

  open (name: string, index: number): void {
    if (SILENT_TAGS.has(name)) this.#silent++
    if (this.#silent > 0) return
    const level = /^h([1-6])$/.exec(name)?.[1]
    if (level !== undefined || BLOCK_TAGS.has(name)) this.#flush()
    if (level !== undefined) this.#heading = { level: Number(level), line: this.#lineAt(index) }
    else if (name === 'title') this.#heading = { level: 1, line: this.#lineAt(index) }
    else if (name === 'pre') this.#openCode(index)
    else if (name === 'li') this.#write('- ', '')
    else if (name === 'td' || name === 'th') this.#openCell(name)
    else if (isCode(name) && !this.#pre) this.#write('`')
    if (PARAGRAPH_TAGS.has(name)) this.#paragraph(index)
  }

  text (data: string, start: number, end: number): void {
    if (this.#silent > 0) return
    const clean = this.#pre ? data : data.replace(/\s+/g, ' ')
    if (clean.trim() !== '') {
      const lead = /^\s*/.exec(data)?.[0].length ?? 0
      if (this.#first === 0) this.#first = this.#lineAt(start + lead)
      this.#last = this.#lineAt(Math.max(start, end - (data.length - data.trimEnd().length)))
    }
    this.#write(!this.#pre && (this.#text === '' || this.#endsWithSpace) ? clean.trimStart() : clean)
  }

  #write (text: string, before = this.#text): void {
    this.#text = before + text
    if (text !== '') this.#endsWithSpace = text.endsWith(' ')
  }

  close (name: string, index: number): void {
    if (SILENT_TAGS.has(name)) {
      this.#silent = Math.max(0, this.#silent - 1)
      return
    }
    if (this.#silent > 0) return
    if (this.#heading !== undefined && (name === 'title' || /^h[1-6]$/.test(name))) this.#endHeading()
    else if (name === 'pre') this.#closeCode()
    else if (isCode(name) && !this.#pre) this.#write('`')
    else if (BLOCK_TAGS.has(name)) this.#flush()
    if (PARAGRAPH_TAGS.has(name)) this.#paragraph(index)
  }

  /** Adds a blank line, but never two: one block ends where the next begins. */
  #paragraph (index: number): void {
    if (this.#written) this.#builder.line('', this.#lineAt(index))
    this.#written = false
  }

  finish (): Passage[] {
    if (this.#heading !== undefined) this.#endHeading()
    if (this.#pre) this.#closeCode()
    this.#flush()
    return this.#builder.finish()
  }

  #endHeading (): void {
    const { level, line } = this.#heading as { level: number, line: number }
    this.#heading = undefined
    this.#builder.heading(level, this.#text.replace(/`/g, '').replace(/\s+/g, ' ').replace(/[¶#]\s*$/, '').trim(), line)
    this.#text = ''
    this.#first = 0
  }

  #openCell (name: string): void {
    if (name === 'th') this.#headerCells++
    if (this.#text !== '') this.#write(' | ')
  }

  #openCode (index: number): void {
    this.#pre = true
    this.#text = ''
    this.#first = 0
    this.#last = this.#lineAt(index)
  }

  #closeCode (): void {
    this.#pre = false
    const code = this.#text.replace(/^\r?\n/, '').trimEnd()
    this.#text = ''
    if (code !== '') {
      const fence = code.includes('```') ? '~~~~' : '```'
      this.#builder.code(true)
      this.#builder.line(`${fence}\n${code}\n${fence}`, this.#first === 0 ? this.#last : this.#first, this.#last)
      this.#builder.code(false)
      this.#written = true
    }
    this.#first = 0
  }

  /** Ends the current line of text. A heading collects the text of the blocks inside it. */
  #flush (): void {
    if (this.#pre || this.#heading !== undefined) return
    const text = this.#text.trim()
    this.#text = ''
    if (text !== '' && text !== '-' && this.#first > 0) {
      this.#builder.line(text, this.#first, this.#last)
      this.#written = true
      if (this.#headerCells > 1) this.#builder.line(Array(this.#headerCells).fill('---').join(' | '), this.#last)
    }
    this.#headerCells = 0
    this.#first = 0
  }

  /** The line of an offset, from 1. Offsets grow, with small steps back, so the search starts at the last line. */
  #lineAt (index: number): number {
    while (this.#cursor > 0 && (this.#lineStarts[this.#cursor] as number) > index) this.#cursor--
    while ((this.#lineStarts[this.#cursor + 1] ?? Infinity) <= index) this.#cursor++
    return this.#cursor + 1
  }
}

function isCode (name: string): boolean {
  return name === 'code' || name === 'kbd' || name === 'samp' || name === 'tt'
}
