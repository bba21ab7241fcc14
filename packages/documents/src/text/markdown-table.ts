import type { PassageBuilder } from './passages.js'
import { entryOf, plainCells, rowOf, ruleOf } from './table-lines.js'

/** A row of a table, and its line. */
export interface TableRow { readonly cells: readonly string[], readonly line: number }

/** Adds rows as a table of Markdown: with titles, or as lines such as "Manager: Ida Huber". */
export function addTable (builder: PassageBuilder, rows: readonly TableRow[], hasTitles: boolean): void {
  const [first] = rows
  if (first === undefined) return
  for (const [index, { cells, line }] of rows.entries()) {
    const texts = plainCells(cells)
    builder.line(hasTitles ? rowOf(texts) : entryOf(texts), line)
    if (hasTitles && index === 0) builder.line(ruleOf(texts), line)
  }
  builder.line('', (rows.at(-1) as TableRow).line)
}
