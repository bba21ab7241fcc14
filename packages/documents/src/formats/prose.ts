import { MAX_SENTENCE, plainText, sentencesOf, SENTENCE_MARK } from './plain-text.js'

/** A part of a passage that can be part of an answer. */
export interface Unit {
  readonly kind: 'sentence' | 'item' | 'row' | 'code'
  /** Without link syntax and emphasis, with inline code; a code block has its fences. */
  readonly text: string
  /** A code block or list that this sentence introduces ("Run it like this:"). */
  readonly below?: string | undefined
}

const FENCE = /^(\s*)(`{3,}|~{3,})/
const FENCE_INFO = /^((?:`{3,}|~{3,})\s*[^\s`]*).*$/
const ITEM = /^(\s*)(?:[-*+]|\d{1,9}[.)])\s+(.*)$/
/** The mark of a task in a list. */
const TASK = /^\[[ xX]\]\s+/
/** A line of a list without bullets, such as "PIN of the gate: 4711". */
const ENTRY = /^[^\s:][^:]{0,59}:\s+\S/
/** The same beside other lines, where a line of a paragraph may have a colon, too. */
const LABELED = /^[^\s:](?:(?![.!?]\s)[^:]){0,59}:\s+\S/
/** Another line above such ones. It does not end like a sentence or a part of one. */
const ABOVE_ENTRIES = /^[*_`"“(]*[\p{Lu}\p{N}].*[^.,;!?]$/u
/** One of five words at most, without a comma: the title of the lines below it. */
const TITLE = /^[^\s,;]+(?:\s[^\s,;]+){0,4}$/
/** A line that ends within a sentence: "Not now. Payment is". */
const BREAKS_OFF = /[.!?]\s.*[^.!?]$/
/** The beginning of a definition, on the line below its term. */
const DEFINITION = /^\s*:\s+/
const RULE = /^\s*(?:[-*_]\s*){3,}$/
const TABLE_RULE = /^\s*(?:\|\s*)?:?-+:?\s*(?:\|\s*:?-+:?\s*)*(?:\|\s*)?$/
const CALLOUT = /^\s*\[!\w+\]\s*$/
const LINK_DEFINITION = /^\s*\[[^\]]+\]:\s+\S+/
/** Longest list that is kept with its introduction, in characters. */
const MAX_LIST_BELOW = 420
/** A longer list item, or line of such a list, in characters, is split into sentences. */
const MAX_ITEM = 300
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
/** The beginning of a line in a quotation. */
const QUOTED = /^\s*(?:>\s?)+/
/** A longer code block, in characters, is divided. */
const LONG_CODE = 550
/** Past this many characters a part of it ends at the next blank line... */
const MIN_CODE_PART = 150
/** ...and before the line with which it would pass this many. */
const MAX_CODE_PART = 500
/** The first line of a code block without a programming language. */
const PLAIN_FENCE = /^(?:`+|~+)\s*(?:te?xt|console|sh|shell|bash|cmd)?$/i
/** A line of a help text that begins an option, such as "-p, --port NUM"; not one of a command with many lines. */
const OPTION = /^\s*--?[A-Za-z](?!.*\\$)/
/** A code block with fewer such lines is not a help text. */
const MIN_OPTIONS = 3

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
      if (entries.slice(1).some(entry => DEFINITION.test(entry))) addDefinitions(units, raw)
      else for (const sentence of sentencesOf(plainText(entries.join(' ')))) units.push({ kind: 'sentence', text: sentence })
      index = end
    }
  }
  return units
}

/**
 * The number of lines that are a list of entries: all of them, or those above a sentence at the end. A list that begins
 * with another line may have more of these, each with an entry below it. In any other order the lines are a paragraph,
 * a poem or an address with line breaks, whose sentences do not end with the line: 0.
 */
function countListed (lines: readonly string[]): number {
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
function addEntries (units: Unit[], lines: readonly string[]): void {
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

function continues (lines: readonly string[], index: number): boolean {
  const line = (lines[index] as string).replace(QUOTED, '')
  return line.trim() !== '' && !ITEM.test(line) && !FENCE.test(line) && !RULE.test(line) && !CALLOUT.test(line) && !beginsTable(lines, index)
}

function beginsTable (lines: readonly string[], index: number): boolean {
  const rule = lines[index + 1] ?? ''
  return (lines[index] as string).includes('|') && rule.includes('-') && TABLE_RULE.test(rule)
}

function afterItem (units: readonly Unit[]): boolean {
  return units.at(-1)?.kind === 'item'
}

/** Adds a code block; a sentence above it that introduces it becomes the lead of each of its parts. */
function addCode (units: Unit[], code: string): void {
  const parts: Unit[] = code.length > LONG_CODE ? partsOfCode(code.split('\n')) : [{ kind: 'code', text: code }]
  const last = units.at(-1)
  const introduces = last !== undefined && last.text.endsWith(':') && last.below === undefined
  const lead = introduces && parts.some(({ kind }) => kind === 'code') ? units.pop() : undefined
  for (const part of parts) units.push(lead !== undefined && part.kind === 'code' ? { ...lead, below: part.text } : part)
}

/**
 * Divides a long code block, since few of its lines answer a question: the options of a help text become rows, other
 * code is cut at blank lines, or between any lines where they are far apart.
 */
function partsOfCode (lines: readonly string[]): Unit[] {
  const [open = '', close = ''] = [lines[0], lines.at(-1)]
  const units: Unit[] = []
  let part: string[] = []
  let size = 0
  const end = (): void => {
    if (part.some(line => /[\p{L}\p{N}]/u.test(line))) units.push({ kind: 'code', text: [open, ...outdented(part), close].join('\n') })
    part = []
    size = 0
  }
  const isHelp = PLAIN_FENCE.test(open) && lines.filter(line => OPTION.test(line)).length >= MIN_OPTIONS
  let index = 1
  while (index < lines.length - 1) {
    const line = lines[index++] as string
    if (isHelp && OPTION.test(line)) {
      end()
      const option = [line.trim().replaceAll('\t', '  ')]
      const belongs = (next: string): boolean => indentOf(next) > indentOf(line) && !OPTION.test(next)
      while (index < lines.length - 1 && belongs(lines[index] as string)) option.push((lines[index++] as string).trim())
      for (const text of partsOfItem(optionText(option.join('  ')))) units.push({ kind: 'row', text })
      continue
    }
    const isBlank = line.trim() === ''
    if (isBlank ? size > MIN_CODE_PART : size + line.length > MAX_CODE_PART) end()
    if (isBlank && size === 0) continue
    part.push(line)
    size += line.length + 1
  }
  end()
  return units
}

/** An option of a help text as a row: two spaces end its names. */
function optionText (option: string): string {
  const gap = option.indexOf('  ')
  return gap === -1 ? `\`${option}\`` : `\`${option.slice(0, gap)}\`: ${option.slice(gap).replace(/\s+/g, ' ').trim()}`
}

