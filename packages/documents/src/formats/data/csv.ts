import { PassageBuilder, type Passage } from '../../text/passages.js'
import { addSheetRows, MAX_COLUMNS, type SheetRow } from '../../text/sheet-rows.js'

/** Lines, and their characters, that show the separator. */
const MAX_LINES = 20
const MAX_SAMPLE = 64 * 1024

/** Rows of a table as list items with the titles of their columns. */
export function splitCsv (text: string): Passage[] {
  const builder = new PassageBuilder()
  // a spreadsheet writes it for itself
  const named = /^sep=([^\r\n])\r?\n/i.exec(text)
  addSheetRows(builder, rowsOf(named === null ? text : text.replace(named[0], '\n'), named?.[1] ?? separatorOf(text)))
  return builder.finish()
}

/** The character that divides the most of the first lines into equally many cells, and into most. */
function separatorOf (text: string): string {
  const lines = text.slice(0, MAX_SAMPLE).split('\n', MAX_LINES).map(line => line.replace(/"(?:[^"]|"")*"/g, '')).filter(line => line.trim() !== '')
  let best = { separator: ',', lines: 0, cells: 0 }
  for (const separator of [',', ';', '\t', '|']) {
    const counts = lines.map(line => line.split(separator).length - 1).filter(count => count > 0)
    const alike = Math.max(0, ...counts.map(count => counts.filter(other => other === count).length))
    const cells = Math.max(0, ...counts.filter(count => counts.filter(other => other === count).length === alike))
    if (alike > best.lines || (alike === best.lines && cells > best.cells)) best = { separator, lines: alike, cells }
  }
  return best.separator
}

function * rowsOf (text: string, separator: string): Generator<SheetRow> {
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
      if (cells.some(one => one.trim() !== '')) yield { cells, first: start, last: line - 1 }
      cells = []
      start = line
    } else cell += character
  }
  end()
  if (cells.some(one => one.trim() !== '')) yield { cells, first: start, last: line }
}
