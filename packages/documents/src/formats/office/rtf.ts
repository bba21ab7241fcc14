import { CHARSETS, decodeBytes, SHOWN, SILENT_GROUPS, SYMBOLS } from './rtf-codes.js'
import { tokensOf, type Token } from './rtf-tokens.js'
import { isPageText } from './page-text.js'
import { PassageBuilder } from '../../text/passages.js'
import { addTable } from '../../text/table-lines.js'
import type { SplitFile } from '../format.js'

/** Groups that are open at the same time. */
const MAX_RTF_DEPTH = 1_000
/** Fonts and styles that are read. */
const MAX_DEFINITIONS = 10_000
/** Bytes that are decoded together: characters of East Asia have two. */
const MAX_RUN = 65_536
/** Rows of one table that are read. */
const MAX_TABLE_ROWS = 20_000
/** Longest text of all page headers and footers, in characters. */
const MAX_PAGE_TEXT = 3_000

/** The paragraphs of an RTF file. Its numbers count the paragraphs. @throws an error where it is not one */
export async function splitRtf (bytes: Uint8Array): Promise<SplitFile> {
  const reader = new RtfReader()
  if (!Buffer.from(bytes.subarray(0, 64)).toString('latin1').replace(/^(?:\xef\xbb\xbf)?\s*/, '').startsWith('{\\rtf')) throw new Error('it is not RTF')
  for (const token of tokensOf(bytes)) reader.take(token)
  return { passages: reader.finish() }
}

/** Where text goes: to paragraphs, or to a part of the file that is written elsewhere. */
type Target = 'body' | 'header' | 'footer' | 'note' | 'comment' | 'author' | 'style' | 'silent'

/** What a group inherits. */
interface State { target: Target, hidden: boolean, codePage: number, font: number, skip: number, isFontTable: boolean }

class RtfReader {
  readonly #builder = new PassageBuilder()
  // @keyed none: they live for the conversion of one document of the configuration; MAX_RTF_DEPTH, MAX_DEFINITIONS
  readonly #stack: State[] = []
  // @keyed none: it lives for the conversion of one document of the configuration; MAX_DEFINITIONS, MAX_RTF_DEPTH
  readonly #fonts = new Map<number, number>()
  // @keyed none: it lives for the conversion of one document of the configuration; MAX_DEFINITIONS, MAX_RTF_DEPTH
  readonly #levels = new Map<number, number>()
  #state: State = { target: 'body', hidden: false, codePage: 1252, font: -1, skip: 1, isFontTable: false }
  #documentPage = 1252
  /** The group has begun, and no word of it was read. */
  #isNew = false
  #isStarred = false
  // @keyed none: it lives for the conversion of one document of the configuration; MAX_DEFINITIONS, MAX_RTF_DEPTH
  #bytes: number[] = []
  /** Characters for older programs that follow a character of Unicode. */
  #toSkip = 0
  #text = ''
  #level: number | undefined
  #isItem = false
  #inTable = false
  #line = 0
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_TABLE_ROWS
  #rows: string[][] = []
  // @keyed none: they live for the conversion of one document of a folder of the configuration
  #row: string[] = []
  #apart: Record<'header' | 'footer' | 'note' | 'comment' | 'author' | 'style', string> = { header: '', footer: '', note: '', comment: '', author: '', style: '' }
  #style: { number: number, level: number | undefined } | undefined
  // @keyed none: it lives for the conversion of one document of a folder of the configuration
  #below: string[] = []
  readonly #pages = { header: new Set<string>(), footer: new Set<string>() }

