import { extname } from 'node:path'
import { indentOf } from './block-lines.js'
import { splitHtml } from './html.js'
import { boundPdf, inflateDocx } from './inflate.js'
import { splitMarkdown } from './markdown.js'
import { PassageBuilder, type Passage } from './passages.js'

/** Formats that an optional package reads, by the extension of the file. */
export const PARSERS: Readonly<Record<string, string>> = { '.pdf': 'unpdf', '.docx': 'mammoth' }

/** Pages of a PDF that are read. */
const MAX_PAGES = 5_000
/** Columns of a table that are read. */
const MAX_COLUMNS = 200
/** Of the title of a column: each row has it. */
const MAX_TITLE_CHARS = 100

/** JSON that is nested deeper is not printed in lines, whose indentation would be much longer than the text. */
const MAX_JSON_DEPTH = 32

/** What the numbers of a passage count, by the extension of its file. */
export function placeName (source: string): 'page' | 'cell' | 'lines' {
  const extension = extname(source).toLowerCase()
  return extension === '.pdf' ? 'page' : extension === '.ipynb' ? 'cell' : 'lines'
}

/** The passages of a file that is not text, in a thread. @throws the error of the parser, or of its import */
export async function splitBinary (source: string, bytes: Uint8Array): Promise<Passage[]> {
  return extname(source).toLowerCase() === '.pdf' ? await boundPdf(bytes, async () => await splitPdf(bytes)) : await splitDocx(bytes)
}

async function splitPdf (bytes: Uint8Array): Promise<Passage[]> {
  const { getDocumentProxy } = await import('unpdf')
  const document = await getDocumentProxy(bytes, { verbosity: 0 })
  try {
    const passages: Passage[] = []
    for (let number = 1; number <= Math.min(document.numPages, MAX_PAGES); number++) {
      const page = await document.getPage(number)
      const { items } = await page.getTextContent()
      const builder = new PassageBuilder()
      const text = items.map((item: { readonly str?: string, readonly hasEOL?: boolean }) => item.str !== undefined ? `${item.str}${item.hasEOL ? '\n' : ''}` : '').join('')
      for (const line of text.split('\n')) builder.line(line, number)
      passages.push(...builder.finish())
      page.cleanup()
    }
    return passages
  } finally {
    await document.destroy()
  }
}

async function splitDocx (bytes: Uint8Array): Promise<Passage[]> {
  const { default: mammoth } = await import('mammoth')
  // without its images, which are text of megabytes
  const image = mammoth.images.imgElement(async () => ({ src: '' }))
  const { value } = await mammoth.convertToHtml({ buffer: await inflateDocx(bytes) }, { convertImage: image })
  // each block is a line, so that a citation counts the paragraphs
  return splitHtml(value.replace(/<\/(?:p|h[1-6]|li|tr|table)>/g, '$&\n'))
}

/** Rows of a table as list items with the titles of their columns. */
export function splitCsv (text: string): Passage[] {
  const builder = new PassageBuilder()
  const [first = ''] = text.split('\n', 1)
  const separator = [',', ';', '\t'].reduce((best, one) => first.split(one).length > first.split(best).length ? one : best, ',')
  let titles: readonly string[] | undefined
  for (const { cells, line, last } of rowsOf(text, separator)) {
    if (titles === undefined) {
      // each of them is repeated in every row
      titles = cells.map(cell => cell.trim().slice(0, MAX_TITLE_CHARS))
      continue
    }
    const [name = '', ...rest] = cells.map(cell => cell.replace(/\s+/g, ' ').trim())
    const named = rest.map((cell, index) => ({ cell, title: titles?.[index + 1] ?? '' })).filter(({ cell }) => cell !== '')
    builder.line(`- ${[name, ...named.length > 0 ? [named.map(({ cell, title }) => title === '' ? cell : `${title}: ${cell}`).join('; ')] : []].join(': ')}`, line, last)
  }
  return builder.finish()
}

function * rowsOf (text: string, separator: string): Generator<{ cells: string[], line: number, last: number }> {
  let cells: string[] = []
  let cell = ''
  let quoted = false
  let line = 1
  let start = 1
  const end = (): void => {
    if (cells.length < MAX_COLUMNS) cells.push(cell)
    cell = ''
  }
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string
    if (character === '\n') line++
    if (quoted && character === '"' && text[at + 1] === '"') cell += text[++at]
    else if (character === '"' && (quoted || cell === '')) quoted = !quoted
    else if (!quoted && character === separator) end()
    else if (!quoted && character === '\n') {
      end()
      if (cells.some(one => one.trim() !== '')) yield { cells, line: start, last: line - 1 }
      cells = []
      start = line
    } else cell += character
  }
  end()
  if (cells.some(one => one.trim() !== '')) yield { cells, line: start, last: line }
}

