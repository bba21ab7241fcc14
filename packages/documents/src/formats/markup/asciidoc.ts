import { addTable, type TableRow } from '../../text/markdown-table.js'
import { PassageBuilder, type Passage } from '../../text/passages.js'
import { MAX_MARKUP } from '../../text/plain-text.js'

const HEADING = /^(={1,6}|#{1,6})\s+(\S.*)$/
/** Delimiters of blocks, which are not text: example, sidebar, quote, open, pass. */
const DELIMITER = /^(?:={4,}|\*{4,}|_{4,}|--|\+{4,})\s*$/
const CODE = /^(?:-{4,}|\.{4,}|`{3,}.*)\s*$/
const TABLE = /^[|,:!]={3,}\s*$/
const COMMENT_BLOCK = /^\/{4,}\s*$/
const ATTRIBUTE = /^:!?[\w-]+!?:(?:\s.*)?$/
const MACRO = /^(?:include|image|video|audio|ifdef|ifndef|ifeval|endif|toc|xref)::\S*\[.*\]\s*$/
const BLOCK_ATTRIBUTES = /^\[(?:[^[\]]*|\[[^[\]]*\])\]\s*$/

/** AsciiDoc: titles, code, tables, lists and definitions; attributes, macros and comments are left out. */
export function splitAsciidoc (text: string): Passage[] {
  const builder = new PassageBuilder()
  const lines = text.split(/\r?\n/)
  let language = ''
  let title = ''
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] as string
    const number = at + 1
    const heading = HEADING.exec(line)
    if (COMMENT_BLOCK.test(line)) {
      at = endOf(lines, at)
    } else if (/^\/\/(?!\/)/.test(line) || ATTRIBUTE.test(line) || MACRO.test(line)) {
      continue
    } else if (heading !== null) {
      builder.heading((heading[1] as string).length, inline(heading[2] as string).replace(/\s+=+$/, ''), number)
      // the author and the revision of a document
      if (heading[1] === '=') while (/\S/.test(lines[at + 1] ?? '') && !ATTRIBUTE.test(lines[at + 1] as string) && !HEADING.test(lines[at + 1] as string)) builder.line(lines[++at] as string, at + 1)
    } else if (BLOCK_ATTRIBUTES.test(line)) {
      const [, style = ''] = /^\[(?:source|,)?,?\s*([\w+#-]*)/.exec(line) ?? []
      language = /^\[(?:source\b|,)/.test(line) ? style : ''
    } else if (/^\.[^\s.].*$/.test(line)) {
      title = inline(line.slice(1))
      builder.line(`${title}:`, number)
    } else if (TABLE.test(line)) {
      at = addAsciidocTable(builder, lines, at)
    } else if (CODE.test(line)) {
      const end = endOf(lines, at)
      builder.line(`\`\`\`${language || (/^`+(\w*)/.exec(line)?.[1] ?? '')}`, number)
      builder.code(true)
      for (let inside = at + 1; inside < end; inside++) builder.line(lines[inside] as string, inside + 1)
      builder.line('```', end)
      builder.code(false)
      builder.line('', end + 1)
      at = end
      language = ''
    } else if (!DELIMITER.test(line) && line.trim() !== '+' && line.trim() !== "'''" && line.trim() !== '<<<') {
      builder.line(listed(inline(line)), number)
    } else builder.line('', number)
  }
  return builder.finish()
}

/** The line that ends a block as it began, otherwise the last one. */
function endOf (lines: readonly string[], start: number): number {
  const open = (lines[start] as string).trimEnd().replace(/^(`{3,}).*$/, '$1')
  const end = lines.findIndex((line, index) => index > start && line.trimEnd() === open)
  return end === -1 ? lines.length : end
}

function addAsciidocTable (builder: PassageBuilder, lines: readonly string[], start: number): number {
  const end = endOf(lines, start)
  const mark = (lines[start] as string)[0] as string
  const attributes = lines[start - 1]?.startsWith('[') === true ? lines[start - 1] as string : ''
  const inside = lines.slice(start + 1, end)
  const separator = mark === '!' || mark === '|' ? new RegExp(`(?:^|\\s)(?:\\d+[.+*]*)?[<^>.a-z]{0,3}\\${mark}`) : mark === ':' ? /:/ : /,/
  const cells: Array<{ text: string, line: number }> = []
  const rows: TableRow[] = []
  const columns = Number(/cols="?(\d+)\*/.exec(attributes)?.[1] ?? 0) || (/cols="([^"]*)"/.exec(attributes)?.[1] ?? '').split(/[,;]/).filter(Boolean).length ||
    (inside.find(line => line.trim() !== '') ?? '').split(separator).slice(1).length
  for (const [index, line] of inside.entries()) {
    const parts = line.split(separator)
    if (mark === '|' || mark === '!') {
      const [before = '', ...rest] = parts
      const last = cells.at(-1)
      if (before.trim() !== '' && last !== undefined) last.text += ` ${before.trim()}`
      cells.push(...rest.map(text => ({ text: text.trim(), line: start + index + 2 })))
    } else if (line.trim() !== '') rows.push({ cells: parts.map(part => inline(part.trim())), line: start + index + 2 })
  }
  while (cells[0] !== undefined) {
    const { line } = cells[0]
    rows.push({ cells: cells.splice(0, Math.max(1, columns)).map(({ text }) => inline(text)), line })
  }
  const second = inside.findIndex(line => line.trim() !== '') + 1
  addTable(builder, rows, /header/.test(attributes) || (rows.length > 1 && inside[second]?.trim() === ''))
  return end
}

/** Marks of lists and definitions, as in Markdown. */
function listed (line: string): string {
  const item = /^\s*([*-]{1,5}|\.{1,5})\s+(?=\S)/.exec(line)
  if (item !== null) return `${'  '.repeat((item[1] as string).length - 1)}${line.trimStart().startsWith('.') ? '1.' : '-'} ${line.slice(item[0].length)}`
  const term = /^(\S.{0,100}?)(?:::{1,2}|;;)(?:\s+(.*))?$/.exec(line)
  return term === null || /https?$/.test(term[1] as string) ? line : term[2] === undefined ? `${term[1] as string}:` : `- ${term[1] as string}: ${term[2]}`
}

function inline (text: string): string {
  if (text.length > MAX_MARKUP) return text
  return text
    .replace(/<<[^<>,]+,\s*([^<>]+)>>/g, '$1')
    .replace(/<<([^<>]+)>>/g, '$1')
    .replace(/(?:link|xref|mailto|menu|btn|kbd|icon|footnote|image):(?!:)([^\s[\]]*)\[([^\]]*)\]/g, (_, target: string, label: string) => label || target)
    .replace(/(https?:[^\s[\]]+)\[([^\]]*)\]/g, (_, url: string, label: string) => label || url)
    .replace(/\[\[[^\]]*\]\]|\[#[\w-]+\](?=\S)|\(\(\([^)]*\)\)\)/g, '')
    .replace(/`\+(.+?)\+`/g, '`$1`')
    .replace(/\s\+$/, '')
}
