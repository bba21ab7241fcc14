// Writes the parts of the documentation that come from the code: between `<!-- generated: name -->` and `<!-- end -->`.
//   node docs/generate.mjs          writes them (needs a build: npm run build)
//   node docs/generate.mjs --check  changes nothing, exits 1 and names the pages that are stale
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { METRICS } from '@polyvac/core/plugin'
import { createHost, HostConfigFile, openApiOf } from '@polyvac/host'
import { features, LEGACY_REVISIONS, MODERN_REVISIONS } from '@polyvac/mcp-protocol'
import { transitions } from '@polyvac/tasks'
import { FORMATS } from '../packages/documents/dist/formats/table.js'
import { COMMAND_HELP } from '../apps/polyvac/dist/commands.js'
import { measured, replicas, shard } from './capacity.mjs'
import { remedies } from './remedies.mjs'
import { limits } from './limits.mjs'
import { problemsOf, sourcesOfPackages, structuresOf, testOf } from './attribution.mjs'
import { SIZES } from '../scripts/rehearse/sizes.mjs'
import { importsOfSources, packageArrows } from '../scripts/imports.mjs'

const root = new URL('..', import.meta.url)
const read = path => readFileSync(new URL(path, root), 'utf8')

const CAPACITY_HEAD = ['Replicas', 'Tasks/s', 'Events/s', 'Connections', 'Cores for tasks', 'Cores for notifications', 'Events of 7 days']

