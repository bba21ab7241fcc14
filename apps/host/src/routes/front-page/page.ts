import type { Vac } from '@polyvac/core'
import { vacInfo } from '@polyvac/core/plugin'
import { createHash } from 'node:crypto'
import { questionBody } from '../../example-question.js'
import { html, Html } from './html.js'

/** What the page shows. */
export interface Home {
  /** The address of the service for its callers, without a slash at its end. */
  readonly url: string
  readonly version: string
  readonly vacs: readonly Vac[]
  /** What the folders of a VAC left out, in words. */
  readonly leftOutOf: (vac: string) => readonly string[]
  /** Packages of the protocols that are loaded, and names of the protocols of @polyvac/vac that are on. */
  readonly protocols: readonly string[]
  /** A question for the first VAC. */
  readonly question: string
}

export const PLAYGROUND = '@polyvac/playground'

/** Most VACs that the page lists; GET /vac lists all. */
const MAX_VACS = 20

/** Longest description of a VAC, in characters. */
const MAX_DESCRIPTION_CHARS = 160

const STYLE = `:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem}
pre,code{font:.85rem/1.5 ui-monospace,monospace}pre{overflow-x:auto;padding:.6rem;border:1px solid #8886}`

/** No script, no form, no other origin. */
export const POLICY = [
  'default-src \'none\'', `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  'form-action \'none\'', 'base-uri \'none\'', 'frame-ancestors \'none\''
].join('; ')

/** The page of GET /: what the service has, and how it is called. */
export function homePage ({ url, version, vacs, leftOutOf, protocols, question }: Home): string {
  const page = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Polyvac</title>
<style>${new Html(STYLE)}</style>
<h1>Polyvac</h1>
${vacs.length === 0 ? html`<p>This service is a gateway to MCP servers: it has no VAC.</p>` : list(vacs, leftOutOf)}
<h2>Call it from a program</h2>
<pre>${commands(url, vacs[0]?.name, protocols, question).join('\n')}</pre>
<ul>
${links(url, protocols).map(([path, text]) => html`<li><a href="${url}${path}">${path}</a> ${text}</li>\n`)}</ul>
<p>Polyvac ${version}</p>
</html>
`
  return page.text
}

function list (vacs: readonly Vac[], leftOutOf: Home['leftOutOf']): Html {
  return html`<h2>VACs</h2>
<ul>
${vacs.slice(0, MAX_VACS).map(vacInfo).map(({ name, display_name: title, description }) =>
  html`<li><code>${name}</code> ${[...new Set([name, title, description.slice(0, MAX_DESCRIPTION_CHARS)])].slice(1).join(' ')}${leftOutOf(name).map(text => html`<br>${text}`)}</li>\n`)}</ul>
${vacs.length > MAX_VACS ? html`<p>and ${vacs.length - MAX_VACS} more</p>` : ''}`
}

/** Lines to paste, with the real address. */
export function commands (url: string, vac: string | undefined, protocols: readonly string[], question: string): string[] {
  const lines = vac === undefined ? [`curl -s ${url}/mcp/tools`] : []
  if (vac !== undefined && protocols.includes('direct')) {
    lines.push(`curl -s ${url}/vac/${encodeURIComponent(vac)} -H 'content-type: application/json' -d ${questionBody(question)}`)
  }
  if (vac !== undefined && protocols.some(name => ['openai', 'responses'].includes(name))) lines.push(`OPENAI_BASE_URL=${url}/openai/v1   # model "${vac}"`)
  if (vac !== undefined && protocols.includes('ai_sdk')) lines.push(`new DefaultChatTransport({ api: '${url}/ai/${encodeURIComponent(vac)}' })   // for useChat`)
  if (vac !== undefined && protocols.includes('ag_ui')) lines.push(`new HttpAgent({ url: '${url}/ag-ui/${encodeURIComponent(vac)}' })   // CopilotKit: runtimeUrl='${url}/ag-ui'`)
  if (protocols.includes('@polyvac/mcp-server')) lines.push(`claude mcp add --transport http polyvac ${url}/mcp`)
  return lines
}

/** The pages and documents of the service. */
export function links (url: string, protocols: readonly string[]): Array<[path: string, text: string]> {
  return [
    ...protocols.includes(PLAYGROUND) ? [['/playground/', 'the playground: ask over each protocol'] as [string, string]] : [],
    ['/openapi.json', 'all routes'],
    ['/ready', 'whether it can answer'],
    ...protocols.includes('@polyvac/a2a') ? [['/.well-known/agent-card.json', 'the A2A agent card'] as [string, string]] : [],
    ...protocols.includes('@polyvac/mcp-gateway') ? [['/mcp/tools', 'the tools of the MCP servers'] as [string, string]] : []
  ]
}
