import type { PassageBuilder } from './passages.js'

/** Cells of a row that are read. */
const MAX_CELLS = 100

/** A table with titles is one of Markdown; the rows of another are lines such as "Manager: Ida Huber". */
export function addTable (builder: PassageBuilder, { rows, hasTitles }: { readonly rows: ReadonlyArray<readonly string[]>, readonly hasTitles: boolean }, line: number, last = line): void {
  builder.line('', line)
  for (const [index, cells] of rows.entries()) {
    const shown = plainCells(cells.slice(0, MAX_CELLS))
    if (shown.every(cell => cell === '')) continue
    builder.line(hasTitles ? rowOf(shown) : `- ${entryOf(shown)}`, line, last)
    if (hasTitles && index === 0) builder.line(ruleOf(shown), line, last)
  }
  builder.line('', last)
}

/** Cells without line breaks. */
export function plainCells (cells: readonly string[]): string[] { return cells.map(cell => cell.replace(/\s+/g, ' ').trim()) }

/** A row of a table of Markdown. */
export function rowOf (cells: readonly string[]): string { return cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ') }

/** The line between the titles and the rows. */
export function ruleOf (cells: readonly string[]): string { return cells.map(() => '---').join(' | ') }

/** A row without titles, such as "Manager: Ida Huber". */
export function entryOf (cells: readonly string[]): string {
  const [name = '', ...rest] = cells.filter(cell => cell !== '')
  return rest.length === 0 ? name : `${name}: ${rest.join('; ')}`
}
