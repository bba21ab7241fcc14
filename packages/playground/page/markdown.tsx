import type { ComponentChildren, JSX } from 'preact'

const INLINE = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\[([^\]\n]+)\]\((https?:\/\/[^)\s]+)\)/

/** Code, bold text and links of one line; everything else is text. */
function inline (text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = []
  for (let rest = text; rest !== '';) {
    const match = INLINE.exec(rest)
    parts.push(rest.slice(0, match?.index))
    if (match === null) break
    const [whole, code, bold, label, url] = match
    parts.push(code !== undefined
      ? <code>{code}</code>
      : bold !== undefined ? <b>{bold}</b> : <a href={url!} target='_blank' rel='noopener noreferrer'>{label}</a>)
    rest = rest.slice(match.index + whole.length)
  }
  return parts
}

/** A safe subset of Markdown as DOM nodes: paragraphs, headings, lists, code. HTML stays text. */
export function Markdown ({ text }: { text: string }): JSX.Element {
  const blocks = text.split(/(^```[^\n]*\n[^]*?(?:^```[^\S\n]*$|$(?![^])))/m)
  return <>{blocks.map((block, index) => index % 2 === 1 ? <Code key={index} text={block} /> : block.split(/\n{2,}/).map(paragraph))}</>
}

function Code ({ text }: { text: string }): JSX.Element {
  return <pre tabIndex={0} role='region' aria-label='Code'><code>{text.replace(/^```[^\n]*\n/, '').replace(/\n?```\s*$/, '')}</code></pre>
}

function paragraph (text: string): ComponentChildren {
  if (text.trim() === '') return null
  const heading = /^(#{1,6}) (.*)$/.exec(text.trim())
  if (heading !== null) return <p class='heading'>{inline(heading[2]!)}</p>
  const lines = text.trim().split('\n')
  if (lines.every(line => /^\s*[-*] /.test(line))) return <ul>{lines.map((line, index) => <li key={index}>{inline(line.replace(/^\s*[-*] /, ''))}</li>)}</ul>
  if (lines.every(line => /^\s*\d+[.)] /.test(line))) return <ol>{lines.map((line, index) => <li key={index}>{inline(line.replace(/^\s*\d+[.)] /, ''))}</li>)}</ol>
  return <p>{inline(text.trim())}</p>
}
