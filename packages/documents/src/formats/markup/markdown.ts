import { readFrontMatter } from './front-matter.js'
import { addHtml, HTML_TAGS } from './html.js'
import { SiteSyntax } from './site-syntax.js'
import { ENTITIES, ENTITY } from '../../text/entities.js'
import { putBackCode, takeCode } from '../../text/plain-text.js'
import { MAX_HEADING_CHARS, PassageBuilder, type Passage } from '../../text/passages.js'

const FENCE = /^(?:\s|[-*+] |\d+[.)] |>)*(`{3,}|~{3,})([^]*)$/
const ATX_OPENING = /^ {0,3}(#{1,6})(?=[ \t]|$)/
const SETEXT_UNDERLINE = /^ {0,3}(={2,}|-{3,})[ \t]*$/
const NOT_SETEXT_TEXT = /^\s*(?:[-*+>|] ?|\d+[.)] |#)|\|/
const HTML_HEADING = /^\s*<h([1-6])\b[^>]*>(.*?)<\/h\1>\s*$/i
const TAG = /<\/?([A-Za-z][\w.-]*)(?:\s[^<>]*|\/)?>/g
const OPEN_TAG_AT_END = /<([A-Za-z][\w.-]*)(?:\s[^<>]*)?$/

const TABLE_OPENING = /^\s*<table[\s>]/i
const TABLE_TAG = /<(\/?)table\b/gi
/** Markdown inside a table, which the reader of HTML would take for text. */
const BLOCK_OF_MARKDOWN = /^\s*(?:[-*+] |#{1,6} |`{3}|~{3}|\|)/
/** A table of HTML with more lines is read as text. */
const MAX_TABLE_LINES = 2_000

/** The construct that is still open at the end of a line. */
type Inside = 'comment' | 'tag' | undefined

/** What `plainHeading` changes, or the beginning of it. */
const HEADING_MARKUP = /[<[{*_`\\&]|[^\S ]| {2}/

/** Splits Markdown, or MDX, into passages. Comments and tags are left out; code is kept unchanged. */
export function splitMarkdown (text: string, mdx = false): Passage[] {
  const lines = text.split(text.includes('\r') ? /\r?\n/ : '\n')
  const builder = new PassageBuilder()
  const site = new SiteSyntax(builder, text, mdx)
  let fence: string | undefined
  let inside: Inside
  let mayHaveTables = true
  for (let index = addFrontMatter(builder, lines); index < lines.length; index++) {
    let line = site.within(lines[index] as string)
    const number = index + 1
    if (fence !== undefined) {
      builder.line(line, number)
      const close = FENCE.exec(line)
      if (close !== null && (close[1] as string).startsWith(fence) && (close[2] as string).trim() === '') {
        fence = undefined
        builder.code(false)
      }
      continue
    }
    if (inside === undefined) {
      const open = line.includes('```') || line.includes('~~~') ? FENCE.exec(line) : null
      if (open !== null && !((open[1] as string)[0] === '`' && (open[2] as string).includes('`'))) {
        fence = open[1] as string
        const info = open[2] as string
        // the rest of an info string, after the language, is for tools
        builder.line(line.slice(0, line.length - info.length) + (/^\s*\S*/.exec(info) as RegExpExecArray)[0], number)
        builder.code(true)
        continue
      }
      const text = site.text(line, number)
      if (text === undefined) {
        builder.line('', number)
        continue
      }
      line = text
      const heading = headingAt(lines, index, line)
      if (heading !== undefined) {
        builder.heading(heading.level, plainHeading(heading.text, mdx), number)
        index += heading.lines - 1
        continue
      }
      if (!line.includes('<')) {
        builder.line(line, number)
        continue
      }
    }
    if (inside === undefined && mayHaveTables && TABLE_OPENING.test(line)) {
      const end = endOfTable(lines, index)
      if (end !== undefined) {
        addHtml(builder, lines.slice(index, end + 1).join('\n'), number)
        index = end
        continue
      }
      // a document with only openings would be read as often as it has them
      mayHaveTables = false
    }
    const stripped = stripTags(line, inside, mdx)
    inside = stripped.inside
    builder.line(stripped.text, number)
  }
  return builder.finish()
}

/** The line with the end of a table of HTML; undefined where it has none, or Markdown inside. */
function endOfTable (lines: readonly string[], start: number): number | undefined {
  let depth = 0
  for (let index = start; index < Math.min(lines.length, start + MAX_TABLE_LINES); index++) {
    const line = lines[index] as string
    if (BLOCK_OF_MARKDOWN.test(line)) return undefined
    for (const [, slash] of line.matchAll(TABLE_TAG)) depth += slash === '' ? 1 : -1
    if (depth <= 0) return index
  }
  return undefined
}

