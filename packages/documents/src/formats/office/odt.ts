import { openOdf, SILENT, spaceOf, Styles } from './odf.js'
import { isPageText } from './page-text.js'
import { readXml } from './xml.js'
import { PassageBuilder } from '../../text/passages.js'
import { addTable } from '../../text/table-lines.js'
import type { SplitFile } from '../format.js'
import type { Archive } from './zip.js'

/** Levels of lists that are indented. */
const MAX_LEVELS = 8
/** Rows of one table that are read. */
const MAX_TABLE_ROWS = 20_000
/** Longest text of all page headers and footers, in characters. */
const MAX_PAGE_TEXT = 3_000

/** The paragraphs of a text, between its page headers and footers. Its numbers count the paragraphs. */
export async function splitOdt (bytes: Uint8Array): Promise<SplitFile> {
  const archive = await openOdf(bytes)
  const builder = new PassageBuilder()
  const reader = new TextReader(builder)
  const { headers, footers } = await pageTextsOf(archive)
  for (const line of headers) builder.line(`- ${line}`, 1)
  if (headers.length > 0) builder.line('', 1)
  await readXml(archive, 'content.xml', reader)
  const end = Math.max(1, reader.line)
  if (footers.length > 0) builder.heading(1, '', end)
  for (const line of footers) builder.line(`- ${line}`, end)
  return { passages: builder.finish() }
}

/** The lines of the page headers and footers, each once. */
async function pageTextsOf (archive: Archive): Promise<Record<'headers' | 'footers', string[]>> {
  // @keyed none: they live for the conversion of one document of a folder of the configuration; MAX_PAGE_TEXT
  const found = { headers: new Set<string>(), footers: new Set<string>() }
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_ODF_BYTES
  let into: Set<string> | undefined
  let text = ''
  let silent = 0
  let left = MAX_PAGE_TEXT
  if (!archive.has('styles.xml')) return { headers: [], footers: [] }
  await readXml(archive, 'styles.xml', {
    open (name, attributes) {
      if (SILENT.has(name)) silent++
      if (/^header(?:-|$)/.test(name)) into = found.headers
      else if (/^footer(?:-|$)/.test(name)) into = found.footers
      else text += spaceOf(name, attributes)
      if (name === 'p') text = ''
    },
    text (data) { if (into !== undefined && silent === 0) text += data },
    close (name) {
      if (SILENT.has(name)) silent--
      if (/^(?:header|footer)(?:-|$)/.test(name)) into = undefined
      const line = text.replace(/\s+/g, ' ').trim()
      if (name === 'p' && into !== undefined && isPageText(line) && (left -= line.length) > 0) into.add(line)
    }
  })
  return { headers: [...found.headers], footers: [...found.footers] }
}

/** Reads the body of a text into passages. */
class TextReader {
  /** The number of the last paragraph. */
  line = 0
  readonly #builder: PassageBuilder
  readonly #styles = new Styles()
  #silent = 0
  #inBody = false
  /** The text of each paragraph that is open: a box of text is inside one. */
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_XML_DEPTH of xml.ts
  readonly #open: { text: string, level: number | undefined }[] = []
  #lists = 0
  #mark: string | undefined
  /** What is written below the paragraph that it is in: notes and comments. */
  // @keyed none: they live for the conversion of one document of a folder of the configuration; MAX_XML_DEPTH of xml.ts
  readonly #asides: { text: string, author: string, kind: 'note' | 'comment' }[] = []
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_ODF_BYTES
  #below: string[] = []
  #table: { rows: string[][], first: number, depth: number, hasTitles: boolean } | undefined
  #inAuthor = false
  #inDate = false

  constructor (builder: PassageBuilder) {
    this.#builder = builder
  }

