import { splitMarkdown } from '../markup/markdown.js'
import { splitLog } from '../plain/log.js'
import type { Passage } from '../../text/passages.js'

/** Why a text is not a notebook; undefined where it is one. */
export function damageOfNotebook (text: string): string | undefined {
  try {
    readCells(text)
    return undefined
  } catch (error) {
    return `it is not a notebook: ${(error as Error).message}`
  }
}

type Cell = { readonly cell_type?: unknown, readonly source?: unknown, readonly outputs?: unknown } | null

/** What is read of the text outputs of a cell, in characters and lines; an error is short. */
const MAX_OUTPUT = 2_000
const MAX_OUTPUT_LINES = 50
const MAX_ERROR = 300
// eslint-disable-next-line no-control-regex -- the colours of a terminal
const COLOUR = /\u001b\[[\d;]*m/g

/** @throws an error where the text is not a notebook */
function readCells (text: string): readonly Cell[] {
  const notebook = JSON.parse(text) as { cells?: Cell[] } | null
  if (!Array.isArray(notebook?.cells)) throw new Error('it has no cells')
  return notebook.cells
}

/** The cells of a notebook; a citation counts the cells. Text that is not a notebook has no passages. */
export function splitNotebook (text: string): Passage[] {
  let cells: readonly Cell[]
  try {
    cells = readCells(text)
  } catch {
    return []
  }
  let heading = ''
  return cells.flatMap((cell, index) => {
    const content = joined(cell?.source)
    const isCode = cell?.cell_type === 'code'
    const passages = [...splitMarkdown(isCode ? `\`\`\`\n${content}\n\`\`\`` : content), ...isCode ? splitLog(outputOf(cell)) : []]
    heading = passages.at(-1)?.heading || heading
    // the heading of the cells below it, and not a text
    if (!isCode && index < cells.length - 1 && passages.length === 1 && heading.endsWith((passages[0] as Passage).content)) return []
    return passages.map(passage => ({ ...passage, heading: passage.heading || heading, first: index + 1, last: index + 1 }))
  })
}

/** The text outputs of a cell: what it prints, its results, the name and message of its error. */
function outputOf (cell: Cell): string {
  const outputs: unknown[] = Array.isArray(cell?.outputs) ? cell.outputs : []
  const texts = outputs.map(output => {
    const { output_type: type, text, data, ename, evalue } = (output ?? {}) as Record<string, unknown>
    if (type === 'error') return `${String(ename)}: ${String(evalue)}`.slice(0, MAX_ERROR)
    return joined(type === 'stream' ? text : (data as Record<string, unknown> | undefined)?.['text/plain'])
  })
  const lines = texts.join('\n').slice(0, MAX_OUTPUT).replace(COLOUR, '').split('\n').slice(0, MAX_OUTPUT_LINES)
  // the addresses of objects, and bars of progress
  return lines.filter(line => !/^<[\w. ]+(?: at 0x[\da-f]+)?>$|\d+%\|.*\|/.test(line.trim())).join('\n')
}

function joined (text: unknown): string {
  return (Array.isArray(text) ? text : [text]).filter(line => typeof line === 'string').join('')
}
