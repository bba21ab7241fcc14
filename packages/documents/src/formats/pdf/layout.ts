// How the lines of a page become paragraphs, lists of lines and tables.
import { leftOf, rightOf, textOf, type Line } from './lines.js'
import type { Hyphens } from '../../text/hyphens.js'
import type { PassageBuilder } from '../../text/passages.js'
import { addTable } from '../../text/table-lines.js'

/** A pitch of lines larger than the usual one by this factor begins a block, and so do letters of another size. */
const BLOCK_PITCH = 1.35
const BLOCK_SIZE = 1.15
/** The part of the lines of a paragraph that begin with a small letter. */
const MIN_CONTINUED = 0.3
/** The part of its width that each line of a paragraph fills, and its characters. */
const FULL_LINE = 0.8
const MIN_FULL_CHARS = 30

const BULLET = /^[•▪◦‣●○■□–—·*\uf0b7\uf0a7]\s+/u
/** A number or bullet before a heading or an item, in a separate cell. */
const NUMBER = /^(?:[\p{N}.()]{1,8}|[A-Za-z][.)]|[•▪◦‣●○■□–—·*\uf0b7\uf0a7])$/u
const ENDS = /[.!?:;…。！？]["'”’)\]]*$/

/** A heading of the outline, and where it stands on the page. */
export interface Heading { readonly level: number, readonly title: string, readonly y: number | undefined }

/** Adds the lines of a page. A heading is added at its line, or where its place is. */
export function addPage (builder: PassageBuilder, lines: readonly Line[], page: number, headings: readonly Heading[], hyphens: Hyphens): void {
  const pending = [...headings]
  let block: Line[] = []
  const pitch = pitchOf(lines)
  const texts = new Set(lines.map(line => bare(textOf(line))))
  // the whole page is the place
  while (pending[0] !== undefined && pending[0].y === undefined && !texts.has(bare(pending[0].title))) {
    const { level, title } = pending.shift() as Heading
    builder.heading(level, title, page)
  }
  const flush = (): void => {
    if (block.length > 0) addBlock(builder, block, page, hyphens)
    block = []
  }
  for (const [index, line] of lines.entries()) {
    const found = headingAt(pending, line)
    if (found !== undefined) {
      flush()
      for (const { level, title } of pending.splice(0, found.count)) builder.heading(level, title, page)
      if (found.isLine) continue
    }
    const previous = block.at(-1)
    if (previous !== undefined && beginsBlock(previous, line, pitch)) {
      flush()
      if (index > 0) builder.line('', page)
    }
    block.push(line)
  }
  flush()
  for (const { level, title } of pending) builder.heading(level, title, page)
}

/** How many of the headings stand at a line, and whether the last one is that line. */
function headingAt (pending: readonly Heading[], line: Line): { count: number, isLine: boolean } | undefined {
  if (pending.length === 0) return undefined
  const text = bare(textOf(line))
  const at = pending.slice(0, 3).findIndex(({ title }) => bare(title) === text)
  if (at !== -1) return { count: at + 1, isLine: true }
  // the title is on several lines, or an image
  const passed = pending.findIndex(({ y }) => y === undefined || y + line.height / 2 < line.y)
  const count = passed === -1 ? pending.length : passed
  return count > 0 && pending.slice(0, count).every(({ y }) => y !== undefined && y - 2.5 * line.height > line.y) ? { count, isLine: false } : undefined
}

/** A title without its number, and without what fonts and outlines write in different ways. */
function bare (title: string): string {
  return title.replace(/^[\p{N}.]+\s+/u, '').normalize('NFKC').replace(/[^\p{L}\p{N}]+/gu, '').toLowerCase()
}

/** The usual distance of two lines. */
function pitchOf (lines: readonly Line[]): number {
  const all = lines.slice(1).map((line, at) => (lines[at] as Line).y - line.y).filter(one => one > 0).sort((a, b) => a - b)
  return all[Math.floor(all.length / 2)] ?? 0
}

function beginsBlock (previous: Line, line: Line, pitch: number): boolean {
  const down = previous.y - line.y
  const sizes = [previous.height, line.height].sort((a, b) => a - b) as [number, number]
  if (sizes[1] > sizes[0] * BLOCK_SIZE) return true
  // the next column, or page: a sentence may go on
  if (down <= 0) return ENDS.test(textOf(previous)) || !/^\p{Ll}/u.test(textOf(line))
  return down > pitch * BLOCK_PITCH && down > sizes[1] * 1.2
}

function addBlock (builder: PassageBuilder, lines: readonly Line[], page: number, hyphens: Hyphens): void {
  if (isProse(lines)) {
    addLines(builder, lines.map(textOf), page, hyphens)
    return
  }
  for (let at = 0; at < lines.length;) {
    const rows = tableAt(lines, at)
    if (rows.length > 1) {
      addTable(builder, { rows, hasTitles: true }, page)
      at += rows.length
      continue
    }
    const line = lines[at++] as Line
    const text = asEntry(line)
    // a line that goes on belongs to the one above it
    builder.line(lines.length === 1 ? text : at > 1 && /^\p{Ll}/u.test(text) ? `  ${text}` : `- ${text.replace(BULLET, '')}`, page)
  }
}

/** Whether the ends of the lines are inside sentences. */
function isProse (lines: readonly Line[]): boolean {
  const rest = lines.slice(1)
  if (rest.length === 0 || lines.filter(({ cells }) => cells.length > 1 && !NUMBER.test(cells[0]?.text.trim() ?? '')).length > lines.length / 2) return false
  if (lines.some(line => BULLET.test(textOf(line))) || lines.every(line => ENDS.test(textOf(line)))) return true
  if (rest.filter(line => /^\p{Ll}/u.test(textOf(line))).length >= rest.length * MIN_CONTINUED) return true
  const left = Math.min(...lines.map(leftOf))
  const width = Math.max(...lines.map(rightOf)) - left
  return lines.slice(0, -1).every(line => rightOf(line) - left >= width * FULL_LINE && textOf(line).length >= MIN_FULL_CHARS)
}

/** Adds the lines of a paragraph; a word that is divided between two of them is whole on the first. */
function addLines (builder: PassageBuilder, texts: readonly string[], page: number, hyphens: Hyphens): void {
  let line = texts[0] ?? ''
  for (const text of texts.slice(1)) {
    const [whole, next] = hyphens.join(line, text)
    if (whole.trim() !== '') builder.line(whole.replace(BULLET, '- '), page)
    line = next
  }
  if (line.trim() !== '') builder.line(line.replace(BULLET, '- '), page)
}

/** A line with wide gaps: the name of a row, and its values. */
function asEntry ({ cells }: Line): string {
  const texts = cells.map(({ text }) => text.replace(/\s+/g, ' ').trim()).filter(text => text !== '')
  const [name = '', ...values] = texts
  if (values.length === 0) return name
  return NUMBER.test(name) ? texts.join(' ') : `${name.replace(/:$/, '')}: ${values.join('; ')}`
}

/** The rows of a table whose first line has the titles of all columns; empty where that is not certain. */
function tableAt (lines: readonly Line[], start: number): string[][] {
  const titles = (lines[start] as Line).cells
  if (titles.length < 3 || titles.some(({ text }) => /\p{N}{3}|:$/u.test(text.trim()))) return []
  const rows = [titles.map(({ text }) => text.trim())]
  for (const { cells } of lines.slice(start + 1)) {
    const columns = cells.map(cell => titles.findIndex((title, at) => cell.left < title.right && cell.right > title.left && !(titles[at + 1] !== undefined && cell.right > (titles[at + 1]?.left ?? 0))))
    if (columns.length < 2 || columns.includes(-1) || new Set(columns).size < columns.length) break
    const row = titles.map(() => '')
    for (const [at, cell] of cells.entries()) row[columns[at] as number] = cell.text.trim()
    rows.push(row)
  }
  return rows.length > 1 ? rows : []
}
