import { indentOf } from '../../text/block-lines.js'
import { addTable, type TableRow } from '../../text/markdown-table.js'
import { PassageBuilder, type Passage } from '../../text/passages.js'
import { MAX_MARKUP } from '../../text/plain-text.js'

const ADORNMENT = /^([!-/:-@[-`{-~])\1{1,}\s*$/
const DIRECTIVE = /^(\s*)\.\.\s+(?:\|[^|]+\|\s+)?([\w:+-]+)::\s*(.*)$/
const EXPLICIT = /^(\s*)\.\.(?:\s|$)/
const FIELD = /^\s*:([\w][\w .-]{0,60}):(?:\s+(.*))?$/
const CODE = /^(?:code|code-block|sourcecode|highlight|literalinclude|parsed-literal|doctest|testcode|prompt|math|jupyter-execute)$/
/** Directives whose content is for the tools of a site. */
const FOR_TOOLS = /^(?:toctree|image|contents|include|index|raw|highlight|meta|automodule|autoclass|autofunction|currentmodule|module|default-role|role|replace|sectnum|tabularcolumns|only)$/
const SIMPLE_RULE = /^\s*={2,}(?:\s+={2,})+\s*$/
const GRID_RULE = /^\s*\+(?:[-=]+\+)+\s*$/

/** reStructuredText: titles by their adornments, blocks of code, directives by what they say, tables, fields. */
export function splitRst (text: string): Passage[] {
  const builder = new PassageBuilder()
  const lines = text.split(/\r?\n/)
  // @keyed none: adornments of one document: at most two for each mark of ASCII
  const styles: string[] = []
  const levelOf = (style: string): number => {
    if (!styles.includes(style)) styles.push(style)
    return Math.min(6, styles.indexOf(style) + 1)
  }
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] as string
    const [next = '', third = ''] = lines.slice(at + 1, at + 3)
    if (SIMPLE_RULE.test(line) || GRID_RULE.test(line)) {
      at = addRstTable(builder, lines, at) - 1
    } else if (ADORNMENT.test(line) && next.trim() !== '' && third.trimEnd() === line.trimEnd()) {
      builder.heading(levelOf(`${line[0] as string} above`), inline(next.trim()), at + 2)
      at += 2
    } else if (line.trim() !== '' && indentOf(line) === 0 && ADORNMENT.test(next) && next.trim().length >= Math.min(line.trim().length, 3) && !ADORNMENT.test(line) && (at === 0 || (lines[at - 1] as string).trim() === '')) {
      builder.heading(levelOf(next[0] as string), inline(line.trim()), at + 1)
      at++
    } else if (EXPLICIT.test(line)) {
      at = addDirective(builder, lines, at) - 1
    } else if (FIELD.test(line)) {
      const [, name = '', value = ''] = FIELD.exec(line) as RegExpExecArray
      builder.line(value === '' ? '' : `${name}: ${inline(value)}`, at + 1)
    } else if (!ADORNMENT.test(line)) {
      const isLiteral = /::\s*$/.test(line)
      builder.line(inline(line.replace(/(\s)?::\s*$/, (_, space: string | undefined) => space === undefined ? ':' : '')), at + 1)
      if (isLiteral) at = addCode(builder, lines, at + 1, indentOf(line), '') - 1
    }
  }
  return builder.finish()
}

/** The index after a block with more indentation than `indent`. */
function endOfBlock (lines: readonly string[], start: number, indent: number): number {
  let end = start
  while (end < lines.length && ((lines[end] as string).trim() === '' || indentOf(lines[end] as string) > indent)) end++
  return end
}

function addCode (builder: PassageBuilder, lines: readonly string[], start: number, indent: number, language: string): number {
  const end = endOfBlock(lines, start, indent)
  const code = lines.slice(start, end).map((text, index) => ({ text, line: start + index + 1 }))
  while (code[0] !== undefined && (code[0].text.trim() === '' || /^\s*:[\w-]+:/.test(code[0].text))) code.shift()
  while (code.at(-1)?.text.trim() === '') code.pop()
  const [first] = code
  if (first === undefined) return end
  const margin = Math.min(...code.filter(({ text }) => text.trim() !== '').map(({ text }) => indentOf(text)))
  builder.line(`\`\`\`${language}`, first.line)
  builder.code(true)
  for (const { text, line } of code) builder.line(text.slice(margin), line)
  builder.line('```', (code.at(-1) as typeof first).line)
  builder.code(false)
  builder.line('', end)
  return end
}

/** A directive, a comment or a target: notes are text, code is code, an admonition with a title has it as heading. */
function addDirective (builder: PassageBuilder, lines: readonly string[], start: number): number {
  const line = lines[start] as string
  const indent = indentOf(line)
  const [, , name = '', argument = ''] = DIRECTIVE.exec(line) ?? []
  const end = endOfBlock(lines, start + 1, indent)
  if (name === '' || FOR_TOOLS.test(name)) return end
  if (CODE.test(name)) return addCode(builder, lines, start + 1, indent, name === 'math' ? '' : argument.trim())
  const isTitled = /^(?:admonition|topic|sidebar|tab|tab-item|rubric|dropdown|card|group-tab)$/.test(name)
  if (isTitled) builder.heading(7, inline(argument), start + 1)
  else if (argument.trim() !== '' && !/^(?:figure|image|csv-table|list-table|table)$/.test(name)) builder.line(inline(argument.trim()), start + 1)
  const body = lines.slice(start + 1, end).map(text => FIELD.test(text) && !isTitled ? '' : text)
  const margin = Math.min(...body.filter(text => text.trim() !== '').map(indentOf))
  // nested directives are read as such
  for (let at = 0; at < body.length; at++) {
    const text = (body[at] as string).slice(Number.isFinite(margin) ? margin : 0)
    builder.line(DIRECTIVE.test(text) ? inline((DIRECTIVE.exec(text) as RegExpExecArray)[3] as string) : inline(text.replace(/::\s*$/, ':')), start + at + 2)
  }
  if (isTitled) builder.endHeadings(7)
  builder.line('', end)
  return end
}

/** A simple or a grid table; returns the index after it. */
function addRstTable (builder: PassageBuilder, lines: readonly string[], start: number): number {
  const rows: TableRow[] = []
  const isGrid = GRID_RULE.test(lines[start] as string)
  const rule = lines[start] as string
  const columns = Array.from(rule.matchAll(/=+/g), ({ index }) => index)
  let hasTitles = false
  let rules = 0
  let at = start
  for (; at < lines.length && (lines[at] as string).trim() !== ''; at++) {
    const line = lines[at] as string
    if (isGrid ? GRID_RULE.test(line) : SIMPLE_RULE.test(line)) {
      rules++
      if (rows.length > 0 && (isGrid ? line.includes('=') : rules === 2) && (isGrid || lines.slice(at + 1).findIndex(one => SIMPLE_RULE.test(one)) !== -1)) hasTitles = true
      if (!isGrid && rules === (hasTitles ? 3 : 2) && rows.length > 0 && !hasTitles) { at++; break }
      continue
    }
    const cells = isGrid
      ? line.trim().replace(/^\||\|$/g, '').split('|').map(cell => inline(cell.trim()))
      : columns.map((column, index) => inline(line.slice(column, columns[index + 1] ?? undefined).trim()))
    const above = rows.at(-1)
    // a row of several lines has its first cell in the first one
    if (above !== undefined && cells[0] === '' && (!isGrid || !GRID_RULE.test(lines[at - 1] as string))) {
      rows[rows.length - 1] = { line: above.line, cells: above.cells.map((cell, index) => `${cell} ${cells[index] ?? ''}`.trim()) }
    } else rows.push({ cells, line: at + 1 })
  }
  addTable(builder, rows, hasTitles)
  return at
}

/** Text without roles, targets and substitutions. */
function inline (text: string): string {
  if (text.length > MAX_MARKUP) return text
  return text
    .replace(/``(.+?)``/g, '`$1`')
    .replace(/:[\w:+.-]+:`([^`<]+?)\s*<[^`>]*>`/g, '$1')
    .replace(/:(?:ref|doc|term|numref|abbr|index|any):`~?!?([^`]+)`/g, '$1')
    .replace(/:[\w:+.-]+:`~?!?([^`]+)`/g, '`$1`')
    .replace(/`([^`<]+?)\s*<[^`>]*>`__?/g, '$1')
    .replace(/`([^`]+)`__?/g, '$1')
    .replace(/(?<=[\p{L}\p{N}])_(?=[\s.,;:)]|$)/gu, '')
    .replace(/\[(?:#[\w-]*|\*|\d+)\]_/g, '')
    .replace(/^(\s*)#\.\s/, '$11. ')
    .replace(/^(\s*)\|\s(?=\S)/, '$1')
}