const parts = {
  'configuration: file': () => schemaTable(HostConfigFile),
  'configuration: service': () => schemaTable(HostConfigFile.properties.service),
  'configuration: tasks': () => schemaTable(HostConfigFile.properties.service.properties.tasks),
  'configuration: playground': () => schemaTable(HostConfigFile.properties.service.properties.playground),
  'configuration: mcp_server': () => schemaTable(HostConfigFile.properties.service.properties.mcp_server),
  'configuration: a2a': () => schemaTable(HostConfigFile.properties.service.properties.a2a),
  'configuration: a2a.grpc': () => schemaTable(HostConfigFile.properties.service.properties.a2a.properties.grpc),
  'configuration: connections': () => schemaTable(HostConfigFile.properties.service.properties.connections),
  'configuration: auth': () => schemaTable(HostConfigFile.properties.service.properties.auth),
  'configuration: auth.tokens': () => schemaTable(HostConfigFile.properties.service.properties.auth.properties.tokens.items),
  'configuration: auth.jwt': () => schemaTable(HostConfigFile.properties.service.properties.auth.properties.jwt),
  'configuration: limits': () => schemaTable(HostConfigFile.properties.service.properties.limits),
  'configuration: limits.owner': () => schemaTable(HostConfigFile.properties.service.properties.limits.properties.owner),
  'configuration: limits.address': () => schemaTable(HostConfigFile.properties.service.properties.limits.properties.address),
  'configuration: push': () => schemaTable(HostConfigFile.properties.service.properties.push),
  'configuration: mcp_servers': () => schemaTable(HostConfigFile.properties.service.properties.mcp_servers.anyOf[0].items),
  'configuration: a2a_agents': () => schemaTable(HostConfigFile.properties.service.properties.a2a_agents.anyOf[0].items),
  'configuration: a2a_agents.auth': () => schemaTable(Object.values(HostConfigFile.properties.service.properties.a2a_agents.anyOf[0].items.properties.auth.patternProperties)[0]),
  'configuration: vac': () => schemaTable(HostConfigFile.properties.vac.patternProperties['^(.*)$']),
  'configuration: openai': () => schemaTable(HostConfigFile.properties.vac.patternProperties['^(.*)$'].properties.openai),
  'configuration: memory': () => schemaTable(HostConfigFile.properties.vac.patternProperties['^(.*)$'].properties.memory.items.patternProperties['^(.*)$']),
  'configuration: folder': () => interfaceTable('packages/documents/src/folder/folder-options.ts', 'FolderOptions', name => ['path', 'extensions', 'ignore', 'k'].includes(name)),
  'options: createVacs': () => interfaceTable('packages/core/src/registry/vacs.ts', 'VacsOptions'),
  'options: vacPlugin': () => interfaceTable('packages/vac/src/options.ts', 'VacPluginOptions'),
  'options: a2aPlugin': () => interfaceTable('packages/a2a/src/options.ts', 'A2aOptions'),
  'options: a2aGrpc': () => interfaceTable('packages/a2a/src/grpc/index.ts', 'A2aGrpcOptions'),
  'options: a2aPlugin push': () => interfaceTable('packages/a2a/src/options.ts', 'PushOptions'),
  'options: mcpGatewayPlugin': () => interfaceTable('packages/mcp-gateway/src/plugin-options.ts', 'McpGatewayOptions'),
  'options: createGateway': () => interfaceTable('packages/mcp-gateway/src/options.ts', 'GatewayOptions'),
  'options: mcpServerPlugin': () => interfaceTable('packages/mcp-server/src/options.ts', 'McpServerOptions'),
  'options: playgroundPlugin': () => interfaceTable('packages/playground/src/options.ts', 'PlaygroundOptions'),
  'options: createHost': () => interfaceTable('apps/host/src/host-options.ts', 'HostOptions'),
  'errors: index': errorIndex,
  'errors: callers': () => errorSections(({ seen }) => seen === 'caller'),
  'errors: start': () => errorSections(({ seen }) => seen === 'start'),
  'errors: client': () => errorSections(({ seen }) => seen === 'client'),
  'errors: log': () => errorSections(({ seen }) => seen === 'log'),
  limits: limitsTable,
  budget: budgetTable,
  'attribution: keyed': () => attributionTables(({ none }) => none === undefined, ['Structure', 'Key', 'Holds', 'Whose', 'Bound', 'Counts against', 'Test'],
    ({ key, holds, whose, bound, share, test }) => [key, holds, whose, bound, share, testLink(test)]),
  'attribution: others': () => attributionTables(({ none }) => none !== undefined, ['Structure', 'Why'], ({ none }) => [none]),
  faults: faultsTable,
  'responses: clients': responsesTable,
  'capacity: measured': () => table(['What', 'It costs', 'One core, or one gigabyte, does'], measured()),
  'capacity: replicas': () => table(CAPACITY_HEAD, replicas()),
  'capacity: shard': () => table(CAPACITY_HEAD, shard()),
  decisions: decisionsTable,
  'packages: sizes': () => table(['Package', 'Packages', 'MB'], Object.entries(SIZES).map(([name, { packages, megabytes }]) =>
    [`\`${name}\``, String(packages), String(megabytes)])),
  'packages: map': packagesTable,
  'packages: arrows': packagesPicture,
  'documents: formats': () => table(['Extensions', 'A citation names', 'Needs the package'], FORMATS.map(({ extensions, place, named, package: name }) =>
    [extensions.map(extension => extension === '' ? '(none)' : `\`${extension}\``).join(' ') + (named === true ? ', where they are named' : ''), `\`${place}\``, name === undefined ? '–' : `\`${name}\``])),
  metrics: () => table(['Metric', 'Kind', 'Unit', 'Meaning'], Object.entries(METRICS).map(([name, { kind, unit, description }]) =>
    [`\`${name}\``, kind === 'total' ? 'counter' : kind, `\`${unit}\``, `${description}.`])),
  attributes: attributesTable,
  'tasks: transitions': transitionsTable,
  'mcp features': featuresTable,
  'template: interpreter.mjs': () => fileBlock('js file=interpreter.mjs', 'apps/polyvac/templates/model/interpreter.mjs'),
  'template: vac_config.yaml': () => fileBlock('yaml serve', 'apps/polyvac/templates/model/vac_config.yaml'),
  'example: use-ask.ts': () => fileBlock('ts file=use-ask.ts', 'packages/client/test/fixtures/use-ask.ts'),
  'example: resumable-transport.js': () => fileBlock('js norun: it runs in the page of examples/react-chat', 'examples/react-chat/src/resumable-transport.js'),
  help: () => `\`\`\`text\n${execFileSync(process.execPath, [fileURLToPath(new URL('apps/polyvac/dist/cli.js', root)), '--help'], { encoding: 'utf8' }).trimEnd()}\n\`\`\``,
  'help: commands': commandTable,
  'routes: host': () => routesTable('host'),
  'routes: vac': () => routesTable('vac', 'openai', 'responses', 'ai-sdk', 'ag-ui'),
  'routes: a2a': () => routesTable('a2a'),
  'routes: mcp-server': () => routesTable('mcp-server'),
  'routes: mcp-gateway': () => routesTable('mcp-gateway')
}

