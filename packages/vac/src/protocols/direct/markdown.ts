import { escapeHtml } from '@polyvac/core/protocol'

/** A line of a document, with its number. */
export interface Line {
  readonly number: number
  readonly text: string
}

/** Returns the attributes of an element if the lines are cited: ` class="cited"`, the first time with the anchor. */
export type Mark = (first: number, last?: number) => string

const FENCE = /^ {0,3}(`{3,}|~{3,})/
const HEADING = /^ {0,3}(#{1,6})\s+(\S.*)$/
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(\S.*)$/
const QUOTE = /^ {0,3}> ?/
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/
const COMMENT = /^\s*<!--.*-->\s*$/
const DELIMITERS = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/
const MAX_QUOTES = 4

/** Code, images, links, addresses in angle brackets, bold and italic text: each ends before it could begin again. */
const INLINE = /`([^`]+)`|!\[([^\][]*)\]\([^()]*\)|\[([^\][]+)\]\(([^()\s]*)(?:\s[^()]*)?\)|<((?:https?:\/\/|mailto:)[^\s<>]+)>|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*/g

/** The fence that is open after some lines; undefined outside of code. */
export function openFence (lines: readonly string[], fence?: string): string | undefined {
  for (const line of lines) fence = fenceAfter(line, fence)
  return fence
}

function fenceAfter (line: string, fence: string | undefined): string | undefined {
  const [, mark] = FENCE.exec(line) ?? []
  return fence === undefined ? mark : mark?.startsWith(fence) === true && line.trim() === mark ? undefined : fence
}

/** The headings above a line, from the outermost, and a heading at the line. */
export function headingsAt (lines: readonly string[], number: number): string[] {
  const path: string[] = []
  let fence: string | undefined
  for (const line of lines.slice(0, number)) {
    const [, marks = '', text = ''] = fence === undefined ? HEADING.exec(line) ?? [] : []
    if (marks !== '') path.splice(marks.length - 1, path.length, text.trim())
    fence = fenceAfter(line, fence)
  }
  return path.filter(text => text !== undefined)
}

/**
 * Markdown as HTML without anything that runs or loads: HTML in it is text, and an image is its description.
 * @param fence the fence of the code in which the lines begin
 */
export function renderMarkdown (lines: readonly Line[], mark: Mark, fence?: string, depth = 0): string {
  const html: string[] = []
  let at = 0
  if (fence !== undefined) code(fence)
  while (at < lines.length) {
    const { number, text } = lines[at]!
    const [, marks] = HEADING.exec(text) ?? []
    const [, opened] = FENCE.exec(text) ?? []
    if (text.trim() === '' || COMMENT.test(text)) {
      at++
    } else if (opened !== undefined) {
      at++
      code(opened)
    } else if (marks !== undefined) {
      // the title of the page is its first heading
      const level = Math.min(6, marks.length + 1)
      html.push(`<h${level}${mark(number)}>${inline(HEADING.exec(text)![2]!)}</h${level}>`)
      at++
    } else if (RULE.test(text)) {
      html.push('<hr>')
      at++
    } else if (QUOTE.test(text) && depth < MAX_QUOTES) {
      const quoted = take(line => QUOTE.test(line))
      html.push(`<blockquote>${renderMarkdown(quoted.map(({ number, text }) => ({ number, text: text.replace(QUOTE, '') })), mark, undefined, depth + 1)}</blockquote>`)
    } else if (text.includes('|') && DELIMITERS.test(lines[at + 1]?.text ?? '')) {
      html.push(table(take(line => line.includes('|'))))
    } else {
      paragraph()
    }
  }
  return html.join('\n')

  function take (isNext: (line: string) => boolean): Line[] {
    const taken: Line[] = []
    for (; at < lines.length && isNext(lines[at]!.text); at++) taken.push(lines[at]!)
    return taken
  }

  function code (opened: string): void {
    const taken = take(line => fenceAfter(line, opened) !== undefined)
    at++
    html.push(`<pre><code>${markLines(taken, mark)}</code></pre>`)
  }

  /** A paragraph, or an item of a list with its further lines. */
  function paragraph (): void {
    const [first] = lines.slice(at, ++at) as [Line]
    const [, indent, bullet, content = first.text] = ITEM.exec(first.text) ?? []
    const rest = take(line => line.trim() !== '' && ![FENCE, HEADING, ITEM, QUOTE, RULE].some(start => start.test(line)))
    const text = [content, ...rest.map(({ text }) => text)].map(line => line.trim()).join('\n')
    const last = rest.at(-1)?.number ?? first.number
    const item = bullet === undefined ? '' : `<span>${/\d/.test(bullet) ? bullet : '•'}</span> `
    const level = Math.min(3, Math.floor((indent ?? '').replaceAll('\t', '    ').length / 2))
    html.push(`<div${bullet === undefined ? '' : ` class="item in${level}"`}><p${mark(first.number, last)}>${item}${inline(text)}</p></div>`)
  }

  function table ([head, , ...rows]: Line[]): string {
    const row = ({ number, text }: Line, cell: string): string =>
      `<tr${mark(number)}>${cellsOf(text).map(content => `<${cell}>${inline(content)}</${cell}>`).join('')}</tr>`
    return `<table><thead>${row(head!, 'th')}</thead><tbody>${rows.map(line => row(line, 'td')).join('')}</tbody></table>`
  }
}

/** Lines as they are written, each cited one marked. */
export function markLines (lines: readonly Line[], mark: Mark): string {
  return lines.map(({ number, text }) => {
    const attributes = mark(number)
    return attributes === '' ? escapeHtml(text) : `<mark${attributes}>${escapeHtml(text)}</mark>`
  }).join('\n')
}

function cellsOf (row: string): string[] {
  const inside = row.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '')
  return inside.split(/(?<!\\)\|/).map(cell => cell.trim().replaceAll('\\|', '|'))
}

function inline (text: string, depth = 0): string {
  if (depth > 3) return escapeHtml(text)
  const html: string[] = []
  let end = 0
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, image, label, target, address, bold, italic] = match
    html.push(escapeHtml(text.slice(end, match.index)))
    end = match.index + whole.length
    if (code !== undefined) html.push(`<code>${escapeHtml(code)}</code>`)
    else if (image !== undefined) html.push(`<em>[${escapeHtml(image === '' ? 'image' : `image: ${image}`)}]</em>`)
    else if (label !== undefined) html.push(link(target!, inline(label, depth + 1)))
    else if (address !== undefined) html.push(link(address, escapeHtml(address)))
    else if (bold !== undefined) html.push(`<strong>${inline(bold, depth + 1)}</strong>`)
    else html.push(`<em>${inline(italic!, depth + 1)}</em>`)
  }
  return html.join('') + escapeHtml(text.slice(end))
}

/** A link to another site or to a person; any other is its text. */
function link (target: string, html: string): string {
  const { protocol, href } = URL.canParse(target) ? new URL(target) : { protocol: '', href: '' }
  if (!['http:', 'https:', 'mailto:'].includes(protocol)) return html
  return `<a href="${escapeHtml(href)}" rel="noopener noreferrer">${html}</a>`
}
