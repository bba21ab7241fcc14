import { PassageBuilder, type Passage } from '../../text/passages.js'
import { addSheetRows, MAX_COLUMNS, type SheetRow } from '../../text/sheet-rows.js'

/** Rows of a table as list items with the titles of their columns. */
export function splitCsv (text: string): Passage[] {
  const builder = new PassageBuilder()
  const [first = ''] = text.split('\n', 1)
  const separator = [',', ';', '\t'].reduce((best, one) => first.split(one).length > first.split(best).length ? one : best, ',')
  addSheetRows(builder, rowsOf(text, separator))
  return builder.finish()
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
