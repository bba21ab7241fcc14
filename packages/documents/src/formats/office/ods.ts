import { openOdf, SILENT, spaceOf, Styles } from './odf.js'
import { addSheet, missingOf, SheetBudget, type CellRow, type SheetCell } from './sheet.js'
import { readXml } from './xml.js'
import { MAX_COLUMNS } from '../../text/sheet-rows.js'
import { PassageBuilder } from '../../text/passages.js'
import type { SplitFile } from '../format.js'

/** Types of cells whose text is the name of something. */
const NO_VALUE: ReadonlySet<string | undefined> = new Set(['string', undefined])

/** The sheets of a spreadsheet: each is a heading, and its numbers count rows. Cells have the text that they show. */
export async function splitOds (bytes: Uint8Array): Promise<SplitFile> {
  const archive = await openOdf(bytes)
  const builder = new PassageBuilder()
  const styles = new Styles()
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_ODF_BYTES
  const hidden: string[] = []
  const budget = new SheetBudget()
  let silent = 0
  let depth = 0
  let sheet: { name: string, hidden: boolean, rows: CellRow[] } | undefined
  let number = 0
  let row: { cells: (SheetCell | undefined)[], column: number, repeated: number } | undefined
  let cell: { text: string, isValue: boolean, style: string | undefined, repeated: number } | undefined
  const endRow = (): void => {
    if (row === undefined || sheet === undefined) return
    const first = number + 1
    number += row.repeated
    if (row.cells.some(one => one !== undefined) && !sheet.hidden && budget.takeRow()) {
      sheet.rows.push({ cells: row.cells, first, last: number })
    }
    row = undefined
  }
  const endCell = (): void => {
    if (row === undefined || cell === undefined) return
    const text = cell.text.replace(/\s+/g, ' ').trim()
    const end = Math.min(MAX_COLUMNS, row.column + cell.repeated)
    if (text !== '') for (let at = row.column; at < end && budget.takeCell(text); at++) row.cells[at] = { text, isValue: cell.isValue, style: cell.style }
    row.column = end
    cell = undefined
  }
  await readXml(archive, 'content.xml', {
    isDone: () => budget.isSpent,
    open (name, attributes) {
      styles.open(name, attributes)
      // comments are not the text of the cell
      if (SILENT.has(name) || name === 'annotation' || name === 'shapes') silent++
      if (silent > 0) return
      if (name === 'table' && depth++ === 0) {
        const title = attributes['name'] ?? ''
        sheet = { name: title, hidden: styles.hides(attributes['style-name']), rows: [] }
        number = 0
        if (sheet.hidden) hidden.push(title)
      } else if (name === 'table-row') row = { cells: [], column: 0, repeated: repeats(attributes['number-rows-repeated']) }
      else if (name === 'table-cell' || name === 'covered-table-cell') {
        cell = { text: '', isValue: !NO_VALUE.has(attributes['value-type']), style: attributes['style-name'], repeated: repeats(attributes['number-columns-repeated']) }
      } else if (cell !== undefined) cell.text += name === 'p' ? ' ' : spaceOf(name, attributes)
    },
    text (data) { if (cell !== undefined && silent === 0) cell.text += data },
    close (name) {
      if (SILENT.has(name) || name === 'annotation' || name === 'shapes') {
        silent--
        return
      }
      if (silent > 0) return
      if (name === 'table-cell' || name === 'covered-table-cell') endCell()
      else if (name === 'table-row') endRow()
      else if (name === 'table' && --depth === 0 && sheet !== undefined) {
        if (!sheet.hidden) {
          builder.heading(1, sheet.name, 1)
          addSheet(builder, sheet.rows)
        }
        sheet = undefined
      }
    }
  })
  return { passages: builder.finish(), missing: missingOf(hidden, budget) }
}

/** Spreadsheets end with a million of repeated blank rows; a number that is none is 1. */
function repeats (count: string | undefined): number {
  const number = Number(count ?? 1)
  return Number.isInteger(number) && number > 0 ? Math.min(number, 2 ** 24) : 1
}
