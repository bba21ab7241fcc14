import type { PassageBuilder } from './passages.js'

/** Columns of a table that are read. */
export const MAX_COLUMNS = 200
/** Of the title of a column: each row has it. */
const MAX_TITLE_CHARS = 100

/** A row of a sheet, and its first and last line, or its number twice. */
export interface SheetRow { readonly cells: readonly string[], readonly first: number, readonly last: number }

/** Rows among which the titles of the columns are looked for, below the lines of an export. */
const MAX_ABOVE = 20

/**
 * Adds the rows of a sheet as list items with the titles of their columns. The titles are the first row with more than
 * one cell; the rows above it, such as the title of an export, are lines. A page that repeats the titles adds none.
 */
export function addSheetRows (builder: PassageBuilder, rows: Iterable<SheetRow>): void {
  let titles: readonly string[] | undefined
  let above: SheetRow[] = []
  for (const row of rows) {
    if (titles !== undefined) {
      addRow(builder, row, titles)
      continue
    }
    above.push(row)
    if (filled(row) < 2 && above.length < MAX_ABOVE) continue
    // without any row of several cells, the first one has the title of the only column
    const isTable = filled(row) > 1
    titles = titlesOf(isTable ? row : above[0] as SheetRow)
    for (const one of isTable ? above.slice(0, -1) : []) addLine(builder, one)
    for (const one of isTable ? [] : above.slice(1)) addRow(builder, one, titles)
    above = []
  }
  const [first, ...rest] = above
  for (const one of rest) addRow(builder, one, titlesOf(first as SheetRow))
}

function filled ({ cells }: SheetRow): number {
  return cells.filter(cell => cell.trim() !== '').length
}

function titlesOf ({ cells }: SheetRow): string[] {
  // each of them is repeated in every row
  return cells.map(cell => cell.trim().slice(0, MAX_TITLE_CHARS))
}

function addLine (builder: PassageBuilder, { cells, first, last }: SheetRow): void {
  const text = cells.map(cell => cell.replace(/\s+/g, ' ').trim()).filter(cell => cell !== '').join(' ')
  if (text !== '') builder.line(text, first, last)
  builder.line('', last)
}

function addRow (builder: PassageBuilder, { cells, first, last }: SheetRow, titles: readonly string[]): void {
  if (cells.length === titles.length && cells.length > 1 && cells.every((cell, index) => cell.trim().slice(0, MAX_TITLE_CHARS) === titles[index])) return
  const [name = '', ...rest] = cells.map(cell => cell.replace(/\s+/g, ' ').trim())
  const named = rest.map((cell, index) => ({ cell, title: titles[index + 1] ?? '' })).filter(({ cell }) => cell !== '')
  const values = named.map(({ cell, title }) => title === '' ? cell : `${title}: ${cell}`).join('; ')
  builder.line(`- ${[name, values].filter(text => text !== '').join(': ')}`, first, last)
}
