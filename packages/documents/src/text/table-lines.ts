import type { PassageBuilder } from './passages.js'

/** Cells of a row that are read. */
const MAX_CELLS = 100

/** A table with titles is one of Markdown; the rows of another are lines such as "Manager: Ida Huber". */
export function addTable (builder: PassageBuilder, { rows, hasTitles }: { readonly rows: ReadonlyArray<readonly string[]>, readonly hasTitles: boolean }, line: number, last = line): void {
  builder.line('', line)
  for (const [index, cells] of rows.entries()) {
    const shown = cells.slice(0, MAX_CELLS).map(cell => cell.replace(/\s+/g, ' ').trim())
    if (shown.every(cell => cell === '')) continue
    const [name = '', ...rest] = shown.filter(cell => cell !== '')
    builder.line(hasTitles ? shown.map(cell => cell.replaceAll('|', '\\|')).join(' | ') : `- ${[name, ...rest.length > 0 ? [rest.join('; ')] : []].join(': ')}`, line, last)
    if (hasTitles && index === 0) builder.line(shown.map(() => '---').join(' | '), line, last)
  }
  builder.line('', last)
}
