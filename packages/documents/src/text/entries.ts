import { MAX_ITEM } from './lists.js'
import { plainText } from './plain-text.js'
import type { Unit } from './unit.js'

/** A line of a list without bullets, such as "PIN of the gate: 4711". */
const ENTRY = /^[^\s:：][^:：]{0,59}(?::\s+|：\s*)\S/
/** The same next to other lines, where a line of a paragraph may have a colon, too. */
const LABELED = /^[^\s:：](?:(?![.!?]\s)[^:：]){0,59}(?::\s+|：\s*)\S/
/** Another line above such ones. It does not end like a sentence or a part of one. */
const ABOVE_ENTRIES = /^[*_`"“(]*[\p{Lu}\p{N}].*[^.,;!?]$/u
/** One of five words at most, without a comma: the title of the lines below it. */
const TITLE = /^[^\s,;]+(?:\s[^\s,;]+){0,4}$/
/** A line that ends within a sentence: "Not now. Payment is". */
const BREAKS_OFF = /[.!?]\s.*[^.!?]$/

/**
 * The number of lines that are a list of entries: all of them, or those above a sentence at the end. A list that begins
 * with another line may have more of these, each with an entry below it. In any other order the lines are a paragraph,
 * a poem or an address with line breaks, whose sentences do not end with the line: 0.
 */
export function countListed (lines: readonly string[]): number {
  if (lines.length < 2 || lines.some(line => line.length > MAX_ITEM)) return 0
  if (lines.every(line => ENTRY.test(line))) return lines.length
  const isEntry = (line = ''): boolean => LABELED.test(line)
  const listed = lines.findLastIndex(isEntry) + 1
  const entries = lines.slice(0, listed).filter(isEntry).length
  if (entries < 2 || (entries < listed && isEntry(lines[0]))) return 0
  const isListed = (line: string, at: number): boolean => isEntry(line) || (ABOVE_ENTRIES.test(line) && isEntry(lines[at + 1]))
  if (!lines.slice(0, listed).every(isListed)) return 0
  const [last = '', next] = lines.slice(listed - 1)
  return next === undefined || (/^\p{Lu}/u.test(next) && !BREAKS_OFF.test(last)) ? listed : 0
}

/** Adds entries as rows, each with its title before it. */
export function addEntries (units: Unit[], lines: readonly string[]): void {
  let title = ''
  for (const line of lines) {
    const text = plainText(line)
    if (ENTRY.test(line)) {
      units.push({ kind: 'row', text: title + text })
      continue
    }
    const isTitle = TITLE.test(line)
    title = isTitle ? `${text.replace(/:$/, '')}: ` : ''
    if (!isTitle) units.push({ kind: 'row', text })
  }
}
