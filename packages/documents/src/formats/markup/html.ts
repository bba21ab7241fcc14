import { Parser } from 'htmlparser2'
import { PassageBuilder, type Passage } from '../../text/passages.js'

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

/** Elements that may be a navigation by their role or class. */
const HIDING_TAGS: ReadonlySet<string> = new Set(['div', 'ul', 'ol', 'p', 'section', 'aside', 'a', 'span', 'table'])
const NAVIGATION = /(?:^|[\s_-])(?:breadcrumbs?|skip-?(?:link|nav|to-?content)|skiplinks?|navbar|toctree|table-of-contents|pagination)(?:$|[\s_-])/i

/** Lines for the readers of a page, in some languages; a longer line, in characters, is text. */
const MAX_FURNITURE = 160
const FURNITURE = new RegExp(`^(?:- )?(?:${[
  '(?:(?:this|the) (?:page|document|article) (?:was |has been )?)?last (?:modified|updated|edited|changed)(?: (?:on|at|by)|:)? .*',
  '(?:jump|skip) to (?:the )?(?:main |page )?(?:content|navigation|search|main)', 'edit (?:this page|on github|page)', 'back to (?:the )?top',
  'was this (?:page|article) helpful\\??', '(?:content|text) (?:on this (?:page|site) )?is (?:available|licensed) under .*', 'all rights reserved',
  '(?:diese seite wurde )?zuletzt (?:geändert|bearbeitet|aktualisiert).*', 'zum inhalt springen', 'nach oben',
  'dernière (?:modification|mise à jour).*', 'aller au contenu(?: principal)?', 'última (?:modificación|actualización|edición).*', 'saltar al contenido'
].join('|')})[.!]?$`, 'i')

/** Elements that begin a new line. */
const BLOCK_TAGS: ReadonlySet<string> = new Set(`address article aside blockquote body br caption center dd details
dialog div dl dt fieldset figcaption figure footer form header hr html li main ol p pre section summary table tbody tfoot
thead tr ul`.split(/\s+/))

/** Of these, those that cells of tables have. */
const CELL_TAGS: ReadonlySet<string> = new Set(['p', 'div', 'br', 'center', 'ul', 'ol', 'li'])

/** Of these, those that no heading has: where one begins, the end tag of the heading is missing. */
const AFTER_HEADING: ReadonlySet<string> = new Set(['p', 'pre', 'ul', 'ol', 'dl', 'table', 'section', 'article', 'blockquote'])

/** Elements after which a new paragraph begins. */
const PARAGRAPH_TAGS: ReadonlySet<string> = new Set(['p', 'pre', 'div', 'ul', 'ol', 'dl', 'table', 'section', 'article', 'blockquote', 'details'])

/** Longest text of a cell, in characters, whose blocks stay in its row: a longer one is the layout of a page. */
const MAX_CELL = 300
/** Longest cell of a row that may be the titles of a table without `th`. */
const MAX_TITLE = 40
/** Levels of lists that are indented. */
const MAX_LEVELS = 8

/**
 * Splits HTML into passages: `h1` to `h6` are the headings; scripts, styles and navigation are left out. Lists, code
 * and table rows are converted to Markdown, so that answers look the same for both formats.
 */
export function splitHtml (text: string): Passage[] {
  const builder = new PassageBuilder()
  addHtml(builder, text)
  return builder.finish()
}

/** Adds HTML that begins on a line of a document. */
export function addHtml (builder: PassageBuilder, text: string, line = 1): void {
  const page = new Page(builder, text, line)
  const parser = new Parser({
    onopentag: (name, attributes) => { page.open(name, parser.startIndex, attributes) },
    ontext: data => { page.text(data, parser.startIndex, parser.endIndex) },
    onclosetag: name => { page.close(name, parser.endIndex) }
  }, { decodeEntities: true })
  parser.write(text)
  parser.end()
  page.end()
}

