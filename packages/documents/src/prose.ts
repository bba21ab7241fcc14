import { ENTITIES, ENTITY } from './html.js'
import { putBackCode, takeCode } from './inline-code.js'

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
const ITEM = /^(\s*)(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.*)$/
/** A line of a list without bullets, such as "PIN of the gate: 4711". */
const ENTRY = /^[^\s:][^:]{0,59}:\s+\S/
const RULE = /^\s*(?:[-*_]\s*){3,}$/
const TABLE_RULE = /^\s*(?:\|\s*)?:?-+:?\s*(?:\|\s*:?-+:?\s*)*(?:\|\s*)?$/
const CALLOUT = /^\s*\[!\w+\]\s*$/
const LINK_DEFINITION = /^\s*\[[^\]]+\]:\s+\S+/
/** Longest list that is kept with its introduction, in characters. */
const MAX_LIST_BELOW = 420
/** A longer list item, or line of such a list, in characters, is split into sentences. */
const MAX_ITEM = 300
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
/** Abbreviations: their full stop does not end a sentence. */
const ABBREVIATION = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|no|fig|mr|mrs|dr|prof|st|a\.k\.a|viz|ca)\.$/i
// eslint-disable-next-line no-control-regex -- NUL marks removed code spans; texts contain none
const SENTENCE_END = /(?:(?<![.!?…])[.!?…]+["'”’)\]]*(?=\s+["'“‘([]*[\p{Lu}\p{N}\u0000])|[。！？]+["'”’」』）)]*)\s*/gu

/** A longer sentence is cut, in characters. */
export const MAX_SENTENCE = 420
/** Each part of a sentence that is cut has at most this many characters. */
const CUT_SENTENCE = 280
/** The beginning of a text shows its script. */
const SCRIPT_SAMPLE = 200
const LATIN = /\p{Script=Latin}/u

let segmenter: Intl.Segmenter | undefined

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
    } else if (line.includes('|') && TABLE_RULE.test(lines[index + 1] ?? '') && (lines[index + 1] as string).includes('-')) {
      let end = index + 2
      while (end < lines.length && (lines[end] as string).includes('|')) end++
      addRows(units, cellsOf(line), lines.slice(index + 2, end))
      index = end
    } else if (ITEM.test(line)) {
      index = addItems(units, lines, index)
    } else {
      let end = index + 1
      while (end < lines.length && continues(lines[end] as string)) end++
      const entries = lines.slice(index, end).map(part => part.replace(QUOTED, '').trim())
      // a long one is a paragraph, such as a speech in a transcript
      if (entries.length > 1 && entries.every(entry => entry.length <= MAX_ITEM && ENTRY.test(entry))) {
        for (const entry of entries) units.push({ kind: 'row', text: plainText(entry) })
        index = end
        continue
      }
      const text = entries.join(' ')
      for (const sentence of sentencesOf(plainText(text))) units.push({ kind: 'sentence', text: sentence })
      index = end
    }
  }
  return units
}

