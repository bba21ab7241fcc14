import { splitMarkdown } from '../markup/markdown.js'
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

type Cell = { readonly cell_type?: unknown, readonly source?: unknown } | null

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
    const lines: unknown[] = Array.isArray(cell?.source) ? cell.source : [cell?.source]
    const content = lines.filter(line => typeof line === 'string').join('')
    const passages = splitMarkdown(cell?.cell_type === 'code' ? `\`\`\`\n${content}\n\`\`\`` : content)
    return passages.map(passage => {
      heading = passage.heading === '' ? heading : passage.heading
      return { ...passage, heading, first: index + 1, last: index + 1 }
    })
  })
}
