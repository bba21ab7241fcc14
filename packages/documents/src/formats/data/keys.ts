import { indentOf } from '../../text/block-lines.js'
import { PassageBuilder, type Passage } from '../../text/passages.js'

/** JSON that is nested deeper is not printed in lines, whose indentation would be much longer than the text. */
const MAX_JSON_DEPTH = 32

/** A key with a value in the same line. */
const MEMBER = /^[^:]{1,200}:\s+[^\s|>]/
const KEY = /^([^:\n]{1,200}):\s*[[{|>]?$/
const BRACKETS = /^[[\]{}]*$/

/** JSON or YAML: a key without a value is a heading; an object in a list is one item, and so is each other line. */
export function splitKeys (text: string): Passage[] {
  const builder = new PassageBuilder()
  const shown = printed(text)
  const lines = shown.split('\n')
  // what was printed in several lines is one line of the file
  const lineOf = (index: number): number => shown === text ? index + 1 : 1
  let isFirst = true
  for (let index = 0; index < lines.length; index++) {
    const line = withoutEnd(lines[index] as string)
    const content = contentOf(line)
    if (content === '' || content.startsWith('#') || content === '---' || content === '...') continue
    const isRoot = isFirst
    isFirst = false
    const begins = !isRoot && /^(?:[\]}]+,\s*)?\{$/.test(content)
    if (!begins && BRACKETS.test(content)) continue
    const key = KEY.exec(content)?.[1]
    if (key !== undefined) {
      builder.heading(Math.min(6, Math.floor(indentOf(line) / 2) + 1), key, lineOf(index))
      continue
    }
    const dash = /^\s*-\s+(?=\S)/.exec(line)?.[0].length
    const members = begins || (dash !== undefined && MEMBER.test(content)) ? membersOf(lines, index + 1, dash) : []
    if (begins && members.length === 0) continue
    builder.line(`- ${[...begins ? [] : [content], ...members].join('; ')}`, lineOf(index), lineOf(index + members.length))
    index += members.length
  }
  return builder.finish()
}

/** The members with a value that follow in an object of a list, with the indentation of its first one. */
function membersOf (lines: readonly string[], start: number, column?: number): string[] {
  const members: string[] = []
  for (let index = start; index < lines.length; index++) {
    const line = withoutEnd(lines[index] as string)
    const content = contentOf(line)
    column ??= indentOf(line)
    if (indentOf(line) !== column || !MEMBER.test(content) || KEY.test(content) || /^\s*[-#]/.test(line)) break
    members.push(content)
  }
  return members
}

/** A run of spaces is tried once, not from each of its characters. */
function withoutEnd (line: string): string {
  return line.replace(/(?<![,\s])[,\s]+$/, '')
}

function contentOf (line: string): string {
  return line.trim().replace(/^-\s+/, '').replace(/"([^"]*)":/, '$1:')
}

/** JSON in one line is printed in several, unless it is deeply nested. */
function printed (text: string): string {
  if (!/^\s*[[{]/.test(text) || text.trim().includes('\n') || depthOf(text) > MAX_JSON_DEPTH) return text
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}

/** Not isTooDeep of core: the thread that splits documents would load all of core for it. */
function depthOf (json: string): number {
  let depth = 0
  let deepest = 0
  let quoted = false
  for (let at = 0; at < json.length; at++) {
    const character = json[at]
    if (quoted && character === '\\') at++
    else if (character === '"') quoted = !quoted
    else if (!quoted && (character === '[' || character === '{')) deepest = Math.max(deepest, ++depth)
    else if (!quoted && (character === ']' || character === '}')) depth--
  }
  return deepest
}
