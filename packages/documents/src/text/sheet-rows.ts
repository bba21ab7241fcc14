import type { PassageBuilder } from './passages.js'

/** Columns of a table that are read. */
export const MAX_COLUMNS = 200
/** Of the title of a column: each row has it. */
const MAX_TITLE_CHARS = 100

/** A row of a sheet, and its first and last line, or its number twice. */
export interface SheetRow { readonly cells: readonly string[], readonly first: number, readonly last: number }

/** Adds the rows of a sheet as list items with the titles of their columns, which the first row has. */
export function addSheetRows (builder: PassageBuilder, rows: Iterable<SheetRow>): void {
  let titles: readonly string[] | undefined
  for (const { cells, first, last } of rows) {
    if (titles === undefined) {
      // each of them is repeated in every row
      titles = cells.map(cell => cell.trim().slice(0, MAX_TITLE_CHARS))
      continue
    }
    const [name = '', ...rest] = cells.map(cell => cell.replace(/\s+/g, ' ').trim())
    const named = rest.map((cell, index) => ({ cell, title: titles?.[index + 1] ?? '' })).filter(({ cell }) => cell !== '')
    builder.line(`- ${[...name === '' ? [] : [name], ...named.length > 0 ? [named.map(({ cell, title }) => title === '' ? cell : `${title}: ${cell}`).join('; ')] : []].join(': ')}`, first, last)
  }
}
