import { CALLOUT, continues, FENCE, ITEM, QUOTED, RULE } from './block-lines.js'
import { addCode, dedent } from './code-blocks.js'
import { addEntries, countListed } from './entries.js'
import { addDefinitions, addItems, DEFINITION } from './lists.js'
import { plainText, sentencesOf } from './plain-text.js'
import { areShortLines, LEADERS } from './short-lines.js'
import { addRows, beginsTable, cellsOf } from './tables.js'
import type { Unit } from './unit.js'

const LINK_DEFINITION = /^\s*\[[^\]]+\]:\s+\S+/

/** Splits a passage into sentences, list items, table rows and code blocks, in order. */
export function unitsOf (content: string): Unit[] {
  const lines = content.split('\n')
  const units: Unit[] = []
  let index = 0
  const block = (from: number, to: number): string => lines.slice(from, to).join('\n')
  while (index < lines.length) {
    const line = (lines[index] as string).replace(QUOTED, '')
    const fence = FENCE.exec(line)
    if (fence !== null) {
      let end = index + 1
      while (end < lines.length && !(lines[end] as string).trim().startsWith(fence[2] as string)) end++
      addCode(units, dedent(block(index, Math.min(end + 1, lines.length)), fence[1] as string, end >= lines.length ? fence[2] : undefined))
      index = end + 1
    } else if (/^(?: {4}|\t)\S/.test(line) && (index === 0 || lines[index - 1] === '') && !ITEM.test(line) && !afterItem(units)) {
      let end = index + 1
      while (end < lines.length && (/^(?: {4}|\t)/.test(lines[end] as string) || (lines[end] === '' && /^(?: {4}|\t)/.test(lines[end + 1] ?? '')))) end++
      addCode(units, '```\n' + lines.slice(index, end).map(code => code.replace(/^(?: {4}|\t)/, '')).join('\n') + '\n```')
      index = end
    } else if (line.trim() === '' || RULE.test(line) || CALLOUT.test(line) || LINK_DEFINITION.test(line)) {
      index++
    } else if (beginsTable(lines, index)) {
      let end = index + 2
      while (end < lines.length && (lines[end] as string).includes('|')) end++
      addRows(units, cellsOf(line), lines.slice(index + 2, end))
      index = end
    } else if (ITEM.test(line)) {
      index = addItems(units, lines, index)
    } else {
      let end = index + 1
      while (end < lines.length && continues(lines, end)) end++
      const raw = lines.slice(index, end).map(part => part.replace(QUOTED, ''))
      const entries = raw.map(part => part.trim())
      // a long one is a paragraph, such as a speech in a transcript
      const listed = countListed(entries)
      if (listed > 0) {
        addEntries(units, entries.slice(0, listed))
        index += listed
        continue
      }
      if (areShortLines(entries)) {
        for (const entry of entries) units.push({ kind: 'row', text: plainText(entry.replace(LEADERS, ' … ')) })
        index = end
        continue
      }
      if (entries.slice(1).some(entry => DEFINITION.test(entry))) addDefinitions(units, raw)
      else for (const sentence of sentencesOf(plainText(entries.join(' ')))) units.push({ kind: 'sentence', text: sentence })
      index = end
    }
  }
  return units
}

function afterItem (units: readonly Unit[]): boolean {
  return units.at(-1)?.kind === 'item'
}
