import { plainText } from './plain-text.js'
import type { Unit } from './unit.js'

const TABLE_RULE = /^\s*(?:\|\s*)?:?-+:?\s*(?:\|\s*:?-+:?\s*)*(?:\|\s*)?$/

/** Whether a line is the head of a table: the line below it is its rule. */
export function beginsTable (lines: readonly string[], index: number): boolean {
  const rule = lines[index + 1] ?? ''
  return (lines[index] as string).includes('|') && rule.includes('-') && TABLE_RULE.test(rule)
}

/** Adds table rows as sentences: the first cell, then the others with their headings. */
export function addRows (units: Unit[], header: readonly string[], rows: readonly string[]): void {
  for (const row of rows) {
    const [first = '', ...rest] = cellsOf(row)
    const cells = rest.map((cell, index) => ({ cell, title: header[index + 1] ?? '' }))
      .filter(({ cell }) => cell !== '' && cell !== '-' && cell !== '–')
    if (first === '' && cells.length === 0) continue
    // of two columns, the row's name and the table's headings say what the value is
    const text = cells.map(({ cell, title }) => title === '' || header.length <= 2 ? cell : `${title}: ${cell}`).join('; ')
    units.push({ kind: 'row', text: first === '' ? text : text === '' ? first : `${first}: ${text}` })
  }
}

export function cellsOf (row: string): string[] {
  return row.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map(cell => plainText(cell.replaceAll('\\|', '|')))
}
