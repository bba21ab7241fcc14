// What the pages claim about what exists and what does not: [page, text of the page, whether the code agrees].
// test/docs.test.ts looks for the text on the page and calls the check, so neither the code nor the page can change
// without the other. A sentence of a page that denies something (see denials.mjs) needs a row here: in `claims`, or in
// `restrictions` where it denies no feature and only states a condition, a refusal or a reason.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { HostConfigFile } from '@polyvac/host'
import { LEGACY_REVISIONS, MODERN_REVISIONS, UI_EXTENSION } from '@polyvac/mcp-protocol'
import { sourcesOfPackages } from './attribution.mjs'
import { limits } from './limits.mjs'

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
  ['docs/explain/comparison.md', '1.0 over gRPC too', () => exportsOf('a2a').includes('./grpc')],
  ['docs/explain/comparison.md', 'revisions 2024-11-05 to 2026-07-28', () => /2024-11-05,.*2026-07-28$/.test([...LEGACY_REVISIONS, ...MODERN_REVISIONS].sort().join())],
  ['docs/explain/comparison.md', 'MCP Apps of upstream servers | yes', () => inSources('UI_EXTENSION', 'packages/mcp-gateway/') && UI_EXTENSION !== undefined],
  ['docs/explain/comparison.md', '[`tool_search`](../guides/mcp-clients.md#many-tools)', () => service.mcp_server.properties.tool_search !== undefined],
  ['docs/explain/comparison.md', '[the playground](../guides/playground.md)', () => exists('packages/playground/page') && service.enable_playground !== undefined],
  ['docs/explain/comparison.md', '[`polyvac eval`]', () => exists('apps/polyvac/src/commands/eval.ts')],
  ['docs/explain/comparison.md', '62 packages with Fastify', () => read('scripts/rehearse/sizes.mjs').includes("'@polyvac/vac': { packages: 62,")],
  ['docs/explain/comparison.md', 'A release on npm | all of them', () => read('AGENTS.md').includes('not on npm yet')],
  ['docs/explain/comparison.md', 'no, and not planned, since an interpreter is a function', () => service.workflows === undefined],
  ['docs/explain/comparison.md', 'no, and not planned, since the playground runs in your service', () => service.console === undefined],
  ['docs/explain/comparison.md', 'Vector databases | Mastra', () => !dependsOn('pgvector') && !dependsOn('chromadb') && !dependsOn('@qdrant/js-client-rest')],
  ['docs/explain/comparison.md', 'Schedules | Mastra', () => service.schedules === undefined],
  ['docs/explain/comparison.md', 'Slack, Teams, WhatsApp | Mastra', () => !dependsOn('@slack/web-api') && !dependsOn('@slack/bolt')],
  ['docs/explain/comparison.md', 'not yet, editors reach it over MCP', () => !exists('apps/polyvac/src/commands/acp.ts')],
  ['docs/explain/comparison.md', 'not yet, only tools, resources and prompts', () => !inSources('skill://')],
  ['docs/explain/comparison.md', 'not yet, only `allow` of a server', () => service.mcp_presets === undefined],
  ['docs/explain/comparison.md', 'not yet, each caller signs in', () => !inSources('grant-type:token-exchange')],
  ['docs/explain/what-it-does.md', 'or in PostgreSQL for any number', () => exportsOf('tasks').includes('./postgres')],
  ['docs/explain/what-it-does.md', 'Named bounds', () => Object.keys(limits).length > 10],
  ['docs/guides/browser.md', '`cors: true` under `service`', () => service.cors !== undefined && service.allowed_origins !== undefined],
  ['docs/guides/browser.md', 'The plugins send no CORS header by themselves', () => !inSources('access-control-allow-origin', 'packages/')],
  ['docs/guides/playground.md', '`createHost` does not serve it', () => inSources('enable_playground: await usesPlayground', 'apps/polyvac/')],
  ['docs/guides/openai-clients.md', 'What is not supported', () => inSources('response_format: value', 'packages/vac/')],
  ['docs/start/from-sunholo-py.md', 'not supported', () => !inSources("'/openai/health'") && !inSources("'/qna")],
  ['docs/start/from-sunholo-py.md', 'Multipart uploads to the VAC routes are not supported', () => !dependsOn('@fastify/multipart')],
  ['docs/start/questions.md', 'in English their synonyms', () => inSources('export function synonymsOf', 'packages/documents/')],
  ['docs/start/questions.md', 'Polyvac does not work with Express', () => !dependsOn('@fastify/express')],
  ['docs/start/from-sunholo-py.md', 'chat-channel webhooks are not part of Polyvac', () => readdirSync(new URL('packages/', root)).every(name => !/qdrant|pinecone|slack|discord|telegram/.test(read(`packages/${name}/package.json`)))],
  ['docs/explain/security-requirements.md', 'no option raises the minimum', () => !inSources('min_revision') && !inSources('minRevision')],
  ['docs/reference/limits.md', 'In your own app rates are not limited', () => !dependsOn('@fastify/rate-limit')],
  ['packages/mcp-server/README.md', 'It has no built-in tools', () => /readonly sources: /.test(read('packages/mcp-server/src/options.ts'))],
  ['packages/mcp-server/README.md', 'It does not limit rates or set CORS', () => !inSources('access-control-allow', 'packages/mcp-server/src')],
  ['packages/mcp-gateway/README.md', 'It does not limit rates or set CORS', () => !inSources('access-control-allow', 'packages/mcp-gateway/src')],
  ['packages/a2a/README.md', 'It does not limit rates or set CORS', () => !inSources('access-control-allow', 'packages/a2a/src')],
  ['packages/vac/README.md', 'It does not limit rates or set CORS', () => !inSources('access-control-allow', 'packages/vac/src')]
]

