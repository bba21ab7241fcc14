import { Hyphens } from '../../text/hyphens.js'
import { PassageBuilder, type Passage } from '../../text/passages.js'

/** A longer first line of a plain text, in characters, is not its title. */
const MAX_TITLE = 80

/** The date or time that begins a line of a chat or log. */
const STAMP = /^\[?(?:(?:\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})(?:(?:T|,? )\d{1,2}:\d{2}(?::\d{2})?)?|\d{1,2}:\d{2}(?::\d{2})?)(?=[\s\],;:Z–-])/
/** A paragraph with fewer such lines in one form is not a chat or log. */
const MIN_STAMPS = 3

/** The first line is the title where a blank line and text follow it, and it does not end like a sentence. */
export function splitText (text: string): Passage[] {
  const builder = new PassageBuilder()
  const lines = joinHyphens(text.split(/\r?\n/))
  const start = lines.findIndex(line => line.trim() !== '')
  const title = lines[start]?.trim() ?? ''
  const isTitle = title.length <= MAX_TITLE && /^[\p{L}\p{N}](?:.*[^\p{P}])?$/u.test(title) && lines[start + 1]?.trim() === '' && lines.slice(start + 1).some(line => line.trim() !== '')
  if (isTitle) builder.heading(1, title, start + 1)
  const from = isTitle ? start + 1 : 0
  for (const [index, line] of withEntries(lines.slice(from)).entries()) builder.line(line, from + index + 1)
  return builder.finish()
}

/** The lines with whole words where a layout has divided them. */
function joinHyphens (lines: string[]): string[] {
  if (!lines.some(line => /[-\u2010]\s*$/.test(line))) return lines
  const hyphens = new Hyphens()
  hyphens.learn(lines)
  for (let at = 0; at + 1 < lines.length; at++) [lines[at], lines[at + 1]] = hyphens.join((lines[at] as string).trimEnd(), (lines[at + 1] as string)) as [string, string]
  return lines
}

/** The lines that begin with a date or time of one form become list items, where a paragraph has several of them. */
function withEntries (lines: readonly string[]): string[] {
  const out: string[] = []
  for (let start = 0; start < lines.length;) {
    let end = start + 1
    while (end < lines.length && (lines[end] as string).trim() !== '') end++
    const forms = lines.slice(start, end).map(line => STAMP.exec(line)?.[0].replace(/\d+/g, '0'))
    const form = forms.find(one => one !== undefined)
    const isLog = form !== undefined && forms.filter(one => one === form).length >= MIN_STAMPS
    for (let at = start; at < end; at++) out.push(isLog && forms[at - start] === form ? `- ${lines[at] as string}` : lines[at] as string)
    start = end
  }
  return out
}
