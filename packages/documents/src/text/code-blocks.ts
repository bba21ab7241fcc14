import { indentOf } from './block-lines.js'
import { partsOfItem } from './lists.js'
import type { Unit } from './unit.js'

const FENCE_INFO = /^((?:`{3,}|~{3,})\s*[^\s`]*).*$/
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

/** Adds a code block; a sentence above it that introduces it becomes the lead of each of its parts. */
export function addCode (units: Unit[], code: string): void {
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

/** A code block without the indentation of its first line, and without what is behind its language. */
export function dedent (code: string, indent: string, missingFence: string | undefined): string {
  const lines = code.split('\n').map(line => line.startsWith(indent) ? line.slice(indent.length) : line.trimStart())
  // the rest of an info string, after the language, is for tools
  lines[0] = (lines[0] as string).replace(FENCE_INFO, '$1')
  if (missingFence !== undefined) lines.push(missingFence)
  return lines.join('\n')
}
