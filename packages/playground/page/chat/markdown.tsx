import { createContext, type ComponentChildren, type JSX } from 'preact'
import { useContext, useMemo } from 'preact/hooks'
import { ADDRESS } from '../shared/address.js'
import { CopyButton, count, Link } from '../shared/ui.js'

/** Renders the citation `[n]`; undefined where there is no such source, so that it stays text. */
export type Cite = (number: number) => JSX.Element | undefined
/** How the texts inside render their citations. */
export const Citing = createContext<Cite>(() => undefined)

/** Bounded: without a bound each mark of a line is a search to its end. */
const INLINE = new RegExp(/`([^`\n]+)`|\*\*([^*\n]{1,2000})\*\*|\[([^[\]\n]{1,2000})\]\((https?:\/\/[^)\s]{1,2000})\)|\[([1-9]\d{0,3})\](?!\()|\*([^*\s][^*\n]{0,2000}?)\*(?!\*)|/.source + ADDRESS.source)

/** Code, bold text, links and citations of one line; everything else is text. */
function inline (text: string, cite: Cite): ComponentChildren[] {
  const parts: ComponentChildren[] = []
  for (let rest = text; rest !== '';) {
    const match = INLINE.exec(rest)
    const [whole = '', code, bold, label, url, number, italic, bare] = match ?? []
    const before = rest.slice(0, match?.index)
    // a citation stays on the line of what it is for
    const citation = number === undefined ? undefined : cite(Number(number))
    parts.push(citation === undefined ? before : before.replace(/ $/, '\u00a0'))
    if (match === null) break
    if (number !== undefined) parts.push(citation ?? whole)
    else if (code !== undefined) parts.push(<code>{code}</code>)
    else if (bold !== undefined) parts.push(<b>{bold}</b>)
    else parts.push(italic !== undefined ? <em>{italic}</em> : <Link url={url ?? bare!}>{label ?? bare}</Link>)
    rest = rest.slice(match.index + whole.length)
  }
  return parts
}

/** Citations in a paragraph by themselves, which belong to the code above them. */
const CITES = /^\s*(?:\[[1-9]\d{0,3}\](?!\()[^\S\n]*)+(?:\n*$|\n\s*\n)/

/** A safe subset of Markdown as DOM nodes: paragraphs, headings, lists, code. HTML stays text. */
export function Markdown ({ text }: { text: string }): JSX.Element {
  const blocks = text.split(/(^```[^\n]*\n[^]*?(?:^```[^\S\n]*$|$(?![^])))/m)
  return (
    <>
      {blocks.map((block, index) => index % 2 === 1
        ? <Code key={index} text={block} cites={CITES.exec(blocks[index + 1] ?? '')?.[0].trim()} />
        : (index === 0 ? block : block.replace(CITES, '')).split(/\n\s*\n/).map((text, part) => <Paragraph key={`${index}.${part}`} text={text} />))}
    </>
  )
}

function Code ({ text, cites = '' }: { readonly text: string, readonly cites?: string | undefined }): JSX.Element {
  const cite = useContext(Citing)
  const [, language = ''] = /^```[ \t]*([^\s`]*)/.exec(text) ?? []
  const code = text.replace(/^```[^\n]*\n/, '').replace(/\n?```\s*$/, '')
  return (
    <div class='code'>
      <div class='code-head'><span>{language}{cites !== '' && <> {inline(cites, cite)}</>}</span><CopyButton text={() => code} label='Copy' testId='chat-copy-code' /></div>
      <pre tabIndex={0} role='region' aria-label='Code'><code>{code}</code></pre>
    </div>
  )
}

/** A paragraph of an answer that grows is rendered again only where its own text grows, or its citations. */
function Paragraph ({ text }: { text: string }): JSX.Element {
  const cite = useContext(Citing)
  return useMemo(() => <>{blocksOf(text.split('\n').filter(line => line.trim()), cite)}</>, [text, cite])
}

/** What begins a line of each kind; lists have the names of their elements. */
const KINDS = { table: /^\s*\|/, quote: /^\s*> ?/, heading: /^#{1,6} +/, ul: /^\s*[-*] +/, ol: /^\s*\d{1,9}[.)] +/ }
const KIND_NAMES = Object.keys(KINDS) as Array<keyof typeof KINDS>

/** Lists in lists that are shown as such: each takes 40 px, and the page fits 360 px. */
const MAX_DEPTH = 4

interface Run { readonly kind: keyof typeof KINDS | 'text', readonly indent: number, readonly lines: string[] }

/** The lines of a paragraph as runs of one kind. A list may follow a line of text directly; an item has inner lists. */
function blocksOf (text: readonly string[], cite: Cite, depth = MAX_DEPTH): ComponentChildren[] {
  const runs: Run[] = []
  for (const line of text) {
    const last = runs.at(-1)
    const indent = line.search(/\S/)
    const isInItem = (last?.kind === 'ul' || last?.kind === 'ol') && indent > last.indent
    const found = KIND_NAMES.find(name => KINDS[name].test(line) && (name !== 'quote' || depth > 0)) ?? 'text'
    // a line of text that goes on with a number is not a list, unless it begins one
    const kind = found === 'ol' && last?.kind === 'text' && parseInt(line) !== 1 ? 'text' : found
    if (isInItem && depth > 0) last.lines.push(last.lines.pop()! + (kind === 'text' ? ` ${line.trim()}` : `\n${line}`))
    else if (last?.kind === kind) last.lines.push(line)
    else runs.push({ kind, indent, lines: [line] })
  }
  return runs.map(({ kind, lines }, index) => {
    // a paragraph of citations belongs to the code or table above it
    if (kind === 'text') return <p key={index} dir='auto' class={/^(?:\s*\[\d+\])+\s*$/.test(lines.join(' ')) ? 'cites' : undefined}>{inline(lines.join('\n').trim(), cite)}</p>
    if (kind === 'table') return <Table key={index} rows={rowsOf(lines)} cite={cite} />
    if (kind === 'quote') return <blockquote key={index} dir='auto'>{blocksOf(lines.map(line => line.replace(KINDS.quote, '')), cite, depth - 1)}</blockquote>
    const items = lines.map(line => {
      const [first = '', ...inner] = line.replace(KINDS[kind], '').split('\n')
      return [inline(first, cite), blocksOf(inner, cite, depth - 1)]
    })
    if (kind === 'heading') return items.map((item, part) => <p key={`${index}.${part}`} class='heading' dir='auto'><b>{item}</b></p>)
    const List = kind
    return <List key={index} dir='auto' {...kind === 'ol' && { start: parseInt(lines[0]!) }}>{items.map((item, part) => <li key={part}>{item}</li>)}</List>
  })
}

/** The cells of a table, without the line below its head. */
const rowsOf = (lines: readonly string[]): string[][] => lines.filter(line => /[^|\s:-]/.test(line)).map(line => line.trim().replace(/^\||\|$/g, '').split('|'))

/** A table, which a person copies as tab-separated text: spreadsheets take that. */
function Table ({ rows, cite }: { readonly rows: readonly string[][], readonly cite: Cite }): JSX.Element {
  const cells = (row: readonly string[], Cell: 'th' | 'td'): JSX.Element[] => row.map((cell, index) => <Cell key={index} dir='auto'>{inline(cell.trim(), cite)}</Cell>)
  const [head = [], ...body] = rows
  return (
    <div class='table'>
      <div class='code-head'><span>{count(body.length, 'row')}</span><CopyButton text={() => rows.map(row => row.map(cell => cell.trim()).join('\t')).join('\n')} label='Copy' testId='chat-copy-table' /></div>
      <div class='scroll' tabIndex={0} role='region' aria-label='Table'>
        <table>
          <thead><tr>{cells(head, 'th')}</tr></thead>
          <tbody>{body.map((row, index) => <tr key={index}>{cells(row, 'td')}</tr>)}</tbody>
        </table>
      </div>
    </div>
  )
}
