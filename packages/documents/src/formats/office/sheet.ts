import { addSheetRows, MAX_COLUMNS } from '../../text/sheet-rows.js'
import type { PassageBuilder } from '../../text/passages.js'

/** Rows and cells of all sheets of a file that are read, and the characters of the cells. */
const MAX_ROWS = 100_000
const MAX_CELLS = 500_000
const MAX_SHEET_TEXT = 16_000_000

/** Longest title of a column, in characters; a longer cell is text. */
const MAX_TITLE = 80
/** Of the widest row below it, the part of the cells that a row of titles fills. */
const MIN_TITLES = 0.6
/** Values below the title of the second of two columns that look like those of a form. */
const MIN_VALUES = 3
/** Rows below a row that show whether it has titles. */
const SAMPLE = 50

export interface SheetCell {
  readonly text: string
  /** Whether it is a number, a date or a truth value. */
  readonly isValue: boolean
  /** What its style is called in the file. */
  readonly style?: string | undefined
}

/** A row with its number in the sheet, and the one of its last repetition. */
export interface CellRow { readonly cells: ReadonlyArray<SheetCell | undefined>, readonly first: number, readonly last: number, /** The file marks it as the titles of a table. */ readonly isTitles?: boolean }

/** What is left to read of the sheets of one file: many cells may share one long text. */
export class SheetBudget {
  /** Whether something was left out. */
  isSpent = false
  #rows = MAX_ROWS
  #cells = MAX_CELLS
  #characters = MAX_SHEET_TEXT

  /** Whether a cell with this text is read. */
  takeCell (text: string): boolean {
    this.#cells--
    this.#characters -= text.length
    return this.#isLeft(Math.min(this.#cells, this.#characters))
  }

  /** Whether a row is read. */
  takeRow (): boolean {
    return this.#isLeft(--this.#rows)
  }

  #isLeft (left: number): boolean {
    if (left < 0) this.isSpent = true
    return !this.isSpent
  }
}

/** The parts of the sheets that are left out, for the log. */
export function missingOf (hidden: readonly string[], budget: SheetBudget): string | undefined {
  const sheets = hidden.length > 0 ? [`the hidden sheets ${hidden.slice(0, 10).join(', ')}${hidden.length > 10 ? ', …' : ''}`] : []
  const rest = budget.isSpent ? [`cells past ${MAX_ROWS} rows, ${MAX_CELLS} cells or ${MAX_SHEET_TEXT} characters`] : []
  return sheets.length + rest.length > 0 ? [...sheets, ...rest].join('; ') : undefined
}

/**
 * Adds the rows of a sheet. Blank rows divide its tables; in each the rows above the titles are lines, such as
 * "Customer: Ida Huber", and so are all rows where no row has titles.
 */
export function addSheet (builder: PassageBuilder, rows: readonly CellRow[]): void {
  for (let start = 0; start < rows.length;) {
    let end = start + 1
    while (end < rows.length && (rows[end] as CellRow).first === (rows[end - 1] as CellRow).last + 1) end++
    addBlock(builder, withoutMargin(rows.slice(start, end)))
    builder.line('', (rows[end - 1] as CellRow).last)
    start = end
  }
}

/** The cells from the first column that one of the rows uses. */
function withoutMargin (rows: readonly CellRow[]): CellRow[] {
  const from = rows.reduce((least, { cells }) => Math.min(least, firstFilled(cells)), MAX_COLUMNS)
  return from === 0 ? [...rows] : rows.map(row => ({ ...row, cells: row.cells.slice(from) }))
}

function firstFilled (cells: CellRow['cells']): number {
  const at = cells.findIndex(cell => cell !== undefined)
  return at === -1 ? MAX_COLUMNS : at
}

function addBlock (builder: PassageBuilder, rows: readonly CellRow[]): void {
  const marked = rows.findIndex(({ isTitles }) => isTitles === true)
  const titles = marked === -1 ? rows.slice(0, SAMPLE).findIndex((_, at) => hasTitles(rows, at)) : marked
  const lines = titles === -1 ? rows : rows.slice(0, titles)
  for (const { cells, first, last } of lines) {
    const [name, ...values] = cells.filter(cell => cell !== undefined).map(({ text }) => text)
    // a list item, so that the lines of a form stay lines
    const isCaption = values.length === 0 && (titles !== -1 || rows.length === 1)
    if (name !== undefined) builder.line(`${isCaption ? '' : '- '}${[name.replace(/:$/, values.length > 0 ? '' : ':'), ...values.length > 0 ? [values.join('; ')] : []].join(': ')}`, first, last)
    if (isCaption && titles !== -1) builder.line('', last)
  }
  if (titles !== -1) addSheetRows(builder, rows.slice(titles).map(({ cells, first, last }) => ({ cells: Array.from(cells, cell => cell?.text ?? ''), first, last })))
}

/** Whether a row has the titles of the columns below it. */
function hasTitles (rows: readonly CellRow[], at: number): boolean {
  const filled = (row: CellRow | undefined): SheetCell[] => row?.cells.filter(cell => cell !== undefined) ?? []
  const titles = filled(rows[at])
  const below = rows.slice(at + 1, at + 1 + SAMPLE)
  const width = below.reduce((most, row) => Math.max(most, filled(row).length), 0)
  if (width < 2 || titles.length < 2 || titles.length < width * MIN_TITLES) return false
  if (new Set(titles.map(({ text }) => text)).size < titles.length || !titles.every((cell, index) => isTitle(cell, index))) return false
  if (titles.length > 2 || width > 2) return true
  // of two columns, the first row of a form and the titles of a table look alike
  const [name, second] = titles
  if (at > 0 && rows.slice(0, at).some(row => filled(row).length > 1)) return false
  if (/\p{N}/u.test(second?.text ?? '')) return false
  if (below.every(row => filled(row)[0]?.style !== name?.style)) return true
  return below.length >= MIN_VALUES && below.every(row => filled(row)[1]?.isValue !== false)
}

function isTitle ({ text, isValue }: SheetCell, index: number): boolean {
  if (isValue) return index > 0 && /^(?:19|20)\d{2}$/.test(text)
  return text.length <= MAX_TITLE && !/@|:$|\d{5}/.test(text)
}