  open (name: string, attributes: Readonly<Record<string, string>>): void {
    if (!this.#inBody) {
      this.#styles.open(name, attributes)
      this.#inBody = name === 'body'
      return
    }
    if (SILENT.has(name)) this.#silent++
    if (this.#silent > 0) return
    if (name === 'p' || name === 'h') this.#openParagraph(name, attributes)
    else if (name === 'list') this.#lists++
    else if (name === 'list-item' || name === 'list-header') this.#mark = `${'  '.repeat(Math.max(0, Math.min(MAX_LEVELS, this.#lists) - 1))}- `
    else if (name === 'note' || name === 'annotation') this.#asides.push({ text: '', author: '', kind: name === 'note' ? 'note' : 'comment' })
    else if (name === 'creator') this.#inAuthor = true
    else if (name === 'date' || name === 'creator-initials') this.#inDate = this.#asides.length > 0
    else if (name === 'table') this.#openTable()
    else if (name === 'table-header-rows' && this.#table?.depth === 1) this.#table.hasTitles = this.#table.rows.length === 0
    else if (name === 'table-row' && this.#table?.depth === 1 && this.#table.rows.length < MAX_TABLE_ROWS) this.#table.rows.push([])
    else if ((name === 'table-cell' || name === 'covered-table-cell') && this.#table?.depth === 1) this.#table.rows.at(-1)?.push('')
    else this.text(spaceOf(name, attributes))
  }

  text (data: string): void {
    if (this.#silent > 0 || !this.#inBody || this.#inDate) return
    const aside = this.#asides.at(-1)
    const paragraph = this.#open.at(-1)
    if (aside !== undefined) aside[this.#inAuthor ? 'author' : 'text'] += data
    else if (paragraph !== undefined) paragraph.text += data
  }

  close (name: string): void {
    if (SILENT.has(name) && this.#inBody) this.#silent--
    if (this.#silent > 0 || !this.#inBody) return
    if (name === 'p' || name === 'h') this.#closeParagraph()
    else if (name === 'list') {
      this.#lists--
      if (this.#lists === 0) this.#builder.line('', this.line)
    } else if (name === 'list-item') this.#mark = undefined
    else if (name === 'note' || name === 'annotation') this.#closeAside()
    else if (name === 'creator') this.#inAuthor = false
    else if (name === 'date' || name === 'creator-initials') this.#inDate = false
    else if (name === 'table') this.#closeTable()
    else if (name === 'body') this.#inBody = false
  }

  #openParagraph (name: string, attributes: Readonly<Record<string, string>>): void {
    const style = attributes['style-name']
    const level = name === 'h' ? Number(attributes['outline-level'] ?? 1) || 1 : this.#styles.is(style, 'Title') ? 1 : undefined
    if (this.#asides.length > 0) return this.text(' ')
    // a box of text in a paragraph
    if (this.#open.length > 0 && this.#table === undefined) this.#flush()
    this.#open.push({ text: '', level })
  }

  #closeParagraph (): void {
    if (this.#asides.length > 0) return
    this.#flush()
    this.#open.pop()
  }

  /** Writes what the current paragraph has so far. */
  #flush (): void {
    const current = this.#open.at(-1)
    if (current === undefined) return
    const text = current.text.replace(/\s+/g, ' ').trim()
    current.text = ''
    const row = this.#table?.rows.at(-1)
    if (text !== '') {
      this.line++
      if (row !== undefined && row.length > 0) row[row.length - 1] = `${row.at(-1) ?? ''} ${text}`.trim()
      else if (current.level !== undefined) this.#builder.heading(Math.min(6, Math.max(1, current.level)), text, this.line)
      else {
        const mark = this.#lists > 0 ? this.#mark ?? '  '.repeat(Math.min(MAX_LEVELS, this.#lists)) : ''
        this.#builder.line(mark + text, this.line)
        if (this.#lists > 0) this.#mark = `${/^ */.exec(mark)?.[0] ?? ''}  `
        else this.#builder.line('', this.line)
      }
    }
    if (this.#table !== undefined) return
    for (const aside of this.#below.splice(0)) {
      this.#builder.line(aside, this.line)
      this.#builder.line('', this.line)
    }
  }

  #closeAside (): void {
    const aside = this.#asides.pop()
    const text = aside?.text.replace(/\s+/g, ' ').trim() ?? ''
    if (aside === undefined || text === '') return
    const author = aside.author.trim()
    this.#below.push(aside.kind === 'note' ? text : `Comment${author === '' ? '' : ` by ${author}`}: ${text}`)
  }

  #openTable (): void {
    if (this.#table !== undefined) this.#table.depth++
    else {
      this.#flush()
      this.#table = { rows: [], first: this.line + 1, depth: 1, hasTitles: false }
    }
  }

  #closeTable (): void {
    const table = this.#table
    if (table === undefined || --table.depth > 0) return
    this.#table = undefined
    const { rows, first } = table
    const [titles = []] = rows
    // as in HTML: short cells without a figure
    const hasTitles = table.hasTitles || (titles.length > 2 && titles.every(cell => cell !== '' && cell.length <= 40 && !/\p{N}/u.test(cell)))
    addTable(this.#builder, { rows, hasTitles }, Math.min(first, Math.max(1, this.line)), Math.max(1, this.line))
    this.#flush()
  }
}
