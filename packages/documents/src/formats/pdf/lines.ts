// Lines of a page of a PDF file, with their place.

/** A piece of text of pdfjs; others mark the structure of the page. */
export interface Item {
  readonly str?: string
  /** The last two are x and y of its baseline, from the lower left corner. */
  readonly transform?: readonly number[]
  readonly width?: number
  readonly height?: number
  readonly hasEOL?: boolean
  /** `rtl` for text that runs to the left. */
  readonly dir?: string
}

/** A part of a line; the space before it is wide. */
export interface Cell { text: string, left: number, right: number }

/** The height is that of most of its letters. */
export interface Line { readonly cells: Cell[], readonly y: number, height: number }

/** A gap as wide as this many heights of the letters begins a cell. */
const CELL_GAP = 1.8
/** A smaller gap without a space is inside a word. */
const WORD_GAP = 0.2
/** A baseline that differs by more of the height is another line; the rest are indices. */
const SAME_LINE = 0.6

/** Lines on both sides of the space between two columns, and characters of one of them. */
const MIN_COLUMN_LINES = 8
const MIN_COLUMN_CHARS = 20
/** Lines of a page that have the space between columns, or do not reach it. */
const MIN_COLUMN_SHARE = 0.6
/** Lines of a column that go on with a small letter. */
const MIN_CONTINUED = 0.25

/** The lines of a page, in the order of the file, where two columns are not certain. */
export function linesOf (items: readonly Item[]): Line[] {
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_PAGE_ITEMS
  const lines: Line[] = []
  let line: Line | undefined
  let longest = 0
  let ended = true
  let space = false
  for (const { str, transform = [], width = 0, height = 0, hasEOL = false, dir } of items) {
    if (str === undefined) continue
    const [x = 0, y = 0] = transform.slice(4)
    if (str.trim() === '') {
      space ||= str !== ''
      ended ||= hasEOL
      continue
    }
    const last: Cell | undefined = line?.cells.at(-1)
    const size = height > 0 ? height : line?.height ?? 1
    if (line === undefined || last === undefined || ended || Math.abs(y - line.y) > SAME_LINE * Math.max(size, line.height) || (dir !== 'rtl' && x < last.right - 2 * size)) {
      line = { cells: [{ text: str, left: x, right: x + width }], y, height: size }
      lines.push(line)
      longest = str.length
    } else {
      const gap = dir === 'rtl' ? last.left - x - width : x - last.right
      if (gap > CELL_GAP * size) line.cells.push({ text: str, left: x, right: x + width })
      else {
        last.text += (space || gap > WORD_GAP * size) && !/\s$/.test(last.text) && !/^\s/.test(str) ? ` ${str}` : str
        last.left = Math.min(last.left, x)
        last.right = Math.max(last.right, x + width)
      }
      // a bullet or an index has other letters
      if (str.length > longest) [line.height, longest] = [size, str.length]
    }
    ended = hasEOL
    space = false
  }
  return inColumns(lines)
}

export function textOf (line: Line): string {
  return line.cells.map(({ text }) => text.trim()).join(' ')
}

export const leftOf = (line: Line): number => line.cells[0]?.left ?? 0
export const rightOf = (line: Line): number => line.cells.at(-1)?.right ?? 0

/** A field of a form that is filled in. */
export interface Field { readonly name: string, readonly value: string, readonly left: number, readonly bottom: number, readonly top: number }

/** The lines of a page with the values of its fields: each in its line, or as a line with its name. */
export function withFields (lines: readonly Line[], fields: readonly Field[]): Line[] {
  const out = [...lines]
  for (const { name, value, left, bottom, top } of fields) {
    const cell = { text: value, left, right: left + value.length }
    const line = out.find(({ y, height, cells }) => y >= bottom - height / 2 && y <= top && cells.some(other => other.left < left))
    if (line === undefined) out.push({ cells: [{ text: name, left, right: left }, cell], y: bottom, height: Math.max(1, top - bottom) })
    else line.cells.splice(line.cells.findLastIndex(other => other.left < left) + 1, 0, cell)
  }
  return out
}

/** Two columns whose lines the file has by turns are read one after the other; lines across both end them. */
function inColumns (lines: Line[]): Line[] {
  const middle = gutterOf(lines)
  if (middle === undefined) return lines
  // @keyed none: they live for the conversion of one document of a folder of the configuration; MAX_PAGE_ITEMS
  const out: Line[] = []
  let columns: [Line[], Line[]] = [[], []]
  const flush = (): void => {
    out.push(...columns[0], ...columns[1])
    columns = [[], []]
  }
  for (const line of lines) {
    const left = line.cells.filter(cell => cell.right <= middle)
    const right = line.cells.filter(cell => cell.left >= middle)
    if (left.length + right.length < line.cells.length) {
      flush()
      out.push(line)
      continue
    }
    if (left.length > 0) columns[0].push({ ...line, cells: left })
    if (right.length > 0) columns[1].push({ ...line, cells: right })
  }
  flush()
  return out
}

/** The middle of the space between two columns, where both have lines of a text side by side. */
function gutterOf (lines: readonly Line[]): number | undefined {
  const divided = lines.filter(({ cells }) => cells.length === 2)
  if (divided.length < MIN_COLUMN_LINES) return undefined
  const from = Math.max(...divided.map(({ cells }) => cells[0]?.right ?? 0).sort((a, b) => a - b).slice(0, Math.ceil(divided.length * 0.9)))
  const to = Math.min(...divided.map(({ cells }) => cells[1]?.left ?? 0).sort((a, b) => b - a).slice(0, Math.ceil(divided.length * 0.9)))
  if (from >= to) return undefined
  const middle = (from + to) / 2
  const besides = lines.filter(({ cells }) => cells.every(cell => cell.right <= middle || cell.left >= middle))
  if (besides.length < lines.length * MIN_COLUMN_SHARE) return undefined
  const isText = (side: 0 | 1): boolean => {
    const texts = divided.map(({ cells }) => cells[side]?.text.trim() ?? '')
    const continued = texts.filter(text => /^\p{Ll}/u.test(text)).length
    return texts.reduce((sum, text) => sum + text.length, 0) / texts.length >= MIN_COLUMN_CHARS && continued >= texts.length * MIN_CONTINUED
  }
  return isText(0) && isText(1) ? middle : undefined
}
