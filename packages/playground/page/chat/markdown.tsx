import type { ComponentChildren, JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { ADDRESS } from '../shared/address.js'
import { Link } from '../shared/ui.js'

/** Bounded: without a bound each mark of a line is a search to its end. */
const INLINE = new RegExp(/`([^`\n]+)`|\*\*([^*\n]{1,2000})\*\*|\[([^[\]\n]{1,2000})\]\((https?:\/\/[^)\s]{1,2000})\)|/.source + ADDRESS.source)

/** Code, bold text and links of one line; everything else is text. */
function inline (text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = []
  for (let rest = text; rest !== '';) {
    const match = INLINE.exec(rest)
    parts.push(rest.slice(0, match?.index))
    if (match === null) break
    const [whole, code, bold, label, url, bare] = match
    parts.push(code !== undefined
      ? <code>{code}</code>
      : bold !== undefined ? <b>{bold}</b> : <Link url={url ?? bare!}>{label ?? bare}</Link>)
    rest = rest.slice(match.index + whole.length)
  }
  return parts
}

/** A safe subset of Markdown as DOM nodes: paragraphs, headings, lists, code. HTML stays text. */
export function Markdown ({ text }: { text: string }): JSX.Element {
  const blocks = text.split(/(^```[^\n]*\n[^]*?(?:^```[^\S\n]*$|$(?![^])))/m)
  return (
    <>
      {blocks.map((block, index) => index % 2 === 1
        ? <Code key={index} text={block} />
        : block.split(/\n\s*\n/).map((text, part) => <Paragraph key={`${index}.${part}`} text={text} />))}
    </>
  )
}

function Code ({ text }: { text: string }): JSX.Element {
  return <pre tabIndex={0} role='region' aria-label='Code'><code>{text.replace(/^```[^\n]*\n/, '').replace(/\n?```\s*$/, '')}</code></pre>
}

/** A paragraph of an answer that grows is rendered again only where its own text grows. */
const Paragraph = ({ text }: { text: string }): JSX.Element => useMemo(() => <>{blocksOf(text.split('\n').filter(line => line.trim()))}</>, [text])

/** What begins a line of each kind; lists have the names of their elements. */
const KINDS = { table: /^\s*\|/, heading: /^#{1,6} +/, ul: /^\s*[-*] +/, ol: /^\s*\d{1,9}[.)] +/ }
const KIND_NAMES = Object.keys(KINDS) as Array<keyof typeof KINDS>

/** Lists in lists that are shown as such: each takes 40 px, and the page fits 360 px. */
const MAX_DEPTH = 4

interface Run { readonly kind: keyof typeof KINDS | 'text', readonly indent: number, readonly lines: string[] }

/** The lines of a paragraph as runs of one kind. A list may follow a line of text directly; an item has inner lists. */
function blocksOf (text: readonly string[], depth = MAX_DEPTH): ComponentChildren[] {
  const runs: Run[] = []
  for (const line of text) {
    const last = runs.at(-1)
    const indent = line.search(/\S/)
    const isInItem = (last?.kind === 'ul' || last?.kind === 'ol') && indent > last.indent
    const found = KIND_NAMES.find(name => KINDS[name].test(line)) ?? 'text'
    // a line of text that goes on with a number is not a list, unless it begins one
    const kind = found === 'ol' && last?.kind === 'text' && parseInt(line) !== 1 ? 'text' : found
    if (isInItem && depth > 0) last.lines.push(last.lines.pop()! + (kind === 'text' ? ` ${line.trim()}` : `\n${line}`))
    else if (last?.kind === kind) last.lines.push(line)
    else runs.push({ kind, indent, lines: [line] })
  }
  return runs.map(({ kind, lines }, index) => {
    if (kind === 'text') return <p key={index} dir='auto'>{inline(lines.join('\n').trim())}</p>
    if (kind === 'table') return <table key={index} dir='auto'>{rowsOf(lines).map(Row)}</table>
    const items = lines.map(line => {
      const [first = '', ...inner] = line.replace(KINDS[kind], '').split('\n')
      return [inline(first), blocksOf(inner, depth - 1)]
    })
    if (kind === 'heading') return items.map((item, part) => <p key={`${index}.${part}`} dir='auto'><b>{item}</b></p>)
    const List = kind
    return <List key={index} dir='auto' {...kind === 'ol' && { start: parseInt(lines[0]!) }}>{items.map((item, part) => <li key={part}>{item}</li>)}</List>
  })
}

/** The cells of a table, without the line below its head. */
const rowsOf = (lines: readonly string[]): string[][] => lines.filter(line => /[^|\s:-]/.test(line)).map(line => line.trim().replace(/^\||\|$/g, '').split('|'))

function Row (cells: readonly string[], row: number): JSX.Element {
  const Cell = row === 0 ? 'th' : 'td'
  return <tr key={row}>{cells.map((cell, index) => <Cell key={index}>{inline(cell)}</Cell>)}</tr>
}