/** Adds the front matter, its title as heading 1; returns the index of the first line of the text. */
function addFrontMatter (builder: PassageBuilder, lines: readonly string[]): number {
  const matter = readFrontMatter(lines)
  if (matter === undefined) return 0
  const { title, description, fields, end } = matter
  const text = [...description === undefined ? [] : [{ line: description.line, text: description.value }],
    ...fields.map(({ name, value, line }) => ({ line, text: `${name}: ${value}` }))]
  // a heading of the text that is the same follows
  const isRepeated = title !== undefined && lines.slice(end).some(line => ATX_OPENING.test(line) && atxHeading(line)?.level === 1 && atxHeading(line)?.text.trim() === title.value)
  if (title !== undefined && (!isRepeated || text.length > 0)) builder.heading(1, title.value, title.line)
  for (const { text: content, line } of text) {
    builder.line(content, line)
    // a description is a paragraph, and the fields are a list
    if (line === description?.line) builder.line('', line)
  }
  builder.line('', end)
  return end
}

function headingAt (lines: readonly string[], index: number, line: string): { level: number, text: string, lines: number } | undefined {
  const first = firstOf(line)
  if (first === '#') {
    const atx = atxHeading(line)
    if (atx !== undefined) return { ...atx, lines: 1 }
  }
  if (first === '<') {
    const html = HTML_HEADING.exec(line)
    if (html !== null) return { level: Number(html[1]), text: html[2] as string, lines: 1 }
  }
  const next = lines[index + 1]
  if (first === undefined || next === undefined) return undefined
  const under = firstOf(next)
  if (under !== '=' && under !== '-') return undefined
  const underline = SETEXT_UNDERLINE.exec(next)
  // only a paragraph of one line: below a longer one `---` is usually a rule without its blank line
  if (underline === null || NOT_SETEXT_TEXT.test(line) || /^ {4}|^\t/.test(line)) return undefined
  if (index > 0 && (lines[index - 1] as string).trim() !== '' && !ATX_OPENING.test(lines[index - 1] as string)) return undefined
  return { level: (underline[1] as string)[0] === '=' ? 1 : 2, text: line.trim(), lines: 2 }
}

/** The first character that is not white space. Most lines begin with it. */
function firstOf (line: string): string | undefined {
  const code = line.charCodeAt(0)
  return code > 0x20 && code < 0x7f ? line[0] : line.trimStart()[0]
}

function atxHeading (line: string): { level: number, text: string } | undefined {
  const opening = ATX_OPENING.exec(line)
  if (opening === null) return undefined
  const text = line.slice(opening[0].length).trim()
  let end = text.length
  while (text[end - 1] === '#') end--
  const closed = end === 0 || text[end - 1] === ' ' || text[end - 1] === '\t'
  return { level: (opening[1] as string).length, text: closed ? text.slice(0, end) : text }
}

/** A heading without tags, links, emphasis, anchors and code marks. */
function plainHeading (text: string, mdx: boolean): string {
  // a mistake, which is kept unchanged: the patterns below take quadratic time
  if (text.length > MAX_HEADING_CHARS) return text
  if (!HEADING_MARKUP.test(text)) return text.trim()
  return stripTags(text, undefined, mdx).text
    .replace(/\s+/g, ' ')
    .replace(/!\[[^[\]]*\](?:\((?:[^()]|\([^()]*\))*\)|\[[^[\]]*\])/g, '')
    .replace(/\[([^[\]]*)\](?:\((?:[^()]|\([^()]*\))*\)|\[[^[\]]*\])/g, '$1')
    .replace(/\{#[\w-]+\} ?$/, '')
    .replace(/(\*\*|__|`)(.+?)\1/g, '$2')
    .replace(/\\([\\`*_{}[\]()#+.!<>-])/g, '$1')
    .replace(ENTITY, (_, name: string) => ENTITIES[name] as string)
    .replace(/\s+/g, ' ')
    .trim()
}

/** Removes tags and comments from a line, except in inline code; `Promise<string>` is not a tag. */
function stripTags (line: string, inside: Inside, mdx: boolean): { text: string, inside: Inside } {
  let rest = line
  if (inside !== undefined) {
    const end = rest.indexOf(inside === 'comment' ? '-->' : '>')
    if (end === -1) return { text: '', inside }
    rest = rest.slice(end + (inside === 'comment' ? 3 : 1))
  }
  const { text, code } = takeCode(rest)
  rest = ''
  let open: Inside
  let from = 0
  for (let comment = text.indexOf('<!--'); comment !== -1; comment = text.indexOf('<!--', from)) {
    rest += text.slice(from, comment)
    const end = text.indexOf('-->', comment + 4)
    from = end === -1 ? text.length : end + 3
    if (end === -1) open = 'comment'
  }
  rest += text.slice(from)
  const isTag = (name: string): boolean => HTML_TAGS.has(name.toLowerCase()) || (mdx && /^[A-Z]/.test(name))
  rest = rest.replace(TAG, (tag, name: string) => isTag(name) ? (/^(?:br|td|th|li)$/i.test(name) ? ' ' : '') : tag)
  const unclosed = OPEN_TAG_AT_END.exec(rest)
  if (open === undefined && unclosed !== null && isTag(unclosed[1] as string)) {
    rest = rest.slice(0, unclosed.index)
    open = 'tag'
  }
  return { text: putBackCode(rest, code), inside: open }
}
