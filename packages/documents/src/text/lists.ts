import { continues, indentOf, ITEM, QUOTED } from './block-lines.js'
import { MAX_SENTENCE, plainText, sentencesOf, SENTENCE_MARK } from './plain-text.js'
import type { Unit } from './unit.js'

/** The mark of a task in a list. */
const TASK = /^\[[ xX]\]\s+/
/** Longest list that is kept with its introduction, in characters. */
const MAX_LIST_BELOW = 420
/** A longer list item, or line of such a list, in characters, is split into sentences. */
export const MAX_ITEM = 300
/** An item of at most this many characters is put before the items below it, which mean little without it. */
const MAX_PARENT = 80
/** A shorter line, in characters, ends before the margin: the line below it is not the rest of the same sentence. */
const MIN_FULL_LINE = 50
const LOWER_CASE_WORD = /^\s*\p{Ll}[\p{Ll}'’-]*(?=[\s,.;:)]|$)/u
/** Levels of a list that an item repeats. */
const MAX_PARENTS = 3
const TAB = '    '
/** The term that an item defines, at its beginning. */
const TERM = /^(`[^`]{1,60}`|[\p{L}\p{N}_.-]{1,40}(?=:\s))/u
/** The beginning of a definition, on the line below its term. */
export const DEFINITION = /^\s*:\s+/

/** An item of a list, which ends where another one with the same or less indentation begins. */
interface Item {
  readonly indent: number
  readonly text: string
  /** The items that it is part of, outermost first. */
  readonly parents: readonly Item[]
}

export function addItems (units: Unit[], lines: readonly string[], start: number): number {
  const { items, end } = readItems(lines, start)
  const lead = units.at(-1)
  const list = items.map(({ text, parents }) => `${'  '.repeat(parents.length)}- ${text}`).join('\n')
  if (lead?.kind === 'sentence' && lead.text.endsWith(':') && lead.below === undefined && list.length <= MAX_LIST_BELOW) {
    units[units.length - 1] = { ...lead, below: list }
    return end
  }
  for (const [index, { text, parents }] of items.entries()) {
    // the items below such a one repeat it
    if (text.endsWith(':') && text.length <= MAX_PARENT && items[index + 1]?.parents.at(-1)?.text === text) continue
    const path = parents.filter(parent => parent.text.length <= MAX_PARENT).map(parent => `${parent.text.replace(TASK, '').replace(/[:.]$/, '')}: `).join('')
    // a longer one would not be quoted
    for (const part of partsOfItem(text)) units.push({ kind: 'item', text: path.length + part.length > MAX_SENTENCE ? part : path + part })
  }
  return end
}

function readItems (lines: readonly string[], start: number): { items: readonly Item[], end: number } {
  const items: Item[] = []
  let open: readonly Item[] = []
  let index = start
  while (index < lines.length) {
    const raw = lines[index] as string
    const found = ITEM.exec(raw.replace(QUOTED, ''))
    if (found === null) break
    const indent = (found[1] as string).replaceAll('\t', TAB).length
    const words = [found[2] as string]
    for (index++; index < lines.length && continuesItem(lines, index, indent); index++) words.push((lines[index] as string).replace(QUOTED, '').trim())
    while (lines[index] === '' && ITEM.test(lines[index + 1] ?? '')) index++
    const text = plainText(words.join(' '))
    if (text === '') continue
    const parents = open.filter(item => item.indent < indent).slice(0, MAX_PARENTS)
    const item = { indent, text, parents }
    items.push(item)
    open = [...parents, item]
  }
  return { items, end: index }
}

/** Whether a line continues the item above it: with more indentation, or as the rest of a sentence. */
function continuesItem (lines: readonly string[], index: number, indent: number): boolean {
  if (!continues(lines, index)) return false
  const line = (lines[index] as string).replace(QUOTED, '')
  const above = (lines[index - 1] as string).trim()
  return indentOf(line.replaceAll('\t', TAB)) > indent || LOWER_CASE_WORD.test(line) || (above.length >= MIN_FULL_LINE && !SENTENCE_MARK.test(above))
}

/** Adds the definitions of terms as items: a term is the line above its first definition. */
export function addDefinitions (units: Unit[], lines: readonly string[]): void {
  let term = ''
  let definition: string[] = []
  const end = (): void => {
    for (const part of definition.length === 0 ? [] : partsOfItem(plainText(`${term}: ${definition.join(' ')}`))) units.push({ kind: 'item', text: part })
    definition = []
  }
  for (const [index, line] of lines.entries()) {
    const begins = DEFINITION.test(line)
    const isTerm = !begins && /^\S/.test(line) && DEFINITION.test(lines[index + 1] ?? '')
    if (begins || isTerm) end()
    if (isTerm) term = line
    else if (begins || definition.length > 0) definition.push(line.replace(DEFINITION, '').trim())
    else units.push({ kind: 'sentence', text: plainText(line) })
  }
  end()
}

/** A list item, or the sentences of a long one: "Defaults to 5." means nothing without the term of the item. */
export function partsOfItem (text: string): string[] {
  if (text.length <= MAX_ITEM) return [text]
  const term = TERM.exec(text)?.[1]
  return sentencesOf(text).map((sentence, index) => index === 0 || term === undefined ? sentence : `${term}: ${sentence}`)
}