/** A file as a block of code. */
function fileBlock (info, path) {
  return `\`\`\`${info}\n${read(path).trimEnd()}\n\`\`\``
}

/** A TypeBox object as a table: key, type, meaning. */
function schemaTable (schema) {
  const required = new Set(schema.required)
  const rows = Object.entries(schema.properties).map(([key, value]) => [
    `\`${key}\``, typeName(value), `${sentence(value.description)}${required.has(key) ? ' Required.' : ''}`
  ])
  return table(['Key', 'Type', 'Meaning'], rows)
}

function typeName (schema) {
  if (schema.const !== undefined) return `\`${schema.const}\``
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeName))].join(' or ')
  if (schema.type === 'array') return `list of ${typeName(schema.items)}`
  if (schema.patternProperties !== undefined) return 'map'
  if (schema.type === 'object') return 'map'
  const bounds = [schema.minimum !== undefined && `from ${schema.minimum}`, schema.maximum !== undefined && `to ${schema.maximum}`].filter(Boolean).join(' ')
  return [schema.type, bounds].filter(Boolean).join(' ')
}

/** The attributes of spans and labels of metrics as a table, from their doc comments. */
function attributesTable () {
  const file = 'packages/core/src/telemetry/names.ts'
  const rows = [...read(file).matchAll(/(?:^\/\*\* (.*) \*\/\n)?^export const (\w+) = '(\w+[.][\w.]+)'$/gm)].map(([, meaning, constant, name]) => {
    if (meaning === undefined) throw new Error(`${constant} of ${file} has no doc comment`)
    return [`\`${name}\``, meaning]
  })
  return table(['Name', 'Meaning'], rows)
}

/** The options of an interface as a table, from its doc comments. */
function interfaceTable (file, name, wanted = () => true) {
  const body = new RegExp(`export interface ${name} (?:extends [^{]+)?\\{\\n([^]*?)\\n\\}`).exec(read(file))?.[1]
  if (body === undefined) throw new Error(`${file} has no interface ${name}`)
  const rows = [...body.matchAll(/(?: {2}\/\*\*([^]*?)\*\/\n)?^ {2}readonly (\w+)(\?)?: (.*)$/gm)]
    .filter(([, , key]) => wanted(key))
    .map(([, doc = '', key, optional, type]) => {
      const text = doc.replace(/\s*\n\s*\*\s?/g, ' ').trim()
      return [`\`${key}\``, text === '' ? `\`${type.replace(/ \| undefined$/, '').replaceAll('|', '\\|')}\`` : text, optional === undefined ? 'yes' : 'no']
    })
  return table(['Option', 'Meaning', 'Required'], rows)
}

