// The lines of Markdown that begin a block, or that no text is in.
import { beginsTable } from './tables.js'

/** The line that begins a block of code, or ends it. */
export const FENCE = /^(\s*)(`{3,}|~{3,})/
export const ITEM = /^(\s*)(?:[-*+]|\d{1,9}[.)])\s+(.*)$/
export const RULE = /^\s*(?:[-*_]\s*){3,}$/
export const CALLOUT = /^\s*\[!\w+\]\s*$/
/** The beginning of a line in a quotation. */
export const QUOTED = /^\s*(?:>\s?)+/

/** Whether a line belongs to the paragraph or item of the line above it. */
export function continues (lines: readonly string[], index: number): boolean {
  const line = (lines[index] as string).replace(QUOTED, '')
  return line.trim() !== '' && !ITEM.test(line) && !FENCE.test(line) && !RULE.test(line) && !CALLOUT.test(line) && !beginsTable(lines, index)
}

/** The spaces before a line; a blank line has none. */
export function indentOf (line: string): number {
  return Math.max(0, line.search(/\S/))
}
