import { parseWith } from '@polyvac/core/plugin'
import { parseConfig } from '@polyvac/host'
import { openDatabase } from '@polyvac/sqlite'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { request } from 'node:http'
import { test } from 'tap'
import { parse as parseYaml } from 'yaml'
import { EvalFile } from '../apps/polyvac/src/eval/eval-file.js'
import { migrate } from '../packages/tasks/src/sqlite/tables.js'
import { isRun, pages, scripts, Workspace } from './fixtures/doc-programs.js'
import { allPages, readPage, root, type Page } from './fixtures/pages.js'
import { openHost, run } from './fixtures/service.js'

const workspace = new Workspace('pages')

test('every block is tested, or gives a reason', t => {
  for (const page of pages) {
    for (const block of page.blocks) {
      const { language, words, norun, line, text } = block
      const where = `${page.name}:${line}`
      if (language === '') t.fail(`${where} has no language; plain text is \`text\``)
      if (norun !== undefined) t.ok(norun.length > 5, `${where} gives a reason`)
      else if (language === 'sh' && !words.has('run')) t.ok(onlyCallsNpm(text), `${where} runs, only calls npm, or gives a reason`)
      else if (language === 'json' && !words.has('output')) t.doesNotThrow(() => { JSON.parse(text) }, where)
      else if (language === 'yaml') t.doesNotThrow(() => { checkYaml(page, text) }, where)
      if (words.has('output') && !isRun(page.blocks[page.blocks.indexOf(block) - 1])) t.fail(`${where} is an output without a command before it`)
    }
  }
  t.end()
})