class Page {
  readonly #builder: PassageBuilder
  readonly #firstLine: number
  readonly #lineStarts: number[] = [0]
  #cursor = 0
  #silent = 0
  /** The element of a navigation that is open, and how many of its name are. */
  #hidden: { readonly name: string, depth: number } | undefined
  #heading: { level: number, isTitle: boolean, line: number } | undefined
  /** The text of the title, until a heading repeats it. */
  #title = ''
  #pre = false
  #text = ''
  /** Kept apart: reading the end of a long text that grows would copy it for each chunk. */
  #endsWithSpace = false
  /** 0 before the first text. */
  #first = 0
  #last = 0
  /** Whether anything was written since the last blank line. */
  #written = false
  /** What the next line of text begins with: the mark of an item. */
  #mark = ''
  #lists = 0
  /** The terms of a definition list that are being defined, and the one that is read. */
  // @keyed none: it lives for the conversion of one document of a folder of the configuration
  #terms: string[] = []
  #inTerm = false
  #inCell = false
  /** The cells of the current row before the one that is read. */
  #row: string[] | undefined
  #titles = 0
  /** The rows of the current table, and whether the first one has its titles. */
  #rows = 0
  #hasTitles = false

  constructor (builder: PassageBuilder, text: string, line: number) {
    this.#builder = builder
    this.#firstLine = line
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) this.#lineStarts.push(at + 1)
  }

  open (name: string, index: number, attributes: Readonly<Record<string, string>> = {}): void {
    if (SILENT_TAGS.has(name)) this.#silent++
    if (name === this.#hidden?.name) this.#hidden.depth++
    else if (this.#hidden === undefined && HIDING_TAGS.has(name) && isNavigation(attributes)) {
      this.#flush()
      this.#hidden = { name, depth: 1 }
      this.#silent++
    }
    if (this.#silent > 0 || this.#isPartOfCell(name)) return
    const level = /^h([1-6])$/.exec(name)?.[1]
    if (this.#heading !== undefined && this.#text.trim() !== '' && (level !== undefined || AFTER_HEADING.has(name))) this.#endHeading()
    if (level !== undefined || BLOCK_TAGS.has(name)) this.#flush()
    if (level !== undefined) this.#heading = { level: Number(level), isTitle: false, line: this.#lineAt(index) }
    else if (name === 'title') this.#heading = { level: 1, isTitle: true, line: this.#lineAt(index) }
    else if (name === 'pre') this.#openCode(index)
    else if (name === 'table') [this.#rows, this.#hasTitles] = [0, false]
    else if (name === 'td' || name === 'th') this.#openCell(name)
    else if (isCode(name) && !this.#pre) this.#write('`')
    if (PARAGRAPH_TAGS.has(name) && this.#lists === 0) this.#paragraph(index)
    if (name === 'ul' || name === 'ol') this.#lists++
    else if (name === 'li') this.#mark = `${'  '.repeat(Math.max(0, Math.min(MAX_LEVELS, this.#lists) - 1))}- `
    else if (name === 'dt') this.#inTerm = true
    else if (name === 'dd') this.#mark = `- ${this.#terms.splice(0).join(', ')}: `
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

  #write (text: string): void {
    this.#text += text
    if (text !== '') this.#endsWithSpace = text.endsWith(' ')
  }

  close (name: string, index: number): void {
    if (name === this.#hidden?.name && --this.#hidden.depth === 0) {
      this.#hidden = undefined
      this.#silent = Math.max(0, this.#silent - 1)
      return
    }
    if (SILENT_TAGS.has(name)) {
      this.#silent = Math.max(0, this.#silent - 1)
      return
    }
    if (this.#silent > 0 || this.#isPartOfCell(name)) return
    if (this.#heading !== undefined && (name === 'title' || /^h[1-6]$/.test(name))) this.#endHeading()
    else if (name === 'pre') this.#closeCode()
    else if (name === 'td' || name === 'th') this.#inCell = false
    else if (isCode(name) && !this.#pre) this.#write('`')
    else if (BLOCK_TAGS.has(name)) this.#flush()
    if (name === 'ul' || name === 'ol') this.#lists = Math.max(0, this.#lists - 1)
    else if (name === 'li' || name === 'dd') this.#mark = ''
    else if (name === 'dl') for (const term of this.#terms.splice(0)) this.#builder.line(term, this.#last)
    if (PARAGRAPH_TAGS.has(name) && this.#lists === 0) this.#paragraph(index)
  }

  /** A paragraph, a line or an item in the short text of a cell is a part of the row. */
  #isPartOfCell (name: string): boolean {
    if (!this.#inCell || this.#pre || !CELL_TAGS.has(name) || this.#text.length > MAX_CELL) return false
    if (this.#text !== '' && !this.#endsWithSpace) this.#write(' ')
    return true
  }

  /** Adds a blank line, but never two: one block ends where the next begins. */
  #paragraph (index: number): void {
    if (this.#written) this.#builder.line('', this.#lineAt(index))
    this.#written = false
  }

  end (): void {
    if (this.#heading !== undefined) this.#endHeading()
    if (this.#pre) this.#closeCode()
    this.#flush()
  }

  #endHeading (): void {
    const { level, isTitle, line } = this.#heading as { level: number, isTitle: boolean, line: number }
    this.#heading = undefined
    const text = this.#text.replace(/`/g, '').replace(/\s+/g, ' ').replace(/[¶#]\s*$/, '').trim()
    // below a title with the same words it would be there twice
    const repeats = !isTitle && text !== '' && (this.#title === text || (this.#title.startsWith(text) && /^\s*[-–—|·:•»«]/.test(this.#title.slice(text.length))))
    this.#builder.heading(repeats ? 1 : level, text, line, repeats)
    this.#title = isTitle ? text : repeats ? '' : this.#title
    this.#text = ''
    this.#first = 0
  }

  #openCell (name: string): void {
    if (name === 'th') this.#titles++
    if (this.#row === undefined) this.#row = []
    else this.#row.push(this.#text.trim())
    if (this.#row.length > 0) this.#text = ''
    this.#inCell = true
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
    const cells = [...this.#row ?? [], text]
    this.#row = undefined
    this.#inCell = false
    if (this.#first > 0) {
      if (this.#inTerm) this.#terms.push(text)
      else if (cells.length > 1) this.#addRow(cells)
      else if (text !== '') this.#addLine(this.#mark + text)
      this.#inTerm = false
    }
    this.#titles = 0
    this.#first = 0
  }

  #addLine (line: string): void {
    if (line.length <= MAX_FURNITURE && FURNITURE.test(line)) return
    this.#builder.line(line, this.#first, this.#last)
    // the next paragraph of an item has its indentation
    if (this.#mark.trim() !== '') this.#mark = `${/^ */.exec(this.#mark)?.[0]}  `
    this.#written = true
  }

  /** A table needs titles to be one in Markdown: the rows of another one are lines such as "Manager: Ida Huber". */
  #addRow (cells: readonly string[]): void {
    const areTitles = this.#rows++ === 0 &&
      (this.#titles === cells.length || (cells.length > 2 && cells.every(cell => cell !== '' && cell.length <= MAX_TITLE && !/\p{N}/u.test(cell))))
    this.#hasTitles ||= areTitles
    const [name = '', ...rest] = cells
    if (this.#hasTitles) this.#addLine(cells.map(cell => cell.replaceAll('|', '\\|')).join(' | '))
    else this.#addLine([name, rest.filter(cell => cell !== '').join('; ')].filter(part => part !== '').join(': '))
    if (areTitles) this.#builder.line(cells.map(() => '---').join(' | '), this.#last)
  }

  /** The line of an offset. Offsets grow, with small steps back, so the search starts at the last line. */
  #lineAt (index: number): number {
    while (this.#cursor > 0 && (this.#lineStarts[this.#cursor] as number) > index) this.#cursor--
    while ((this.#lineStarts[this.#cursor + 1] ?? Infinity) <= index) this.#cursor++
    return this.#cursor + this.#firstLine
  }
}

function isNavigation ({ role, class: classes = '', id = '', 'aria-label': label = '' }: Readonly<Record<string, string>>): boolean {
  return role === 'navigation' || /^breadcrumbs?$/i.test(label) || NAVIGATION.test(classes) || NAVIGATION.test(id)
}

function isCode (name: string): boolean {
  return name === 'code' || name === 'kbd' || name === 'samp' || name === 'tt'
}