function outdented (lines: readonly string[]): string[] {
  const indent = lines.reduce((least, line) => line.trim() === '' ? least : Math.min(least, indentOf(line)), Infinity)
  return lines.map(line => line.slice(indent))
}

/** The spaces before a line; a blank line has none. */
export function indentOf (line: string): number {
  return Math.max(0, line.search(/\S/))
}

/** An item of a list, which ends where another one with the same or less indentation begins. */
interface Item {
  readonly indent: number
  readonly text: string
  /** The items that it is part of, outermost first. */
  readonly parents: readonly Item[]
}

function addItems (units: Unit[], lines: readonly string[], start: number): number {
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
function addDefinitions (units: Unit[], lines: readonly string[]): void {
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
function partsOfItem (text: string): string[] {
  if (text.length <= MAX_ITEM) return [text]
  const term = TERM.exec(text)?.[1]
  return sentencesOf(text).map((sentence, index) => index === 0 || term === undefined ? sentence : `${term}: ${sentence}`)
}

/** Adds table rows as sentences: the first cell, then the others with their headings. */
function addRows (units: Unit[], header: readonly string[], rows: readonly string[]): void {
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

function cellsOf (row: string): string[] {
  return row.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map(cell => plainText(cell.replaceAll('\\|', '|')))
}

function dedent (code: string, indent: string, missingFence: string | undefined): string {
  const lines = code.split('\n').map(line => line.startsWith(indent) ? line.slice(indent.length) : line.trimStart())
  // the rest of an info string, after the language, is for tools
  lines[0] = (lines[0] as string).replace(FENCE_INFO, '$1')
  if (missingFence !== undefined) lines.push(missingFence)
  return lines.join('\n')
}
