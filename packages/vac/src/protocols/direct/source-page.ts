import { createHash } from 'node:crypto'
import type { Passage } from '../../protocol.js'
import { escapeHtml } from '@polyvac/core/protocol'
import { markLines, openFence, renderMarkdown, type Line, type Mark } from './markdown.js'

/** Lines that are shown before the cited ones, and after them. */
const AROUND = 100
const MAX_CITED = 500
const MAX_LINE_CHARS = 2_000

const STYLE = `
:root { color-scheme: light dark; --mark: #fff0a8; --line: #d0d0d0; --quiet: #5a5a5a }
@media (prefers-color-scheme: dark) { :root { --mark: #5a4a00; --line: #444; --quiet: #a8a8a8 } }
body { margin: 0 auto; padding: 1rem; max-width: 48rem; font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
header { border-bottom: 1px solid var(--line) }
h1 { font-size: 1.3rem; margin: 0 }
h2, h3, h4, h5, h6 { font-size: 1.1rem }
header p, .left { color: var(--quiet) }
.note { color: inherit; font-weight: bold }
pre { white-space: pre-wrap; border: 1px solid var(--line); padding: .5rem; border-radius: .3rem }
table { border-collapse: collapse; display: block; overflow-x: auto }
th, td { border: 1px solid var(--line); padding: .2rem .5rem; text-align: start; min-width: 4rem }
blockquote { margin: 0; padding-inline-start: 1rem; border-inline-start: 3px solid var(--line) }
.item p { margin: .2rem 0 }
.in1 { padding-inline-start: 1rem } .in2 { padding-inline-start: 2rem } .in3 { padding-inline-start: 3rem }
.cited { background: var(--mark); color: inherit; scroll-margin-top: 25vh }
mark.cited { display: inline-block; min-width: 100% }
`

/** Nothing runs and nothing is loaded, whatever the document has in it. */
export const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** A page that shows a passage in its document, without script: the cited lines are marked, the first is `#cited`. */
export function sourcePage ({ source, text, mediaType, lines: cited, place, changed }: Passage, title: string): string {
  const all = text.split(/\r?\n/)
  const isMarkdown = mediaType === 'text/markdown'
  const [first, last] = cited ?? [1, 1]
  const from = Math.max(1, first - AROUND)
  const to = Math.min(all.length, first + MAX_CITED, last + AROUND)
  const shown = all.slice(from - 1, to).map((line, i): Line => ({ number: from + i, text: line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS).toWellFormed()}…` : line }))
  const mark = marking(cited)
  const body = isMarkdown ? renderMarkdown(shown, mark, openFence(all.slice(0, from - 1))) : `<pre>${markLines(shown, mark)}</pre>`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(source)}${place === undefined ? '' : `, ${escapeHtml(place)}`}</p>
${noteOf(cited !== undefined, changed)}
</header>
<main dir="auto">
${leftOut(1, from - 1)}${body}
${leftOut(to + 1, all.length)}</main>
</body>
</html>
`
}

function noteOf (isMarked: boolean, changed: boolean | undefined): string {
  if (changed === true) return `<p class="note">The document has changed since it was cited.${isMarked ? ' The marked lines may be others.' : ''}</p>`
  return isMarked ? '<p><a href="#cited">To the cited lines</a></p>' : '<p class="note">The cited passage is not marked: its document keeps its text in another form.</p>'
}

function marking (cited: Passage['lines']): Mark {
  let isFirst = true
  return (first, last = first) => {
    if (cited === undefined || last < cited[0] || first > cited[1]) return ''
    const id = isFirst ? ' id="cited"' : ''
    isFirst = false
    return `${id} class="cited"`
  }
}

function leftOut (first: number, last: number): string {
  return first > last ? '' : `<p class="left">Lines ${first} to ${last} are left out.</p>\n`
}