/** What the memory budget counts, by package. */
function budgetTable () {
  const rows = sourcesOfPackages().flatMap(({ file, text }) =>
    [...text.matchAll(/memoryBudget\.hold\('([^']+)'/g)].map(([, part]) => [part, `\`${file.split('/')[1]}\``]))
  return table(['Counted', 'Package'], [...new Map(rows.map(row => [row.join(), row])).values()])
}

/** Every code of the source, with its status; what it means and what to do about it stand in remedies.mjs. */
export function codesOfSource () {
  const codes = new Map()
  for (const { text } of sourcesOfPackages()) {
    for (const [, code, rest] of text.matchAll(/createError(?:<[^>]*>)?\(\s*'([A-Z0-9_]+)',([^]*?)\)\n/g)) {
      codes.set(code, Number(/(\d{3})(?:, \{[^}]*\})?\s*$/.exec(rest)?.[1] ?? 500))
    }
    for (const [, code] of text.matchAll(/\bcode: '([A-Z][A-Z0-9_]+)'/g)) if (!codes.has(code)) codes.set(code, undefined)
  }
  return codes
}

function errorSections (wanted) {
  const codes = codesOfSource()
  const unknown = [...codes.keys()].filter(code => remedies[code] === undefined)
  const gone = Object.keys(remedies).filter(code => !codes.has(code))
  if (unknown.length + gone.length > 0) throw new Error(`docs/remedies.mjs lacks ${unknown.join(', ') || 'nothing'} and has too many: ${gone.join(', ') || 'none'}`)
  return Object.entries(remedies).filter(([, entry]) => wanted(entry)).map(([code, { seen, status, means, remedy }]) =>
    `### ${code}\n\n\`${code}\`${seen === 'caller' ? `, status ${statusOf(codes, code, status)},` : ''} means: ${lower(means)} ${remedy}`).join('\n\n')
}

/** The status of a code that callers get: that of its error, or of its row where the code is only in streams. */
function statusOf (codes, code, status = codes.get(code)) {
  if (status === undefined) throw new Error(`${code} has no status in the source: give its row of docs/remedies.mjs one`)
  return status
}

/** The callers' codes at a glance. */
function errorIndex () {
  const codes = codesOfSource()
  return table(['Code', 'Status', 'What happened'], Object.entries(remedies).filter(([, { seen }]) => seen === 'caller')
    .map(([code, { status, means }]) => [`[\`${code}\`](#${code.toLowerCase()})`, String(statusOf(codes, code, status)), means.split('. ')[0].replace(/\.?$/, '.')]))
}

/** The figures of the last `npm run faults -- --write`. */
/** What test/responses-clients.test.ts saw of each client. A dash stands for what a client has no call for. */
function responsesTable () {
  const columns = ['ask', 'stream', 'sources', 'steps', 'question', 'stop', 'reload', 'failure', 'crash']
  return table(['Client', 'Version', ...columns, 'runs of a failure'], JSON.parse(read('test/responses/table.json')).map(row => [
    row.client, row.version, ...columns.map(column => row[column] === true ? 'yes' : '–'), String(row.runs)
  ]))
}

function faultsTable () {
  if (!existsSync(new URL('scripts/faults/results.json', root))) return 'Not measured yet: run `npm run faults -- --write`.'
  const { date, where, rate, rows } = JSON.parse(read('scripts/faults/results.json'))
  const seconds = value => value === 0 ? '–' : `${value.toFixed(1)} s`
  return `${table(['Fault', 'What happens', 'Recovery', 'Throughput', 'Lost', 'Duplicated'], rows.map(row => [
    row.name, row.what ?? `${rate} tasks begin in a second, ${row.rate.toFixed(1)} end.`, seconds(row.seconds),
    row.throughput === undefined ? '' : `${Math.round(row.throughput * 100)} %`, String(row.lost), String(row.duplicated)
  ]))}\n\nMeasured on ${date}: ${where}, database and load on the same machine.`
}

/** The structures of the sources, a table for each package; what their markers lack is an error. */
/** The options of each command of `polyvac`, and an example. */
function commandTable () {
  const rows = Object.entries(COMMAND_HELP).map(([name, { options, example }]) =>
    [`\`${name}\``, options.map(option => `\`--${option}\``).join(', ') || 'none', `\`${example.replaceAll('|', '\\|')}\``])
  return [['Command', 'Options', 'Example'], ['---', '---', '---'], ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')
}

function attributionTables (wanted, head, cellsOf) {
  const all = sourcesOfPackages().flatMap(structuresOf)
  const problems = all.flatMap(one => problemsOf(one).map(problem => `${one.file}:${one.line} ${one.name} ${problem}`))
  if (problems.length > 0) throw new Error(problems.join('\n'))
  const chosen = all.filter(({ marker }) => wanted(marker))
  const packageOf = file => file.split('/')[1]
  return [...new Set(chosen.map(({ file }) => packageOf(file)))].map(name => `### ${name}\n\n${table(head, chosen.filter(({ file }) => packageOf(file) === name).map(({ file, name: field, marker }) =>
    [`[\`${field}\`](../../${file}) of \`${basename(file)}\``, ...cellsOf(marker)]))}`).join('\n\n')
}

function testLink (test) {
  const { file, name } = testOf(test)
  return `[${name}](../../${file})`
}

const NUMBER = '\\s*[:=]\\s*(?:\\w+\\(|\\[)?([0-9][0-9_.]*(?:\\s*\\*\\s*[0-9_]+)*)'

let boundSources
/** The value of a bound of limits.mjs, such as `core: MAX_ANSWERS` or `tasks/creates: BATCH`; `apps` is any app. */
function boundOf (place) {
  const [, name, file, constant] = /^([\w-]+)(?:\/([\w-]+))?: (\w+)$/.exec(place)
  boundSources ??= sourcesOfPackages(['src', 'page'])
  const files = boundSources.filter(({ file: path }) => path.startsWith(name === 'apps' ? 'apps/' : `packages/${name}/`) && (file === undefined || path.endsWith(`/${file}.ts`)))
  // a constant has precedence over a field of an object
  for (const declaration of [`\\bconst ${constant}(?:: \\w+)?`, `\\b${constant}`]) {
    const found = files.flatMap(({ file: path, text }) => {
      const value = new RegExp(`${declaration}${NUMBER}`).exec(text)?.[1]
      return value === undefined ? [] : [{ path, value }]
    })
    if (found.length > 1) throw new Error(`${found.map(({ path }) => path).join(' and ')} have ${constant}: name the file, ${name}/<file>: ${constant}`)
    // a constant is a product of numbers
    if (found.length === 1) return found[0].value.trim().split('*').reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1)
  }
  throw new Error(`no source of ${place} has that bound`)
}

function limitsTable () {
  return Object.entries(limits).map(([title, rows]) => `### ${title}\n\n${table(['Bound', 'Default', 'At the limit'], rows.map(([what, place, unit, then]) =>
    [`${what} (\`${place.split(': ')[1]}\`)`, shown(boundOf(place), unit), then]))}`).join('\n\n')
}

/** The pages of docs/decisions: title and status stand in each. */
function decisionsTable () {
  const names = readdirSync(new URL('docs/decisions/', root)).filter(name => /^\d{4}-/.test(name)).sort()
  return table(['Decision', 'Status'], names.map(name => {
    const [, number, title, status] = /^# (\d+)\. (.+)\n\nStatus: (.+?)\.?\n/.exec(read(`docs/decisions/${name}`)) ?? []
    if (status === undefined) throw new Error(`docs/decisions/${name} must begin with a numbered title and its status`)
    return [`${number}. [${title}](${name})`, status]
  }))
}

/** The workspaces, by the descriptions of their manifests. */
function packagesTable () {
  const folders = ['packages', 'apps'].flatMap(group => readdirSync(new URL(`${group}/`, root)).map(name => `${group}/${name}`))
  return table(['Folder', 'What it is'], folders.filter(folder => existsSync(new URL(`${folder}/package.json`, root))).map(folder =>
    [`[\`${folder}\`](${folder}/README.md)`, sentence(JSON.parse(read(`${folder}/package.json`)).description)]))
}