/** Whether all lines install packages or call npm scripts of the repository. */
function onlyCallsNpm (text: string): boolean {
  return text.trim().split('\n').every(line => /^(?:npm (?:i|install) |#)/.test(line) || Object.hasOwn(scripts, /^npm run ([\w:]+)/.exec(line)?.[1] ?? ''))
}

/** A configuration, or a part of one that begins at the top, or an evaluation. Other files only need to be YAML. */
function checkYaml (page: Page, text: string): void {
  const value = parseYaml(text) as Record<string, unknown>
  if ('cases' in value) {
    parseWith(EvalFile, text, page.name)
    return
  }
  if (!('kind' in value) && !('vac' in value) && !('service' in value)) return
  const whole = `${'kind' in value ? '' : 'kind: vacConfig\n'}${text}${'vac' in value ? '' : '\nvac: { docs: {} }\n'}`
  parseConfig(whole, join(workspace.folderOf(page), 'vac_config.yaml'), { env: { MODEL_KEY: 'x', PUBLIC_URL: '' } })
}

test('links have a target', t => {
  const known = new Map(allPages().map(page => [normalize(page.name), page]))
  for (const page of known.values()) {
    for (const { target, line } of page.links) {
      if (/^(?:https?|mailto):/.test(target)) continue
      const [path = '', anchor] = target.split('#')
      const to = path === '' ? page.name : normalize(join(dirname(page.name), path))
      if (!existsSync(join(root, to))) t.fail(`${page.name}:${line} links to ${to}, which does not exist`)
      else if (anchor !== undefined && statSync(join(root, to)).isFile() && known.get(to)?.anchors.has(anchor) !== true) t.fail(`${page.name}:${line} links to ${to}#${anchor}, which does not exist`)
    }
  }
  const linked = new Set([...known.values()].flatMap(page => page.links.map(({ target }) => normalize(join(dirname(page.name), target.split('#')[0] ?? '')))))
  for (const { name } of pages) if (name !== 'README.md') t.ok(linked.has(name), `${name} is linked from another page`)
  t.end()
})

test('the tests that the table of A2A versions names exist', t => {
  const rows = readPage('docs/guides/a2a-versions.md').lines.filter(line => line.includes('.test.ts` |') || line.includes('.test.ts`: '))
  t.ok(rows.length > 10)
  for (const row of rows) {
    const [, file = '', sentence] = /`([\w-]+\.test\.ts)`(?:: (.+?))? \|$/.exec(row) ?? []
    const path = join(root, 'packages/a2a/test', file)
    if (!existsSync(path) || !statSync(path).isFile()) t.fail(`${row} names no test file`)
    else if (sentence !== undefined) t.ok(readFileSync(path, 'utf8').includes(`\ntest('${sentence}`), row)
  }
  t.end()
})

test('the page on the task store names every column and index of its tables', async t => {
  const database = await openDatabase(':memory:')
  t.teardown(() => { database.close() })
  migrate(database, ':memory:')
  const sections = new Map(readPage('docs/explain/task-store.md').lines.join('\n').split(/^## /m).map(text => [text.split('\n')[0], text]))
  const named = (table: string): string[] => [...(sections.get(table) ?? '').matchAll(/^\| `(\w+)` \|/gm)].map(([, name = '']) => name)
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").column<string>()
  for (const table of tables) {
    const columns = database.prepare('SELECT name FROM pragma_table_info(?)').column<string>(table)
    t.strictSame(named(table).slice(0, columns.length), columns, table)
  }
  const text = [...sections.values()].join('')
  for (const index of database.prepare('SELECT name FROM sqlite_schema WHERE sql IS NOT NULL AND type = ?').column<string>('index')) {
    t.ok(text.includes(`\`${index}\``), index)
  }
})

type DenialsOf = (lines: readonly string[]) => ReadonlyArray<{ readonly line: number, readonly sentence: string }>

test('what the pages claim and deny agrees with the code', async t => {
  const { claims, restrictions } = await import(`${root}/docs/claims.mjs`) as {
    claims: ReadonlyArray<readonly [page: string, text: string, check: () => boolean]>, restrictions: ReadonlyArray<readonly [page: string, text: string]>
  }
  const { denialsOf, unknownFeatures } = await import(`${root}/docs/denials.mjs`) as { denialsOf: DenialsOf, unknownFeatures: readonly string[] }
  t.strictSame(unknownFeatures, [], 'each feature of the table has a key, a route or a command')
  for (const [page, text, check] of claims) {
    t.ok(readFileSync(join(root, page), 'utf8').includes(text), `${page} has "${text}"`)
    t.equal(check(), true, `the code agrees with ${page}: ${text}`)
  }
  for (const [page, text] of restrictions) t.ok(readFileSync(join(root, page), 'utf8').includes(text), `${page} has "${text}"`)
  const templates = readdirSync(join(root, 'apps/polyvac/templates'), { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.md'))
  for (const { name, lines } of [...allPages(), ...templates.map(path => readPage(`apps/polyvac/templates/${path}`))]) {
    // a decision and a changelog are of their day, and the reference of errors quotes texts of the code
    if (/^docs\/(?:decisions\/|reference\/errors)|^(?:CHANGELOG|CONTRIBUTING|AGENTS)/.test(name)) continue
    for (const { line, sentence } of denialsOf(lines)) {
      const isKnown = [...claims, ...restrictions].some(([page, text]) => page === name && sentence.includes(text))
      if (!isKnown) t.fail(`${name}:${line} denies something, and docs/claims.mjs has no row: ${sentence.slice(0, 160)}`)
    }
  }
  t.end()
})

/** Sentences that deny a key, a route, a command, or a feature with another name. */
const LIES = `
The host cannot limit rates.
Rates are not limited.
There is no option for CORS.
No option sets the public URL.
Nothing sets \`index_file\`.
The index file can be set only in code.
Embeddings are not available.
\`service.helmet\` is never read.
The configuration file does not know \`mcp_tool\`.
\`polyvac chat\` does not exist.
The command line lacks a way to check a configuration.
The memory of a VAC cannot be read with \`GET /vac/docs/search\`.
There is no search route.
MCP servers can be called only through an interpreter.
No route calls a tool.
| gRPC | not offered |
Polyvac has no playground.
Polyvac doesn't support PostgreSQL.
It is not possible to bound bodies.
A reload is impossible.
Tasks cannot be canceled.
Replicas are planned for a later version.
You have to restart the host after a change of the configuration.
`.trim().split('\n')

/** Sentences of usual pages, which need no row. */
const NO_LIES = `
Callers that are not authenticated get 401.
Where \`service.auth\` is not set, the host listens on loopback.
The packages are not published to npm yet.
No restart is needed.
An interpreter that ignores its signal cannot be stopped.
\`cors: true\` lets pages read responses.
`.trim().split('\n')

test('a sentence that denies a key, a route, a command or a feature needs a row of the claims', async t => {
  const { denialsOf } = await import(`${root}/docs/denials.mjs`) as { denialsOf: DenialsOf }
  for (const lie of LIES) t.equal(denialsOf(['# Page', '', `A true sentence. ${lie}`]).length, 1, lie)
  for (const sentence of NO_LIES) t.strictSame(denialsOf([sentence]), [], sentence)
  t.end()
})

/** Whether a range of a manifest, with `^`, `>=` or `<`, accepts a version of which the last parts may be left out. */
function accepts (range: string, version: string): boolean {
  const [major = 0, minor = 99_999, patch = 99_999] = version.split('.').map(Number)
  const value = (text: string): number => text.split('.').map(Number).reduce((sum, part, index) => sum + part * 1e5 ** (2 - index), 0)
  const wanted = value([major, minor, patch].join('.'))
  return range.split('||').some(part => part.trim().split(' ').every(bound => {
    const [, sign = '', from = ''] = /^(\^|>=|<|)(.*)$/.exec(bound) ?? []
    if (sign === '<') return wanted < value(from)
    if (sign === '>=') return wanted >= value(from)
    return sign === '^' ? wanted >= value(from) && String(major) === from.split('.')[0] : wanted === value(from)
  }))
}

interface Manifest {
  readonly name: string
  readonly dependencies?: Record<string, string>
  readonly optionalDependencies?: Record<string, string>
  readonly peerDependencies?: Record<string, string>
  readonly peerDependenciesMeta?: Record<string, { readonly optional?: boolean }>
}

test('the table of what to install names packages, peers and versions of the manifests', t => {
  const manifests = new Map(['packages', 'apps'].flatMap(group => readdirSync(join(root, group)).map(folder => {
    const manifest = JSON.parse(readFileSync(join(root, group, folder, 'package.json'), 'utf8')) as Manifest
    return [manifest.name, manifest] as const
  })))
  const closure = (names: readonly string[], found = new Set<string>()): Set<string> => {
    for (const name of names) {
      const manifest = manifests.get(name)
      if (manifest === undefined || found.has(name)) continue
      found.add(name)
      closure(Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }), found)
    }
    return found
  }
  const named = new Set<string>()
  const rows = readPage('docs/start/install.md').lines.filter(line => /^\| .+ \| `/.test(line)).map(line => line.split('|').slice(1, -1).map(cell => cell.trim()))
  t.ok(rows.length > 20)
  for (const [want = '', packages = '', command = '', tarballs = ''] of rows) {
    const listed = [...packages.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
    for (const name of listed) named.add(name)
    const own = listed.filter(name => manifests.has(name))
    const all = closure(own)
    const whole = all.has('@polyvac/host')
    const peers = new Map([...all].flatMap(name => Object.entries(manifests.get(name)?.peerDependencies ?? {})))
    // an application may start its own SDK of OpenTelemetry: the plugins have only its API as a peer
    for (const [name, range] of Object.entries(manifests.get('@polyvac/host')?.peerDependencies ?? {})) if (name.startsWith('@opentelemetry/')) peers.set(name, range)
    if (command.includes('npm install')) {
      const words = /`npm install ([^`]+)`/.exec(command)?.[1]?.split(' ') ?? []
      const nameOf = (word: string): string => word.replace(/(?<=.)@[\d.]+$/, '')
      t.strictSame(words.map(nameOf).filter(name => name !== 'fastify'), listed, `${want}: the command installs the packages of the row`)
      for (const word of words.filter(word => !manifests.has(word) && word !== 'fastify')) {
        const range = peers.get(nameOf(word))
        t.ok(range !== undefined, `${want}: ${word} is a peer of a package of the row`)
        const version = /@([\d.]+)$/.exec(word)?.[1] ?? ''
        t.ok(accepts(range ?? '', version), `${want}: ${word} is a version that ${range} accepts`)
      }
      const required = [...all].flatMap(name => Object.keys(manifests.get(name)?.peerDependencies ?? {}).filter(peer => manifests.get(name)?.peerDependenciesMeta?.[peer]?.optional !== true))
      t.strictSame([...new Set(required)].filter(peer => !words.includes(peer) && !(whole && peer === 'fastify')), [], `${want}: each peer that is needed is installed`)
    }
    const usesFile = all.has('@polyvac/sqlite') && !whole && !listed.includes('pg')
    t.equal(command.includes('¹'), usesFile, `${want}: the mark for the driver of SQLite`)
    t.equal(tarballs, whole ? 'all' : [...all].map(name => `\`${name.replace('@polyvac/', '')}\``).sort().join(', '), `${want}: tarballs`)
  }
  const optional = [...manifests.values()].flatMap(({ peerDependencies }) => Object.keys(peerDependencies ?? {}))
  const text = readPage('docs/start/install.md').lines.join('\n')
  for (const name of [...manifests.keys(), ...optional]) t.ok(named.has(name) || text.includes(`npm install ${name}@`) || name === 'fastify', `${name} is in the table`)
  t.end()
})

test('the generated parts are those of the code', async t => {
  const { code, stdout, stderr } = await run(root, process.execPath, ['docs/generate.mjs', '--check'])
  t.equal(code, 0, `node docs/generate.mjs ${stdout}${stderr}`)
})

test('the reference has an example of each route', t => {
  const reference = readdirSync(join(root, 'docs/reference')).map(name => readPage(`docs/reference/${name}`))
  const headings = new Set(reference.flatMap(({ lines }) => lines.filter(line => line.startsWith('#')).map(line => line.replace(/^#+ /, ''))))
  const routes = readPage('docs/reference/http.md').lines.flatMap(line => /^\| ([A-Z]+ )`(\/[^`]*)` \|/.exec(line)?.slice(1).join('') ?? [])
  t.ok(routes.length > 30)
  t.strictSame(routes.filter(route => !headings.has(route)), [])
  t.end()
})

test('callers get the codes and statuses that the reference lists', async t => {
  const { remedies } = await import(`${root}/docs/remedies.mjs`) as { remedies: Record<string, { seen: string }> }
  const listed = new Map([...readPage('docs/reference/errors.md').lines.join('\n').matchAll(/^### (\w+)\n\n`\1`, status (\w+),/gm)].map(([, code, status]) => [code, Number(status)]))
  t.strictSame([...listed.keys()], Object.entries(remedies).filter(([, { seen }]) => seen === 'caller').map(([code]) => code))
  const folder = join(workspace.folder, 'errors')
  mkdirSync(folder)
  writeFileSync(join(folder, 'vac_config.yaml'), 'kind: vacConfig\nvac: { echo: { interpreter: echo } }\n')
  const host = await openHost(folder)
  t.teardown(() => host.close())
  const json = { 'content-type': 'application/json' }
  const post = (body: unknown, path = '/vac/echo', headers: Record<string, string> = json) => ({ path, method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) })
  let deep: unknown = 1
  for (let i = 0; i < 70; i++) deep = [deep]
  const requests: Record<string, { path: string, method?: string, headers?: Record<string, string>, body?: string }> = {
    BAD_REQUEST: post({ user_input: 7 }),
    INVALID_HISTORY: post({ user_input: 'x', chat_history: [7] }),
    INVALID_JSON: post('{'),
    BODY_TOO_DEEP: post({ user_input: 'x', deep }),
    VAC_NOT_FOUND: post({ user_input: 'x' }, '/vac/ecko'),
    NOT_FOUND: { path: '/nowhere' },
    METHOD_NOT_ALLOWED: { path: '/health', method: 'DELETE' },
    ORIGIN_NOT_ALLOWED: post({ user_input: 'x' }, '/vac/echo', { origin: 'http://other.example' }),
    HOST_NOT_ALLOWED: { path: '/vac', headers: { host: 'rebound.example' } },
    BODY_TOO_LARGE: post({ user_input: 'x'.repeat(4 * 1024 * 1024) }),
    UNSUPPORTED_MEDIA_TYPE: post('x', '/vac/echo', { 'content-type': 'text/csv' }),
    VAC_INTERPRETER_FAILED: post({ user_input: 'x', echo_error: 'boom' }),
    VAC_TIMEOUT: post({ user_input: 'x', echo_delay_ms: 3_000, stream_timeout: 1 }, '/vac/streaming/echo'),
    A2A_NOT_ENABLED: { path: '/.well-known/agent.json' },
    MCP_SERVER_NOT_ENABLED: { path: '/mcp' }
  }
  await Promise.all(Object.entries(requests).map(async ([code, request]) => {
    const { status, body } = await send(host.url, request)
    t.strictSame([(JSON.parse(body) as { error: { code: string } }).error.code, status], [code, listed.get(code)], code)
  }))
})

/** A request with a custom Host header, which fetch does not allow. */
function send (url: string, { path, method = 'GET', headers = {}, body }: { path: string, method?: string, headers?: Record<string, string>, body?: string }): Promise<{ status: number, body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, url), { method, headers, agent: false }, async response => {
      let text = ''
      for await (const piece of response.setEncoding('utf8')) text += String(piece)
      resolve({ status: response.statusCode ?? 0, body: text })
    })
    sent.once('error', reject).end(body)
  })
}

test('pages speak of the `tasks/*` dialect, and not of a description that readers do not have', t => {
  for (const { name, lines } of allPages().filter(({ name }) => !/^docs\/decisions\/|^CHANGELOG/.test(name))) {
    const index = lines.findIndex(line => /\bservice description\b|\b[Tt]he description's (?:methods|messages|dialect)|\b(?:card|record|dialect|routes) of the description\b/.test(line))
    if (index !== -1) t.fail(`${name}:${index + 1} speaks of the description`)
  }
  t.end()
})

test('READMEs are short and no page names a path of a machine', t => {
  for (const page of allPages()) {
    const most = page.name === 'README.md' ? 150 : /^(?:packages|apps)\//.test(page.name) ? 120 : Infinity
    t.ok(page.lines.length <= most, `${page.name} has ${page.lines.length} lines`)
    const machine = page.lines.findIndex(line => /\/(?:root|work|home\/\w+|Users\/\w+)\//.test(line))
    if (machine !== -1) t.fail(`${page.name}:${machine + 1} names a path of one machine`)
  }
  t.end()
})

/** First questions of readers, and how the answer begins. */
const FIRST_SENTENCES: ReadonlyArray<readonly [string, RegExp]> = [
  ['How do I set the port?', /^To set the port, give the option `--port` or the variable `PORT`/],
  ['What is a VAC?', /^A VAC, a virtual agent computer, is an agent with a name\./],
  ['How do I deploy with Docker?', /^To deploy with Docker, build an image/],
  ['How do I scale it?', /^To scale Polyvac, run several replicas/],
  ['How do I install Polyvac?', /^To install Polyvac, clone the repository/],
  ['How do I start the service?', /^To start the service, run `npm start`/],
  ['How do I add my own agent?', /^To add your own agent, write a module/],
  ['How do I switch on authentication?', /^To add authentication, or to switch it on, set `service.auth`/],
  ['How do I add an MCP server?', /^To add an MCP server, name it under/],
  ['What does it cost?', /^Polyvac costs nothing/]
]

test('the documentation answers questions about itself', async t => {
  const questions: ReadonlyArray<readonly [string, string]> = [
    ['How do I stop an answer?', 'guides/streaming.md'],
    ['How do I change the port?', 'guides/deployment.md'],
    ['What is Polyvac?', 'start/questions.md'],
    ['Does it support A2A?', 'start/questions.md'],
    ['How do I use the openai package?', 'start/walkthrough.md'],
    ['How do I reload the configuration?', 'guides/configuration.md'],
    ['How do I run it in Docker?', 'guides/deployment.md'],
    ['How do I use a local model with Ollama?', 'guides/local-models.md'],
    ['What does async_stream do?', 'guides/interpreters.md'],
    ['How do I test an interpreter?', 'guides/testing.md'],
    ['What does VAC_BUSY mean?', 'reference/errors.md'],
    ['How do I use an environment variable in the configuration?', 'guides/configuration.md'],
    ['How do I write a memory module of my own?', 'guides/memory.md'],
    ['Why does nginx hold back the stream?', 'guides/streaming.md'],
    ['How do I authenticate callers?', 'guides/deployment.md'],
    ['How do I add a VAC to an existing Fastify app?', 'start/existing-app.md'],
    ['How large may a request body be?', 'reference/limits.md']
  ]
  const host = await openHost(root)
  t.teardown(() => host.close())
  for (const [question, start] of FIRST_SENTENCES) {
    const response = await fetch(`${host.url}/vac/docs`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ user_input: question }) })
    t.match(await response.json(), { answer: start }, question)
  }
  for (const [question, page] of questions) {
    const response = await fetch(`${host.url}/vac/docs`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ user_input: question }) })
    const { answer, source_documents: documents } = await response.json() as { answer: string, source_documents: Array<{ metadata: { source: string } }> }
    const sources = documents.map(({ metadata: { source } }) => source)
    t.ok(sources.includes(page), `${question} ${page} ← ${sources.join(', ') || answer}`)
  }
})