/** Sentences that deny no feature, [page, text]: the case, the refusal or the reason that they state is on purpose. */
export const restrictions = [
  ['SECURITY.md', 'Scopes do not limit the arguments of tools'],
  ['docs/explain/attribution.md', 'the tail is not counted in the memory budget'],
  ['docs/explain/reliability.md', 'The address of a webhook is not one of the web.'],
  ['docs/explain/security-requirements.md', 'scopes do not limit them'],
  ['docs/explain/security-requirements.md', 'callers are not authenticated or authorised'],
  ['docs/explain/task-store-work.md', 'They have no foreign key'],
  ['docs/explain/threats.md', 'and sends no CORS headers by default'],
  ['docs/explain/threats.md', 'have no default password'],
  ['docs/guides/a2a-versions.md', 'so a VAC of that name cannot be the first part of a path'],
  ['docs/guides/stop-reload-resume.md', 'nothing is kept under an id', () => inSources("conversationAccess(caller, conversation) === 'none'", 'packages/runs/')],
  ['docs/guides/a2a-versions.md', 'nothing is kept under an id', () => inSources("conversationAccess(caller, contextId) === 'none'", 'packages/runs/')],
  ['docs/guides/a2a-versions.md', 'does not list is refused'],
  ['docs/guides/a2a-versions.md', 'is the same for only one of them'],
  ['docs/guides/interpreters.md', 'where you cannot go on before a person has signed in'],
  ['docs/guides/authentication.md', 'the credentials that it lacks end all the same'],
  ['docs/guides/deployment.md', 'have no such bound'],
  ['docs/guides/deployment.md', 'a host with A2A switched on does not start'],
  ['docs/guides/deployment.md', 'Several machines cannot share it.'],
  ['docs/guides/playground.md', 'A service with bearer tokens needs no such hook'],
  ['docs/guides/telemetry.md', 'MCP servers, webhooks and models get no `traceparent`'],
  ['docs/guides/remote-agents.md', 'an agent that does not answer delays nothing'],
  ['docs/guides/upstreams.md', 'one that cannot start is reported in the log'],
  ['docs/guides/upstream-servers.md', 'neither `env` nor `inherit_env`'],
  ['docs/reference/http.md', '`authenticate` does not know the caller'],
  ['packages/vac/README.md', '`authenticate` does not know the caller'],
  ['docs/reference/cli.md', 'needs no `vac`'],
  ['packages/a2a/README.md', '`push` cannot be used'],
  ['packages/auth/README.md', 'callers have no list of scopes'],
  ['packages/documents/README.md', 'an empty one is not'],
  ['packages/mcp-gateway/README.md', 'has neither `env` nor `inherit_env`'],
  ['packages/mcp-server/README.md', 'a web page elsewhere cannot reach a server'],
  ['packages/tasks/README.md', 'a reader of what it lacks ends without a terminal event']
]
