import { cellCommentsOf } from './cell-comments.js'
import { addSheet, missingOf, SheetBudget, type CellRow, type SheetCell } from './sheet.js'
import { mainPart, relationsOf } from './relations.js'
import { numberFormat, plainNumber, type NumberFormat } from './number-format.js'
import { readXml } from './xml.js'
import { Archive } from './zip.js'
import { MAX_COLUMNS } from '../../text/sheet-rows.js'
import { PassageBuilder } from '../../text/passages.js'
import type { SplitFile } from '../format.js'

/** Most XML of a workbook, inflated, in bytes. It is read as a stream. */
const MAX_XLSX_BYTES = 64 * 1024 * 1024
/** Sheets that are read. */
const MAX_SHEETS = 1_000
/** Formats of cells that are read: Excel allows 65,490. */
const MAX_FORMATS = 66_000
/** Cells that take the text of a merged cell. */
const MAX_MERGED = 100_000

/** The sheets of a workbook: each is a heading, and its numbers count rows. Values of formulas are those last saved. */
export async function splitXlsx (bytes: Uint8Array): Promise<SplitFile> {
  const archive = await Archive.open(bytes, MAX_XLSX_BYTES)
  const book = await mainPart(archive, 'xl/workbook.xml')
  const relations = await relationsOf(archive, book)
  const partOf = (type: string): string | undefined => relations.find(relation => relation.type === type)?.part
  const { sheets, from1904 } = await readBook(archive, book)
  const texts = await readTexts(archive, partOf('sharedStrings'))
  const formats = await readFormats(archive, partOf('styles'), from1904)
  const builder = new PassageBuilder()
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_SHEETS
  const hiddenSheets: string[] = []
  const budget = new SheetBudget()
  for (const { name, id, hidden } of sheets) {
    const part = relations.find(relation => relation.id === id && relation.type === 'worksheet')?.part
    // a sheet of a chart has no cells
    if (part === undefined) continue
    if (hidden) {
      hiddenSheets.push(name)
      continue
    }
    const rows = await readSheet(archive, part, texts, formats, budget)
    builder.heading(1, name, 1)
    addSheet(builder, rows)
    const last = rows.at(-1)?.last ?? 1
    for (const comment of await cellCommentsOf(archive, part)) builder.line(`- ${comment}`, last)
  }
  return { passages: builder.finish(), missing: missingOf(hiddenSheets, budget) }
}

interface Sheet { readonly name: string, readonly id: string, readonly hidden: boolean }

async function readBook (archive: Archive, part: string): Promise<{ sheets: Sheet[], from1904: boolean }> {
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_SHEETS
  const sheets: Sheet[] = []
  let from1904 = false
  await readXml(archive, part, {
    open (name, attributes) {
      if (name === 'workbookPr') from1904 = isTrue(attributes['date1904'])
      const { name: title = '', 'r:id': id, state } = attributes
      if (name === 'sheet' && sheets.length < MAX_SHEETS) sheets.push({ name: title, id: id ?? attributes['id'] ?? '', hidden: state === 'hidden' || state === 'veryHidden' })
    }
  })
  return { sheets, from1904 }
}

function isTrue (value: string | undefined): boolean {
  return value === '1' || value === 'true'
}

/** The texts that cells share: runs of one text are joined, and the reading of East Asian characters is left out. */
async function readTexts (archive: Archive, part: string | undefined): Promise<string[]> {
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_XLSX_BYTES
  const texts: string[] = []
  if (part === undefined) return texts
  const runs = new Runs()
  await readXml(archive, part, {
    open (name) { runs.open(name) },
    text (data) { runs.text(data) },
    close (name) {
      runs.close(name)
      if (name === 'si') texts.push(runs.take())
    }
  })
  return texts
}

/** Collects the text of `t` elements. */
class Runs {
  #text = ''
  #inText = false
  #phonetic = 0

  open (name: string): void {
    if (name === 'rPh') this.#phonetic++
    if (name === 't') this.#inText = this.#phonetic === 0
  }