/** A key with a value in the same line. */
const MEMBER = /^[^:]{1,200}:\s+[^\s|>]/
const KEY = /^([^:\n]{1,200}):\s*[[{|>]?$/
const BRACKETS = /^[[\]{}]*$/

/** JSON or YAML: a key without a value is a heading; an object in a list is one item, and so is each other line. */
export function splitKeys (text: string): Passage[] {
  const builder = new PassageBuilder()
  const shown = printed(text)
  const lines = shown.split('\n')
  // what was printed in several lines is one line of the file
  const lineOf = (index: number): number => shown === text ? index + 1 : 1
  let isFirst = true
  for (let index = 0; index < lines.length; index++) {
    const line = withoutEnd(lines[index] as string)
    const content = contentOf(line)
    if (content === '' || content.startsWith('#') || content === '---' || content === '...') continue
    const isRoot = isFirst
    isFirst = false
    const begins = !isRoot && /^(?:[\]}]+,\s*)?\{$/.test(content)
    if (!begins && BRACKETS.test(content)) continue
    const key = KEY.exec(content)?.[1]
    if (key !== undefined) {
      builder.heading(Math.min(6, Math.floor(indentOf(line) / 2) + 1), key, lineOf(index))
      continue
    }
    const dash = /^\s*-\s+(?=\S)/.exec(line)?.[0].length
    const members = begins || (dash !== undefined && MEMBER.test(content)) ? membersOf(lines, index + 1, dash) : []
    if (begins && members.length === 0) continue
    builder.line(`- ${[...begins ? [] : [content], ...members].join('; ')}`, lineOf(index), lineOf(index + members.length))
    index += members.length
  }
  return builder.finish()
}

/** The members with a value that follow in an object of a list, with the indentation of its first one. */
function membersOf (lines: readonly string[], start: number, column?: number): string[] {
  const members: string[] = []
  for (let index = start; index < lines.length; index++) {
    const line = withoutEnd(lines[index] as string)
    const content = contentOf(line)
    column ??= indentOf(line)
    if (indentOf(line) !== column || !MEMBER.test(content) || KEY.test(content) || /^\s*[-#]/.test(line)) break
    members.push(content)
  }
  return members
}

/** A run of spaces is tried once, not from each of its characters. */
function withoutEnd (line: string): string {
  return line.replace(/(?<![,\s])[,\s]+$/, '')
}

function contentOf (line: string): string {
  return line.trim().replace(/^-\s+/, '').replace(/"([^"]*)":/, '$1:')
}

/** JSON in one line is printed in several, unless it is deeply nested. */
function printed (text: string): string {
  if (!/^\s*[[{]/.test(text) || text.trim().includes('\n') || depthOf(text) > MAX_JSON_DEPTH) return text
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}

/** Why a text cannot be split, where it should be a notebook. */
export function damageOf (source: string, text: string): string | undefined {
  if (extname(source).toLowerCase() !== '.ipynb') return undefined
  try {
    readCells(text)
    return undefined
  } catch (error) {
    return `it is not a notebook: ${(error as Error).message}`
  }
}

type Cell = { readonly cell_type?: unknown, readonly source?: unknown } | null

/** @throws an error where the text is not a notebook */
function readCells (text: string): readonly Cell[] {
  const notebook = JSON.parse(text) as { cells?: Cell[] } | null
  if (!Array.isArray(notebook?.cells)) throw new Error('it has no cells')
  return notebook.cells
}

/** Not isTooDeep of core: the thread that splits documents would load all of core for it. */
function depthOf (json: string): number {
  let depth = 0
  let deepest = 0
  let quoted = false
  for (let at = 0; at < json.length; at++) {
    const character = json[at]
    if (quoted && character === '\\') at++
    else if (character === '"') quoted = !quoted
    else if (!quoted && (character === '[' || character === '{')) deepest = Math.max(deepest, ++depth)
    else if (!quoted && (character === ']' || character === '}')) depth--
  }
  return deepest
}

/** The cells of a notebook; a citation counts the cells. Text that is not a notebook has no passages. */
export function splitNotebook (text: string): Passage[] {
  let cells: readonly Cell[]
  try {
    cells = readCells(text)
  } catch {
    return []
  }
  let heading = ''
  return cells.flatMap((cell, index) => {
    const lines: unknown[] = Array.isArray(cell?.source) ? cell.source : [cell?.source]
    const content = lines.filter(line => typeof line === 'string').join('')
    const passages = splitMarkdown(cell?.cell_type === 'code' ? `\`\`\`\n${content}\n\`\`\`` : content)
    return passages.map(passage => {
      heading = passage.heading === '' ? heading : passage.heading
      return { ...passage, heading, first: index + 1, last: index + 1 }
    })
  })
}

/** Source code: its parts are code blocks. */
export function splitCode (text: string, language: string): Passage[] {
  const builder = new PassageBuilder()
  for (const [index, line] of text.split(/\r?\n/).entries()) builder.line(line, index + 1)
  return builder.finish().map(passage => ({ ...passage, content: `\`\`\`${language}\n${passage.content}\n\`\`\`` }))
}
