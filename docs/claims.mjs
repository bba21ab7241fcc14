// What the pages claim about what exists and what does not: [page, text of the page, whether the code agrees].
// test/docs.test.ts looks for the text on the page and calls the check, so neither the code nor the page can change
// without the other. A sentence of a page that denies something (see DENIAL) needs a row here.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { HostConfigFile } from '@polyvac/host'
import { LEGACY_REVISIONS, MODERN_REVISIONS, UI_EXTENSION } from '@polyvac/mcp-protocol'
import { sourcesOfPackages } from './attribution.mjs'
import { limits } from './limits.mjs'

/** Words that deny. What is only not published is the same on each page, and is not looked at. */
export const DENIAL = /\bnot (?:there )?yet\b|\bnot (?:supported|planned|implemented)\b|\bplans neither\b|\bhas no \w+ option\b/i
export const UNPUBLISHED = /\bnot (?:published(?: to npm)?|on npm) yet\b/i

const root = new URL('..', import.meta.url)
const read = path => readFileSync(new URL(path, root), 'utf8')
const exists = path => existsSync(new URL(path, root))
const service = HostConfigFile.properties.service.properties
const sources = sourcesOfPackages(['src', 'page'])
const inSources = (words, of = '') => sources.some(({ file, text }) => file.startsWith(of) && text.includes(words))
const exportsOf = name => Object.keys(JSON.parse(read(`packages/${name}/package.json`)).exports)
const dependsOn = name => ['packages', 'apps'].some(group => readdirSync(new URL(`${group}/`, root)).some(folder =>
  exists(`${group}/${folder}/package.json`) && read(`${group}/${folder}/package.json`).includes(`"${name}"`)))

export const claims = [
  ['docs/explain/comparison.md', 'MCP Apps of upstream servers | yes', () => inSources('UI_EXTENSION', 'packages/mcp-gateway/') && UI_EXTENSION !== undefined],
  ['docs/explain/comparison.md', 'token exchange (RFC 8693) not yet', () => !inSources('grant-type:token-exchange')],
  ['docs/explain/comparison.md', 'Presets of tools, tools that load when they are needed | not yet', () => service.mcp_presets === undefined],
  ['docs/explain/comparison.md', 'Web page in the package | yes', () => exists('packages/playground/page') && service.enable_playground !== undefined],
  ['docs/explain/comparison.md', 'Workflow engine, hosted console | no, and not planned', () => service.workflows === undefined],
  ['docs/explain/comparison.md', 'Polyvac has neither, and plans neither', () => service.workflows === undefined],
  ['docs/explain/comparison.md', '1.0 over gRPC too', () => exportsOf('a2a').includes('./grpc')],
  ['docs/explain/comparison.md', 'revisions 2024-11-05 to 2026-07-28', () => /2024-11-05,.*2026-07-28$/.test([...LEGACY_REVISIONS, ...MODERN_REVISIONS].sort().join())],
  ['docs/explain/what-it-does.md', 'or in PostgreSQL for any number', () => exportsOf('tasks').includes('./postgres')],
  ['docs/explain/what-it-does.md', 'Named bounds', () => Object.keys(limits).length > 10],
  ['docs/guides/browser.md', '`cors: true` under `service`', () => service.cors !== undefined && service.allowed_origins !== undefined],
  ['docs/guides/openai-clients.md', 'What is not supported', () => inSources('response_format: value', 'packages/vac/')],
  ['docs/start/from-sunholo-py.md', '`/openai/health`, `/qna/…` | not supported', () => !inSources("'/openai/health'") && !inSources("'/qna")],
  ['docs/start/from-sunholo-py.md', 'Multipart uploads to the VAC routes are not supported', () => !dependsOn('@fastify/multipart')],
  ['docs/start/questions.md', 'in English their synonyms', () => inSources('export function synonymsOf', 'packages/documents/')],
  ['docs/start/questions.md', 'Polyvac does not work with Express', () => !dependsOn('@fastify/express')]
]