  text (data: string): void {
    if (this.#inText) this.#text += data
  }

  close (name: string): void {
    if (name === 'rPh') this.#phonetic--
    if (name === 't') this.#inText = false
  }

  take (): string {
    const text = this.#text
    this.#text = ''
    // how Office writes a control character
    return text.replace(/_x000[dD]_/g, '').replace(/\s+/g, ' ').trim()
  }
}

async function readFormats (archive: Archive, part: string | undefined, from1904: boolean): Promise<NumberFormat[]> {
  // @keyed none: they live for the conversion of one document of a folder of the configuration; MAX_FORMATS
  const codes = new Map<number, string>()
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_XLSX_BYTES
  const made = new Map<number, NumberFormat>()
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_XLSX_BYTES
  const formats: NumberFormat[] = []
  if (part === undefined) return formats
  let inCells = false
  await readXml(archive, part, {
    open (name, { numFmtId = '0', formatCode }) {
      const id = Number(numFmtId)
      if (name === 'cellXfs') inCells = true
      if (name === 'numFmt' && formatCode !== undefined && codes.size < MAX_FORMATS) codes.set(id, formatCode)
      if (name !== 'xf' || !inCells || formats.length >= MAX_FORMATS) return
      const format = made.get(id) ?? numberFormat(id, codes.get(id), from1904)
      made.set(id, format)
      formats.push(format)
    },
    close (name) { if (name === 'cellXfs') inCells = false }
  })
  return formats
}

async function readSheet (archive: Archive, part: string, texts: readonly string[], formats: readonly NumberFormat[], budget: SheetBudget): Promise<CellRow[]> {
  // @keyed none: they live for the conversion of one document of a folder of the configuration; MAX_ROWS of sheet.ts
  const rows: CellRow[] = []
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_XLSX_BYTES
  const merged: string[] = []
  const titles = await titleRowsOf(archive, part)
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_XLSX_BYTES
  let cells: (SheetCell | undefined)[] = []
  let number = 0
  let column = -1
  let cell: { type: string, style: number } | undefined
  let value = ''
  let inValue = false
  const runs = new Runs()
  await readXml(archive, part, {
    isDone: () => budget.isSpent,
    open (name, attributes) {
      if (name === 'row') {
        number = Number(attributes['r'] ?? number + 1)
        cells = []
        column = -1
      } else if (name === 'c') {
        column = columnOf(attributes['r']) ?? column + 1
        cell = { type: attributes['t'] ?? 'n', style: Number(attributes['s'] ?? 0) }
        value = ''
      } else if (name === 'v') inValue = true
      else if (name === 'autoFilter') titles.add(firstRowOf(attributes['ref']))
      else if (name === 'mergeCell' && attributes['ref'] !== undefined && merged.length < MAX_MERGED) merged.push(attributes['ref'])
      if (cell !== undefined) runs.open(name)
    },
    text (data) {
      if (inValue) value += data
      if (cell !== undefined) runs.text(data)
    },
    close (name) {
      if (cell !== undefined) runs.close(name)
      if (name === 'v') inValue = false
      else if (name === 'c' && cell !== undefined) {
        const inline = runs.take()
        const shown = shownOf(cell.type, cell.type === 'inlineStr' ? inline : value, texts, formats[cell.style])
        if (column < MAX_COLUMNS && shown !== undefined && budget.takeCell(shown.text)) cells[column] = { ...shown, style: String(cell.style) }
        cell = undefined
      } else if (name === 'row' && cells.length > 0 && budget.takeRow()) rows.push({ cells, first: number, last: number })
    }
  })
  fillMerged(rows, merged, budget)
  return rows.map(row => titles.has(row.first) ? { ...row, isTitles: true } : row)
}

/** The text that a cell shows; undefined for a blank one. */
function shownOf (type: string, value: string, texts: readonly string[], format: NumberFormat = plainNumber): SheetCell | undefined {
  const isValue = type !== 's' && type !== 'inlineStr' && type !== 'str' && type !== 'e'
  const raw = type === 's' ? texts[Number(value)] ?? '' : type === 'b' ? (value === '1' ? 'TRUE' : 'FALSE') : value
  const number = Number(value)
  const shown = type === 'n' && value !== '' && Number.isFinite(number) ? format(number) : type === 'd' ? value.replace(/T00:00:00(?:\.0+)?Z?$/, '').replace('T', ' ') : raw
  // texts that cells share are clean
  const text = type === 's' ? shown : shown.replace(/\s+/g, ' ').trim()
  return text === '' ? undefined : { text, isValue }
}

/** The column of a reference such as "AB12", from 0. */
function columnOf (reference: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/i.exec(reference ?? '')?.[0].toUpperCase()
  if (letters === undefined) return undefined
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1
}

/** The numbers of the rows with the titles of tables that the file defines on a sheet. */
async function titleRowsOf (archive: Archive, part: string): Promise<Set<number>> {
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_RELATIONS
  const rows = new Set<number>()
  for (const { type, part: table } of await relationsOf(archive, part)) {
    if (type !== 'table') continue
    await readXml(archive, table, {
      open (name, { ref, headerRowCount }) { if (name === 'table' && headerRowCount !== '0') rows.add(firstRowOf(ref)) }
    })
  }
  return rows
}

function firstRowOf (reference = ''): number {
  return Number(/\d+/.exec(reference)?.[0] ?? 0)
}

/** A cell that is merged over rows is the first cell of each of them. */
function fillMerged (rows: readonly CellRow[], merged: readonly string[], budget: SheetBudget): void {
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_ROWS of sheet.ts
  const byNumber = new Map(rows.map(row => [row.first, row]))
  let left = MAX_MERGED
  for (const reference of merged) {
    const [, from = '', first = '', to = '', last = ''] = /^([A-Z]+)(\d+):([A-Z]+)(\d+)$/.exec(reference) ?? []
    const column = columnOf(from)
    const cell = byNumber.get(Number(first))?.cells[column ?? 0]
    if (column === undefined || from !== to || cell === undefined) continue
    for (let number = Number(first) + 1; number <= Number(last) && left > 0; number++) {
      left--
      const cells = byNumber.get(number)?.cells as (SheetCell | undefined)[] | undefined
      if (cells !== undefined && cells[column] === undefined && budget.takeCell(cell.text)) cells[column] = cell
    }
  }
}