function continues (raw: string): boolean {
  const line = raw.replace(QUOTED, '')
  return line.trim() !== '' && !ITEM.test(line) && !FENCE.test(line) && !RULE.test(line) && !CALLOUT.test(line)
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
function indentOf (line: string): number {
  return Math.max(0, line.search(/\S/))
}

function addItems (units: Unit[], lines: readonly string[], start: number): number {
  const items: string[] = []
  let index = start
  while (index < lines.length) {
    const item = ITEM.exec((lines[index] as string).replace(QUOTED, ''))
    if (item === null) break
    const text = [item[2] as string]
    for (index++; index < lines.length && continues(lines[index] as string); index++) text.push((lines[index] as string).replace(QUOTED, '').trim())
    while (lines[index] === '' && ITEM.test(lines[index + 1] ?? '')) index++
    const plain = plainText(text.join(' '))
    if (plain !== '') items.push(...partsOfItem(plain))
  }
  const lead = units.at(-1)
  const list = items.map(item => `- ${item}`).join('\n')
  if (lead?.kind === 'sentence' && lead.text.endsWith(':') && lead.below === undefined && list.length <= MAX_LIST_BELOW) {
    units[units.length - 1] = { ...lead, below: list }
  } else {
    for (const item of items) units.push({ kind: 'item', text: item })
  }
  return index
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
    const [only] = cells
    const text = cells.length === 1 && only !== undefined
      ? only.cell
      : cells.map(({ cell, title }) => title === '' ? cell : `${title}: ${cell}`).join('; ')
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

/** The text of Markdown without its syntax. Inline code is not changed, nor is emphasis that does not end soon. */
export function plainText (markdown: string): string {
  const { text, code } = takeCode(markdown)
  const plain = text
    .replace(/!\[[^[\]]*\](?:\((?:[^()]|\([^()]*\))*\)|\[[^[\]]*\])?/g, '')
    .replace(/\[([^\][]*)\]\((?:[^()]|\([^()]*\))*\)/g, '$1')
    .replace(/(?<![\p{L}\p{N}_\]])\[(?!\d+\])([^\][]+)\]\[[^\]]*\]/gu, '$1')
    .replace(/\[\^[^[\]]+\]|(?<=[.,;:!?…。！？)"”’»])(?:\[[1-9]\d{0,2}\])+(?!\()/g, '')
    // a number in brackets would be taken for a citation of the answer
    .replace(/(?<![\p{L}\p{N}_$.\]])[\p{L}\p{N}_$.]*(?:\[\d{1,3}\])+(?!\()/gu, '`$&`')
    .replace(/<(https?:[^<>\s]+)>/g, '$1')
    .replace(/(\*\*\*|\*\*|\*|~~)(?=\S)(.{0,400}?\S)\1/g, '$2')
    .replace(/(?<![\p{L}\p{N}_])(__|_)(?=\S)(.{0,400}?\S)\1(?![\p{L}\p{N}_])/gu, '$2')
    .replace(ENTITY, (_, name: string) => ENTITIES[name] as string)
    .replace(/\\([\\`*_{}[\]()#+.!<>|~-])/g, '$1')
  return putBackCode(plain, code)
    .replace(/\s+/g, ' ')
    .replace(/^\s*(?:\p{Extended_Pictographic}\uFE0F?|\* )\s*/u, '')
    .trim()
}

/**
 * Splits plain text into sentences; full stops inside inline code and abbreviations do not end one. A long sentence, or
 * a paragraph of a script without marks at the end of a sentence, is cut between clauses.
 */
export function sentencesOf (text: string): string[] {
  const { text: safe, code } = takeCode(text)
  const sentences: string[] = []
  let start = 0
  for (const end of endsOf(safe)) {
    const sentence = safe.slice(start, end).trim()
    if (ABBREVIATION.test(sentence) || /(?:^|\s)\d{1,2}\.$/.test(sentence)) continue
    sentences.push(sentence)
    start = end
  }
  sentences.push(safe.slice(start).trim())
  return sentences.filter(sentence => sentence !== '')
    .flatMap(sentence => cutSentence(putBackCode(sentence, code)))
}

function endsOf (text: string): number[] {
  const letters = text.slice(0, SCRIPT_SAMPLE).match(/\p{L}/gu) ?? []
  if (letters.filter(letter => !LATIN.test(letter)).length * 2 <= letters.length) {
    return Array.from(text.matchAll(SENTENCE_END), match => match.index + match[0].length)
  }
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'sentence' })
  return Array.from(segmenter.segment(text), ({ index, segment }) => index + segment.length)
}

function cutSentence (sentence: string): string[] {
  const parts: string[] = []
  let rest = sentence
  while (rest.length > MAX_SENTENCE) {
    const head = rest.slice(0, CUT_SENTENCE)
    // a cut within inline code would leave half of it
    const clause = [...head.matchAll(/[;:,،؛、，；。]\s*/gu)].findLast(({ index }) => index > CUT_SENTENCE / 3 && isOutsideCode(head.slice(0, index)))
    const end = clause === undefined ? head.lastIndexOf(' ') + 1 || CUT_SENTENCE : clause.index + clause[0].length
    parts.push(rest.slice(0, end).trim())
    rest = rest.slice(end)
  }
  parts.push(rest.trim())
  return parts.filter(part => part !== '')
}

function isOutsideCode (head: string): boolean {
  return head.split('`').length % 2 === 1
}