  take (token: Token): void {
    if (token.kind === 'byte') {
      if (this.#toSkip > 0) this.#toSkip--
      else if (this.#state.target !== 'silent' && !this.#state.hidden && this.#bytes.push(token.byte) >= MAX_RUN) this.#decode()
      this.#isNew = false
      return
    }
    this.#decode()
    if (token.kind === 'open') this.#open()
    else if (token.kind === 'close') this.#close()
    else if (token.kind === 'symbol') this.#symbol(token.symbol)
    else this.#word(token.word, token.value)
  }

  finish (): ReturnType<PassageBuilder['finish']> {
    this.#decode()
    this.#endParagraph()
    this.#endTable()
    const builder = new PassageBuilder()
    for (const text of this.#pages.header) builder.line(`- ${text}`, 1)
    const after = new PassageBuilder()
    for (const text of this.#pages.footer) after.line(`- ${text}`, Math.max(1, this.#line))
    return [...builder.finish(), ...this.#builder.finish(), ...after.finish()]
  }

  #open (): void {
    if (this.#stack.length >= MAX_RTF_DEPTH) throw new Error(`its groups are nested more than ${MAX_RTF_DEPTH} levels deep`)
    this.#stack.push({ ...this.#state })
    this.#isNew = true
    this.#isStarred = false
    this.#toSkip = 0
  }

  #close (): void {
    const { target } = this.#state
    const outer = this.#stack.pop()
    this.#isNew = false
    this.#toSkip = 0
    if (outer === undefined) return
    this.#state = outer
    if (target !== outer.target) this.#endTarget(target)
    else if (target === 'style') this.#endStyle()
  }

  #symbol (symbol: string): void {
    if (symbol === '*') {
      this.#isStarred = this.#isNew
      return
    }
    this.#isNew = false
    if (symbol === '~') this.#write(' ')
    else if (symbol === '_') this.#write('-')
    else if (symbol === '{' || symbol === '}' || symbol === '\\') this.#write(symbol)
    else if (symbol === '\n' || symbol === '\r') this.#endParagraph()
  }

  #word (word: string, value: number | undefined): void {
    const begins = this.#isNew
    this.#isNew = false
    if (begins && this.#begin(word)) return
    if (this.#state.isFontTable) {
      if (word === 'f') this.#state.font = value ?? 0
      else if (word === 'fcharset' && this.#fonts.size < MAX_DEFINITIONS) this.#fonts.set(this.#state.font, CHARSETS[value ?? 0] ?? this.#documentPage)
      return
    }
    if (word === 'ansicpg' && value !== undefined) this.#documentPage = this.#state.codePage = value
    else if (word === 'mac') this.#documentPage = this.#state.codePage = 10000
    else if (word === 'f') this.#state.codePage = this.#fonts.get(value ?? 0) ?? this.#documentPage
    else if (word === 'uc') this.#state.skip = Math.min(20, Math.max(0, value ?? 1))
    else if (word === 'u' && value !== undefined) {
      this.#write(String.fromCharCode(value < 0 ? value + 0x10000 : value & 0xffff))
      this.#toSkip = this.#state.skip
    } else if (word === 'v' || word === 'deleted') this.#state.hidden = value !== 0
    else if (word === 'plain') [this.#state.hidden, this.#state.codePage] = [false, this.#documentPage]
    else if (Object.hasOwn(SYMBOLS, word)) this.#write(SYMBOLS[word] as string)
    else this.#layout(word, value)
  }

  /** The first word of a group may name its target. Returns whether it is used up. */
  #begin (word: string): boolean {
    const state = this.#state
    if (state.target === 'silent') return false
    if (word === 'fonttbl') [state.target, state.isFontTable] = ['silent', true]
    else if (word === 'stylesheet') state.target = 'style'
    else if (/^header[lrf]?$/.test(word)) state.target = 'header'
    else if (/^footer[lrf]?$/.test(word)) state.target = 'footer'
    else if (word === 'footnote') state.target = 'note'
    else if (word === 'annotation') state.target = 'comment'
    else if (word === 'atnauthor') state.target = 'author'
    else if (word === 'listtext') [state.target, this.#isItem] = ['silent', true]
    else if (SILENT_GROUPS.has(word) || (this.#isStarred && !SHOWN.has(word) && state.target !== 'style')) {
      if (word === 'pntext') this.#isItem = true
      state.target = 'silent'
    } else return false
    return true
  }

  #layout (word: string, value = 0): void {
    const { target } = this.#state
    if (target === 'style') {
      if (word === 's') this.#style = { number: value, level: undefined }
      else if (word === 'outlinelevel' && this.#style !== undefined) this.#style.level = value + 1
      return
    }
    if (target !== 'body') {
      if (word === 'par') this.#write('\n')
      return
    }
    if (word === 'par' || word === 'sect' || word === 'page') this.#endParagraph()
    else if (word === 'pard') [this.#level, this.#inTable] = [undefined, false]
    else if (word === 's') this.#level = this.#levels.get(value)
    else if (word === 'outlinelevel') this.#level = value < 9 ? value + 1 : undefined
    else if (word === 'intbl') this.#inTable = true
    else if (word === 'cell' || word === 'nestcell') {
      this.#row.push(this.#text.replace(/\s+/g, ' ').trim())
      this.#text = ''
    } else if (word === 'row' || word === 'nestrow') {
      if (this.#rows.length < MAX_TABLE_ROWS) this.#rows.push(this.#row)
      this.#line++
      this.#row = []
      this.#isItem = false
    }
  }

  #decode (): void {
    if (this.#bytes.length === 0) return
    this.#write(decodeBytes(this.#bytes, this.#state.codePage))
    this.#bytes = []
  }

  #write (text: string): void {
    const { target, hidden } = this.#state
    if (target === 'silent' || hidden) return
    if (target === 'body') this.#text += text
    else if (this.#apart[target].length < MAX_PAGE_TEXT * 10) this.#apart[target] += text
  }

  #endStyle (): void {
    const name = this.#apart.style.replace(/;\s*$/, '').trim()
    this.#apart.style = ''
    const style = this.#style
    this.#style = undefined
    if (style === undefined || this.#levels.size >= MAX_DEFINITIONS) return
    const level = style.level ?? (/^title$/i.test(name) ? 1 : Number(/^heading (\d)$/i.exec(name)?.[1] ?? 0))
    if (level > 0 && level < 10) this.#levels.set(style.number, Math.min(6, level))
  }

  #endTarget (target: Target): void {
    if (target === 'silent' || target === 'body' || target === 'style') return
    if (target === 'author') return
    const text = this.#apart[target]
    this.#apart[target] = ''
    if (target === 'header' || target === 'footer') {
      const lines = text.slice(0, MAX_PAGE_TEXT).split('\n').map(line => line.replace(/\s+/g, ' ').trim())
      for (const line of lines) if (isPageText(line) && this.#pages[target].size < 100) this.#pages[target].add(line)
      return
    }
    const shown = text.replace(/\s+/g, ' ').trim()
    const author = this.#apart.author.trim()
    this.#apart.author = ''
    if (shown !== '') this.#below.push(target === 'note' ? shown : `Comment${author === '' ? '' : ` by ${author}`}: ${shown}`)
  }

  #endParagraph (): void {
    // a paragraph in a cell
    if (this.#inTable) {
      this.#text += ' '
      return
    }
    const text = this.#text.replace(/\s+/g, ' ').trim()
    this.#text = ''
    this.#endTable()
    if (text !== '') {
      this.#line++
      if (this.#level !== undefined) this.#builder.heading(this.#level, text, this.#line)
      else {
        this.#builder.line(`${this.#isItem ? '- ' : ''}${text}`, this.#line)
        if (!this.#isItem) this.#builder.line('', this.#line)
      }
    } else this.#builder.line('', Math.max(1, this.#line))
    this.#isItem = false
    for (const aside of this.#below.splice(0)) {
      this.#builder.line(aside, Math.max(1, this.#line))
      this.#builder.line('', Math.max(1, this.#line))
    }
  }

  #endTable (): void {
    const rows = this.#rows
    if (rows.length === 0) return
    this.#rows = []
    const [titles = []] = rows
    const hasTitles = titles.length > 2 && titles.every(cell => cell !== '' && cell.length <= 40 && !/\p{N}/u.test(cell))
    addTable(this.#builder, { rows, hasTitles }, Math.max(1, this.#line - rows.length + 1), Math.max(1, this.#line))
  }
}