/** The imports of the sources as a Mermaid picture; arrows to optional packages and of type imports are dotted. */
function packagesPicture () {
  const arrows = new Map(packageArrows(importsOfSources()).map(({ from, to, type }) => [`${from} ${to}`, type ? '-. types .->' : '-->']))
  const { name, optionalDependencies } = JSON.parse(read('apps/host/package.json'))
  for (const optional of Object.keys(optionalDependencies).filter(optional => optional.startsWith('@polyvac/'))) {
    arrows.set([name, optional].map(name => name.replace('@polyvac/', '')).join(' '), '-. if installed .->')
  }
  const lines = [...arrows].map(([ends, arrow]) => `  ${ends.replace(' ', ` ${arrow} `)}`).sort()
  return `\`\`\`mermaid\nflowchart TD\n${lines.join('\n')}\n\`\`\``
}

function transitionsTable () {
  return table(['State', 'What may follow'], Object.entries(transitions).map(([state, next]) => {
    const ways = Object.entries(next).map(([verb, to]) => `${verb}: \`${to}\``)
    return [`\`${state}\``, ways.join(', ') || 'nothing; the state is terminal']
  }))
}

/** What each revision of MCP supports. */
function featuresTable () {
  const revisions = [...MODERN_REVISIONS, ...LEGACY_REVISIONS].reverse()
  const shown = value => typeof value === 'boolean' ? (value ? 'yes' : 'no') : value
  return table(['Feature', ...revisions], Object.keys(features[revisions[0]]).map(name => [`\`${name}\``, ...revisions.map(revision => shown(features[revision][name]))]))
}

