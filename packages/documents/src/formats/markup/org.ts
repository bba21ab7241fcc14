import { PassageBuilder, type Passage } from '../../text/passages.js'
import { MAX_MARKUP } from '../../text/plain-text.js'

const HEADING = /^(\*+)\s+(?:(\S.*?)\s*?)(?:\s+:([\w@#%:]+):)?\s*$/
const KEYWORD = /^\s*#\+(\w+)(?:\[[^\]]*\])?:\s*(.*)$/
const BEGIN = /^\s*#\+begin_(\w+)\s*([\w+-]*)/i
const END = /^\s*#\+end_/i
const DRAWER = /^\s*:(?:PROPERTIES|LOGBOOK|CLOCK|RESULTS):\s*$/i
const RULE = /^\s*\|-[-+|]*$/

/** Org: title, headings with their tags, code, tables and lists; drawers, keywords and comments are left out. */
export function splitOrg (text: string): Passage[] {
  const builder = new PassageBuilder()
  const lines = text.split(/\r?\n/)
  let isCode = false
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] as string
    const number = at + 1
    if (isCode) {
      isCode = !END.test(line)
      builder.line(isCode ? line : '```', number)
      builder.code(isCode)
      continue
    }
    const heading = HEADING.exec(line)
    const begin = BEGIN.exec(line)
    const keyword = KEYWORD.exec(line)
    if (heading !== null) {
      const [, stars = '', title = '', tags] = heading
      builder.heading(Math.min(6, stars.length + 1), inline(title.replace(/\[#[A-Z]\]\s*/, '').replace(/\s*\[\d*\/\d*\]|\s*\[\d*%\]/, '')), number)
      if (tags !== undefined) builder.line(`tags: ${tags.split(':').filter(Boolean).join(', ')}`, number)
    } else if (begin !== null) {
      if (/^(?:src|example|export|latex)$/i.test(begin[1] as string)) {
        isCode = true
        builder.line(`\`\`\`${begin[2] as string}`, number)
        builder.code(true)
      }
    } else if (keyword !== null) {
      const [, name = '', value = ''] = keyword
      if (/^title$/i.test(name)) builder.heading(1, value, number)
      else if (/^(?:author|date|description|caption|filetags|subtitle)$/i.test(name) && value !== '') builder.line(`${name.toLowerCase()}: ${value.replace(/^:|:$/g, '').replaceAll(':', ', ')}`, number)
    } else if (DRAWER.test(line)) {
      const end = lines.findIndex((one, index) => index > at && /^\s*:END:\s*$/i.test(one))
      if (end !== -1) at = end
    } else if (END.test(line) || /^\s*#(?:\s|$)/.test(line)) {
      builder.line('', number)
    } else if (/^\s*\|/.test(line)) {
      builder.line(RULE.test(line) ? line.replace(/\+/g, '|') : inline(line), number)
    } else builder.line(inline(line.replace(/^(\s*[-+*]\s+(?:\[[ X-]\]\s+)?)(\S.*?)\s+::\s+/, '$1$2: ').replace(/^(\s*)\+\s/, '$1- ')), number)
  }
  if (isCode) builder.line('```', lines.length)
  return builder.finish()
}

function inline (text: string): string {
  if (text.length > MAX_MARKUP) return text
  return text
    .replace(/\[\[[^[\]]+\]\[([^[\]]+)\]\]/g, '$1')
    .replace(/\[\[(?:file:|id:)?([^[\]]+)\]\]/g, '$1')
    .replace(/(^|[\s('"])[=~](\S(?:[^=~\n]{0,200}?\S)?)[=~](?=[\s.,;:!?)'"]|$)/g, '$1`$2`')
    .replace(/\[fn:[^\]]*\]/g, '')
}
