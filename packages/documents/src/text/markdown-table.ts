import type { PassageBuilder } from './passages.js'

/** A row of a table, and its line. */
export interface TableRow { readonly cells: readonly string[], readonly line: number }

/** Adds rows as a table of Markdown: with titles, or as lines such as "Manager: Ida Huber". */
export function addTable (builder: PassageBuilder, rows: readonly TableRow[], hasTitles: boolean): void {
  const [first] = rows
  if (first === undefined) return
  for (const [index, { cells, line }] of rows.entries()) {
    const texts = cells.map(cell => cell.replace(/\s+/g, ' ').trim())
    if (!hasTitles) {
      const [name = '', ...rest] = texts.filter(text => text !== '')
      builder.line([name, rest.join('; ')].filter(text => text !== '').join(': '), line)
      continue
    }
    builder.line(texts.map(text => text.replaceAll('|', '\\|')).join(' | '), line)
    if (index === 0) builder.line(texts.map(() => '---').join(' | '), line)
  }
  builder.line('', (rows.at(-1) as TableRow).line)
}