function shown (value, unit) {
  if (unit === 'bytes' || unit === 'characters') {
    const [mebi, kibi] = [value / 1024 ** 2, value / 1024]
    if (Number.isInteger(mebi)) return unit === 'bytes' ? `${mebi} MiB` : `${mebi} Mi characters`
    if (Number.isInteger(kibi)) return unit === 'bytes' ? `${kibi} KiB` : `${kibi} Ki characters`
  }
  if (unit === 'ms' && value >= 86_400_000 && value % 86_400_000 === 0) return `${value / 86_400_000} days`
  if (unit === 'ms' && value >= 1_000 && value % 1_000 === 0) return `${value / 1_000} s`
  return `${value.toLocaleString('en')}${unit === '' ? '' : ` ${unit}`}`
}

/** The routes of one plugin, by the first tag of each. */
async function routesTable (...tags) {
  hostPaths ??= pathsOfHost()
  const routes = Object.entries(await hostPaths).flatMap(([path, methods]) => Object.entries(methods)
    .filter(([, { tags: [tag] = [] }]) => tags.includes(tag))
    .map(([method, { summary }]) => [`${method.toUpperCase()} \`${path.replace(/\{(\w+)\}/g, '<$1>')}\``, sentence(summary)]))
  if (routes.length === 0) throw new Error(`no route has the tag ${tags.join(' or ')}`)
  return table(['Route', 'What it does'], routes)
}

/** The paths of a host with every plugin. */
async function pathsOfHost () {
  const app = await createHost({
    vacs: ['docs'],
    stream_interpreter: 'echo',
    enable_a2a_agent: true,
    enable_mcp_server: true,
    protectedResource: { authorizationServers: ['https://auth.example'] },
    mcp_servers: { none: { url: 'http://127.0.0.1:9/mcp' } },
    tasks: { store: 'memory' },
    server: { logger: false }
  })
  await app.ready()
  const { paths } = openApiOf(app)
  await app.close()
  return paths
}

const lower = text => text.charAt(0).toLowerCase() + text.slice(1)

function sentence (text = '') {
  const upper = /^[a-z]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text
  return upper === '' || /[.!?]$/.test(upper) ? upper : `${upper}.`
}

function table (head, rows) {
  const line = cells => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** A page with its generated parts written again. */
function filled (text, file) {
  let out = text
  for (const [whole, name] of text.matchAll(/^<!-- generated: ([^>]+?) -->$[^]*?^<!-- end -->$/gm)) {
    if (parts[name] === undefined) throw new Error(`${file}: there is no generated part ${name}`)
    out = out.replace(whole, () => `<!-- generated: ${name} -->\n${made.get(name)}\n<!-- end -->`)
  }
  return out
}

let hostPaths
const made = new Map()
for (const [name, make] of Object.entries(parts)) made.set(name, await make())

const pages = [
  ...readdirSync(new URL('docs/', root), { recursive: true }).filter(name => name.endsWith('.md')).map(name => `docs/${name}`),
  'CONTRIBUTING.md', 'apps/host/README.md', 'packages/core/README.md', 'packages/vac/README.md', 'packages/mcp-gateway/README.md', 'packages/mcp-server/README.md', 'packages/mcp-protocol/README.md', 'packages/a2a/README.md',
  'packages/client/README.md', 'packages/playground/README.md'
]
let stale = 0
for (const page of pages) {
  const before = read(page)
  const after = filled(before, page)
  if (after === before) continue
  stale++
  process.stdout.write(`${page} ${process.argv.includes('--check') ? 'is stale' : 'written'}\n`)
  if (!process.argv.includes('--check')) writeFileSync(fileURLToPath(new URL(page, root)), after)
}
if (stale > 0 && process.argv.includes('--check')) process.exitCode = 1
