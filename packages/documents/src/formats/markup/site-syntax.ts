import { putBackCode, takeCode } from '../../text/plain-text.js'
import type { PassageBuilder } from '../../text/passages.js'

// The syntax that documentation sites and note books add to Markdown: Docusaurus, VitePress, MkDocs, Hugo, Jekyll,
// GitBook, Mintlify, Obsidian. What names a part (a tab, an admonition) is a heading, the rest is left out.

/** Headings of parts are below all headings of the text. */
const LEVEL = 7
/** Parts within parts. */
const MAX_PARTS = 8
/** A longer line, in characters, is text: the patterns take quadratic time. */
const MAX_LINE = 2_000
/** Lines of an import or export that goes on. */
const MAX_STATEMENT = 200

/** A part that is open: what ends it, and its heading, if any. */
interface Part { readonly end: 'colons' | 'indent' | 'quote' | string, readonly indent: number, readonly hasHeading: boolean }

const COLONS = /^\s*:{3,}\s*\{?\.?([A-Za-z][\w-]*)[^\S\n]*[^}[]*?\}?\s*(?:\[(.*?)\]|(.*?))\s*(?:\{[^{}]*\})?\s*$/
const COLONS_END = /^\s*:{3,}\s*$/
const INDENTED = /^(\s*)(?:!!!|\?\?\?\+?|===[!+]?)\s+(?:[\w -]*?)(?:"([^"]*)")?\s*$/
const CALLOUT = /^\s*>\s*\[!([\w-]+)(?:\|[^\]]*)?\][+-]?[^\S\n]+(\S.*)$/
const LIQUID = /\{%-?\s*(end)?(\w+)\s*([^%]*?)-?%\}/g
const SHORTCODE = /\{\{[<%]\s*(\/?)\s*([\w/-]+)\s*((?:[^<>%]|[<>%](?!\}\}))*?)\/?\s*[>%]\}\}/g
const ATTRIBUTE = /\b(?:label|title|name|header)\s*=\s*(?:"([^"]*)"|'([^']*)'|\{["'`]([^"'`]*)["'`]\})/
const COMPONENT = /^\s*<(\/?)([A-Z][\w.]*)\b([^<>]*?)(\/?)>\s*$/
/** Those of the themes that read Markdown as MDX whatever the name of the file. */
const COMPONENTS = new Set(`Tabs TabItem Tab Steps Step Card CardGroup Cards CardGrid LinkCard Accordion AccordionGroup CodeGroup CodeBlock Note Tip
Warning Info Check Callout Admonition Aside Expandable Frame Details FileTree`.split(/\s+/))
const TAB = /^(?:tab|tab-item|tabitem|step|card|accordion|expandable|details|content-ref|hint|admonition|callout|note|notice)$/i
/** Lines for the tools of a site. */
const FOR_TOOLS = /^\s*(?:\[TOC\]|\[\[toc\]\]|\{:toc\}|--8<--\s.*|<<<\s+@?\/\S.*|\{:\s*[^{}]*\}|\\newpage|\\pagebreak)\s*$/i
const WIKILINK = /(!?)\[\[(?!\s)([^[\]|#^\n]*)(?:[#^][^[\]|\n]*)?(?:\|([^[\]\n]*))?\]\](?!\()/g
const BLOCK_ID = /\s\^[A-Za-z0-9-]{2,40}\s*$/
const HIGHLIGHT = /==(?=\S)([^=\n]{1,200}?\S)==/g
const IMPORT = /^import\s+(?:[\w*{][^'"]*?\sfrom\s+)?['"][^'"]+['"]\s*;?\s*$/
const IMPORT_OPENS = /^import\s+(?:[\w$]+\s*,\s*)?\{[^}]*$/
const EXPORT = /^export\s+(?:const|let|default|function|async|\{|\*)/

/** With which such a line begins, in a document, and the marks within a line. Most documents have few of them. */
const BEGINS = /^[^\S\n]*(?::::|!!!|\?\?\?|===|>\s*\[!|<\/?[A-Z]|import\s|export\s|\[TOC\]|\[\[toc|\{:|--8<--|<<<|\\(?:newpage|pagebreak))/i
const FIRST: ReadonlySet<number> = new Set([...':!?=>< \tiIeE[{-\\'].map(character => character.charCodeAt(0)))
const BEGINS_ANY = new RegExp(BEGINS, 'im')
const MARKS = ['{%', '{{', '[[', '==', '%%', ' ^', '{/*']

/** Reads the lines of one document, in order. */
export class SiteSyntax {
  readonly #builder: PassageBuilder
  readonly #isMdx: boolean
  readonly #begins: boolean
  readonly #marks: readonly string[]
  readonly #isPlain: boolean
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_PARTS
  readonly #parts: Part[] = []
  #comment: '%%' | '*/}' | undefined
  /** Lines of a statement that are left, and the brackets that are open in it. */
  #statement = 0
  #depth = 0

  constructor (builder: PassageBuilder, text: string, isMdx: boolean) {
    this.#builder = builder
    this.#isMdx = isMdx
    this.#begins = BEGINS_ANY.test(text)
    this.#marks = MARKS.filter(mark => text.includes(mark))
    this.#isPlain = !this.#begins && this.#marks.length === 0
  }

  /** A line without the indentation of its part; ends the parts before it. Also for lines of code. */
  within (line: string): string {
    let rest = line
    for (let at = 0; at < this.#parts.length; at++) {
      const { end, indent } = this.#parts[at] as Part
      if (end === 'indent') {
        if (rest.trim() === '') return ''
        const spaces = /^[ \t]*/.exec(rest)?.[0].replaceAll('\t', '    ').length ?? 0
        if (spaces < indent) {
          this.#endParts(at)
          return rest
        }
        rest = rest.replaceAll('\t', '    ').slice(indent)
      } else if (end === 'quote') {
        if (!/^\s*>/.test(rest)) {
          this.#endParts(at)
          return rest
        }
        rest = rest.replace(/^\s*>[^\S\n]?/, '')
      }
    }
    return rest
  }

  /** The text of a line outside code; undefined where it is only syntax. */
  text (line: string, number: number): string | undefined {
    if (this.#statement > 0) return this.#inStatement(line)
    if (this.#comment !== undefined) {
      const end = line.indexOf(this.#comment)
      if (end === -1) return undefined
      const { length } = this.#comment
      this.#comment = undefined
      return this.text(line.slice(end + length), number)
    }
    if (line.length > MAX_LINE || !this.#hasSyntax(line)) return line
    if (FOR_TOOLS.test(line)) return undefined
    if (IMPORT.test(line)) return undefined
    if (IMPORT_OPENS.test(line) || (this.#isMdx && EXPORT.test(line))) {
      this.#statement = MAX_STATEMENT
      this.#depth = 0
      return this.#inStatement(line)
    }
    if (this.#opensPart(line, number)) return undefined
    return this.#inline(line, number)
  }

  #hasSyntax (line: string): boolean {
    if (this.#isPlain) return false
    if (this.#begins && FIRST.has(line.charCodeAt(0)) && BEGINS.test(line)) return true
    for (const mark of this.#marks) if (line.includes(mark)) return true
    return false
  }

  #opensPart (line: string, number: number): boolean {
    if (COLONS_END.test(line)) {
      const at = this.#parts.findLastIndex(({ end }) => end === 'colons')
      if (at === -1) return false
      this.#endParts(at)
      return true
    }
    const colons = COLONS.exec(line)
    if (colons !== null) {
      this.#begin('colons', 0, colons[2] ?? colons[3] ?? '', number)
      return true
    }
    const indented = INDENTED.exec(line)
    if (indented !== null && (indented[2] !== undefined || !line.trimStart().startsWith('==='))) {
      this.#begin('indent', (indented[1] as string).length + 4, indented[2] ?? '', number)
      return true
    }
    const callout = CALLOUT.exec(line)
    if (callout !== null) {
      this.#begin('quote', 0, callout[2] as string, number)
      return true
    }
    const [, slash, name, attributes = '', closed] = COMPONENT.exec(line) ?? []
    if (name === undefined || !(this.#isMdx || COMPONENTS.has(name))) return false
    if (slash === '/') {
      const at = this.#parts.findLastIndex(({ end }) => end === name)
      if (at !== -1) this.#endParts(at)
      return true
    }
    const title = titleIn(attributes)
    if (closed === '/') {
      if (title !== '') this.#builder.line(title, number)
      return true
    }
    this.#begin(name, 0, title, number)
    return true
  }

  /** Liquid, shortcodes, wiki links and comments within a line; not in its inline code. */
  #inline (line: string, number: number): string | undefined {
    const { text, code } = takeCode(line)
    let rest = text
    if (rest.includes('{%')) {
      rest = rest.replace(LIQUID, (_, end: string | undefined, name: string, attributes: string) => this.#tag(name, attributes, end !== undefined, number))
    }
    if (rest.includes('{{')) rest = rest.replace(SHORTCODE, (_, slash: string, name: string, attributes: string) => this.#tag(name, attributes, slash === '/', number))
    if (rest.includes('[[')) {
      rest = rest.replace(WIKILINK, (link, embed: string, page: string, label: string | undefined) => embed === '!' ? '' : (label ?? page) === '' || /^\d+$/.test(page) ? link : label ?? page)
    }
    rest = this.#withoutComments(rest, '%%', '%%')
    if (this.#isMdx) rest = this.#withoutComments(rest, '{/*', '*/}')
    rest = rest.replace(HIGHLIGHT, '$1').replace(BLOCK_ID, '')
    if (rest === text) return line
    return rest.trim() === '' ? undefined : putBackCode(rest, code)
  }

  #withoutComments (text: string, open: string, close: '%%' | '*/}'): string {
    let rest = text
    for (let from = rest.indexOf(open); from !== -1; from = rest.indexOf(open, from)) {
      const end = rest.indexOf(close, from + open.length)
      if (end === -1) {
        // a line such as "100 %% of it" opens none: what opens one is the first of its line
        if (rest.slice(0, from).trim() !== '') return rest
        this.#comment = close
        return rest.slice(0, from)
      }
      rest = rest.slice(0, from) + rest.slice(end + close.length)
    }
    return rest
  }

  /** A tag of Liquid or of Hugo: a tab or a note is a part with its title, others are left out. */
  #tag (name: string, attributes: string, isEnd: boolean, number: number): string {
    if (!TAB.test(name)) return ''
    const key = name.toLowerCase()
    const at = this.#parts.findLastIndex(({ end }) => end === key)
    if (isEnd) {
      if (at !== -1) this.#endParts(at)
    } else {
      this.#begin(key, 0, titleIn(attributes) || (/^\s*"([^"]*)"/.exec(attributes)?.[1] ?? ''), number)
    }
    return ''
  }

  #begin (end: Part['end'], indent: number, title: string, number: number): void {
    if (this.#parts.length >= MAX_PARTS) return
    const text = title.replaceAll(/[*_`]/g, '').trim()
    if (text !== '') this.#builder.heading(LEVEL + this.#parts.length, text, number)
    this.#parts.push({ end, indent, hasHeading: text !== '' })
  }

  #endParts (from: number): void {
    const ended = this.#parts.splice(from)
    if (ended.some(({ hasHeading }) => hasHeading)) this.#builder.endHeadings(LEVEL + from)
  }

  #inStatement (line: string): undefined {
    for (const character of line) {
      if (/[{([]/.test(character)) this.#depth++
      else if (/[})\]]/.test(character)) this.#depth--
    }
    this.#statement = this.#depth <= 0 ? 0 : this.#statement - 1
    return undefined
  }
}

function titleIn (attributes: string): string {
  const [, double, single, braces] = ATTRIBUTE.exec(attributes) ?? []
  return double ?? single ?? braces ?? ''
}
