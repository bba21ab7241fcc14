import type { Answer } from '@polyvac/core'
import { sourceLines, vacInfo } from '@polyvac/core/plugin'
import type { Vac } from '@polyvac/core'
import { createHash } from 'node:crypto'
import { html, Html } from './html.js'

/** What the page shows. */
export interface Home {
  /** The address of the service for its callers, without a slash at its end. */
  readonly url: string
  readonly version: string
  readonly vacs: readonly Vac[]
  /** Packages of the protocols that are loaded, and names of the protocols of @polyvac/vac that are on. */
  readonly protocols: readonly string[]
}

/** A question of the form, and what came of it. */
export interface Asked {
  readonly vac: string
  readonly question: string
  readonly answer?: Pick<Answer, 'answer' | 'source_documents'> | undefined
  readonly problem?: string | undefined
}

/** Most VACs that the page lists; GET /vac lists all. */
const MAX_VACS = 20

/** Longest description of a VAC, in characters. */
const MAX_DESCRIPTION_CHARS = 160

/** Most sources of an answer, and the longest excerpt of one, in characters. */
const MAX_SOURCES = 20
const MAX_EXCERPT_CHARS = 400

/** Longest answer, in characters; the JSON routes send all of it. */
const MAX_ANSWER_CHARS = 100_000

const STYLE = `body{font:1rem/1.5 system-ui,sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
pre,code{font:.85rem/1.5 ui-monospace,monospace}pre{overflow-x:auto;padding:.6rem;border:1px solid #8886}
textarea,select,button{font:inherit;padding:.4rem}textarea{box-sizing:border-box;width:100%}
.answer{white-space:pre-wrap;border-left:3px solid #48c;padding-left:1rem}.problem{border-color:#c44}`

/** No script, no other origin; the form posts to this origin alone. */
export const POLICY = [
  'default-src \'none\'', `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  'form-action \'self\'', 'base-uri \'none\'', 'frame-ancestors \'none\''
].join('; ')

/** The page of GET /, and, with a question, of POST /ask. It needs no script. */
export function homePage (home: Home, asked?: Asked): string {
  const { url, version, vacs, protocols } = home
  const page = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Polyvac</title>
<style>${new Html(STYLE)}</style>
<h1>Polyvac</h1>
${asked === undefined ? '' : result(asked)}
${vacs.length === 0 ? html`<p>This service is a gateway to MCP servers: it has no VAC.</p>` : form(vacs, asked, protocols)}
<h2>Call it from a program</h2>
<pre>${commands(url, vacs[0]?.name, protocols).join('\n')}</pre>
<ul>
${links(url, protocols).map(([path, text]) => html`<li><a href="${url}${path}">${path}</a> ${text}</li>\n`)}</ul>
<p>Polyvac ${version}</p>
</html>
`
  return page.text
}

/** The list of the VACs, and, where the route that it posts to is on, the form. */
function form (vacs: readonly Vac[], asked: Asked | undefined, protocols: readonly string[]): Html {
  const shown = vacs.slice(0, MAX_VACS).map(vacInfo)
  const fields = html`<form method="post" action="ask">
<p><label>VAC <select name="vac">
${shown.map(({ name, display_name: title }) =>
  html`<option value="${name}"${new Html(name === asked?.vac ? ' selected' : '')}>${title}</option>\n`)}</select></label></p>
<p><label>Question <textarea name="question" rows="3" required maxlength="4000">${asked?.question ?? ''}</textarea></label></p>
<p><button>Ask</button></p>
</form>
`
  return html`${protocols.includes('direct') ? fields : ''}<h2>VACs</h2>
<ul>
${shown.map(({ name, description }) => html`<li><code>${name}</code> ${description.slice(0, MAX_DESCRIPTION_CHARS)}</li>\n`)}</ul>
${vacs.length > MAX_VACS ? html`<p>and ${vacs.length - MAX_VACS} more</p>` : ''}`
}

function result ({ question, answer, problem }: Asked): Html {
  if (answer === undefined) return html`<h2>${question}</h2>\n<p class="answer problem" role="alert">${problem ?? 'There is no answer.'}</p>`
  const sources = answer.source_documents.slice(0, MAX_SOURCES)
  const lines = sourceLines({ source_documents: sources })
  return html`<h2>${question}</h2>
<div class="answer">${answer.answer.slice(0, MAX_ANSWER_CHARS)}</div>
${sources.map(({ page_content: content }, i) =>
  html`<details><summary>${lines[i]!}</summary><div class="answer">${content.slice(0, MAX_EXCERPT_CHARS)}</div></details>\n`)}`
}

/** Lines to paste, with the real address. */
export function commands (url: string, vac: string | undefined, protocols: readonly string[]): string[] {
  const lines = vac === undefined ? [`curl -s ${url}/mcp/tools`] : []
  if (vac !== undefined && protocols.includes('direct')) {
    lines.push(`curl -s ${url}/vac/${encodeURIComponent(vac)} -H 'content-type: application/json' -d '{"user_input":"How do I start?"}'`)
  }
  if (vac !== undefined && protocols.includes('openai')) lines.push(`OPENAI_BASE_URL=${url}/openai/v1   # model "${vac}"`)
  if (protocols.includes('@polyvac/mcp-server')) lines.push(`claude mcp add --transport http polyvac ${url}/mcp`)
  return lines
}

/** The pages and documents of the service. */
export function links (url: string, protocols: readonly string[]): Array<[path: string, text: string]> {
  return [
    ...protocols.includes('@polyvac/playground') ? [['/playground/', 'the playground: ask over each protocol'] as [string, string]] : [],
    ['/openapi.json', 'all routes'],
    ['/ready', 'whether it can answer'],
    ...protocols.includes('@polyvac/a2a') ? [['/.well-known/agent-card.json', 'the A2A agent card'] as [string, string]] : [],
    ...protocols.includes('@polyvac/mcp-gateway') ? [['/mcp/tools', 'the tools of the MCP servers'] as [string, string]] : []
  ]
}
