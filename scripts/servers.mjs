// `npm run servers [-- <folder>]`: installs published MCP servers that need no network and no key, in a temporary
// folder or in the one that is given, starts each behind the gateway, lists its tools with the published clients, calls
// one, and checks the OpenAPI document with two validators. Prints a table and `N passed, N failed`.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Case, listAll, namesAt, seenOf } from '../test/cases/case.mjs'
import { validate, VALIDATORS } from '../test/cases/documents-of-tools.mjs'
import { run } from '../test/cases/processes.mjs'

const MAX_INSTALL_MS = 600_000

/**
 * `bin` is a name in `node_modules/.bin`, `path` one in the package. `call` is a tool without effects beyond the folder
 * `{}`; servers without a `call` need a browser or a file for each.
 */
const SERVERS = [
  { name: '@modelcontextprotocol/server-everything', version: '2026.8.31', bin: 'mcp-server-everything', call: ['echo', { message: 'Hello' }] },
  { name: '@modelcontextprotocol/server-filesystem', version: '2026.8.31', bin: 'mcp-server-filesystem', args: ['{}'], call: ['list_allowed_directories', {}] },
  { name: '@modelcontextprotocol/server-memory', version: '2026.8.31', bin: 'mcp-server-memory', env: { MEMORY_FILE_PATH: '{}/memory.json' }, call: ['read_graph', {}] },
  {
    name: '@modelcontextprotocol/server-sequential-thinking',
    version: '2026.8.31',
    bin: 'mcp-server-sequential-thinking',
    call: ['sequentialthinking', { thought: 'First', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }]
  },
  { name: 'time-mcp', version: '1.0.6', bin: 'time-mcp', call: ['current_time', { format: 'YYYY-MM-DD' }] },
  { name: '@coo-quack/calc-mcp', version: '2.1.1', bin: 'calc-mcp', call: ['math', { expression: '6*7' }] },
  { name: 'mcp-mermaid', version: '0.4.1', bin: 'mcp-mermaid' },
  { name: '@itseasy21/mcp-knowledge-graph', version: '1.0.7', path: 'dist/index.js', env: { MEMORY_FILE_PATH: '{}/graph.json' }, call: ['read_graph', {}] },
  { name: '@playwright/mcp', version: '0.0.83', bin: 'playwright-mcp', args: ['--headless', '--isolated'] },
  { name: '@eslint/mcp', version: '0.3.13', path: 'src/mcp-cli.js', call: ['lint-files', { filePaths: ['{}/empty.js'] }] },
  { name: 'mcp-server-code-runner', version: '0.1.8', bin: 'mcp-server-code-runner', call: ['run-code', { code: 'console.log(6 * 7)', languageId: 'javascript' }] },
  { name: '@cyanheads/git-mcp-server', version: '2.15.3', bin: 'git-mcp-server', env: { MCP_TRANSPORT_TYPE: 'stdio', MCP_LOG_LEVEL: 'error' }, call: ['git_init', { path: '{}/repository' }] },
  { name: '@softeria/ms-365-mcp-server', version: '0.155.0', bin: 'ms-365-mcp-server', args: ['--org-mode'], call: ['list-accounts', {}] },
  { name: '@kazuph/mcp-taskmanager', version: '1.1.1', bin: 'mcp-taskmanager', env: { TASK_MANAGER_FILE_PATH: '{}/tasks.json' }, call: ['list_requests', {}] },
  { name: 'mcp-hello-world', version: '1.1.2', bin: 'mcp-hello-world', call: ['echo', { message: 'Hello' }] },
  { name: 'chrome-devtools-mcp', version: '1.11.0', bin: 'chrome-devtools-mcp', args: ['--headless'] },
  { name: 'mcp-time-linux-x64', version: '0.4.0', path: 'bin/mcp-time', call: ['current_time', {}] },
  { name: '@negokaz/excel-mcp-server', version: '0.12.0', bin: 'excel-mcp-server' },
  { name: '@azure/mcp-linux-x64', version: '2.0.5', path: 'dist/azmcp', args: ['server', 'start'], call: ['azureterraformbestpractices', { intent: 'learn', learn: true }] }
]

const given = process.argv[2]
const folder = given === undefined ? mkdtempSync(join(tmpdir(), 'polyvac-servers-')) : resolve(given)
mkdirSync(folder, { recursive: true })
if (given === undefined) process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
const { code, text } = await run('npm', [
  'install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', ...VALIDATORS, ...SERVERS.map(({ name, version }) => `${name}@${version}`)
], { cwd: folder, ms: MAX_INSTALL_MS })
if (code !== 0) {
  process.stderr.write(`npm install ended with ${code}: ${text}\n`)
  process.exit(1)
}

const rows = [['server', 'version', 'tools', 'left out', 'call', 'openapi']]
const problems = []
for (const server of SERVERS) {
  const one = new Case('', folder, () => folder)
  try {
    const { row, found } = await tryServer(one, server)
    rows.push(row)
    problems.push(...found.map(problem => `${server.name}: ${problem}`))
  } catch (err) {
    rows.push([server.name, server.version, '-', '-', '-', '-'])
    problems.push(`${server.name}: ${err.message}`)
  } finally {
    await one.close()
  }
}
const widths = rows[0].map((_, i) => Math.max(...rows.map(row => row[i].length)))
for (const row of rows) process.stdout.write(`${row.map((cell, i) => cell.padEnd(widths[i])).join('  ').trimEnd()}\n`)
for (const problem of problems) process.stdout.write(`not ok ${problem}\n`)
const failed = new Set(problems.map(problem => problem.split(': ')[0])).size
process.stdout.write(`${SERVERS.length - failed} passed, ${failed} failed\n`)
process.exit(failed === 0 ? 0 : 1)

/** The row of one server, and what is wrong. */
async function tryServer (one, { name, version, bin, path, args = [], env, call }) {
  const home = one.folder()
  writeFileSync(join(home, 'empty.js'), '')
  writeFileSync(join(home, 'eslint.config.mjs'), 'export default []\n')
  mkdirSync(join(home, 'repository'))
  const inHome = value => JSON.parse(JSON.stringify(value).replaceAll('{}/', `${home}/`).replaceAll('"{}"', JSON.stringify(home)))
  const command = bin === undefined ? join(folder, 'node_modules', name, path) : join(folder, 'node_modules/.bin', bin)
  const program = command.endsWith('.js') ? { command: process.execPath, args: [command, ...inHome(args)] } : { command, args: inHome(args) }
  const host = await one.gateway({ s: { ...program, cwd: home, env: inHome(env ?? { LOG: '1' }) } })
  const { leftOutTools = [] } = await host.server('s')
  const { tools } = await host.get('/mcp/tools/s')
  const found = leftOutTools.map(({ tool, name: left, reason }) => `left out ${tool ?? left}: ${reason}`)
  for (const [which, client] of await one.clients(host)) {
    const listed = await seenOf(async () => namesAt(await listAll(client), 's').length)
    if (listed !== tools.length) found.push(`${which} lists ${listed} of ${tools.length} tools`)
  }
  const answer = call === undefined ? undefined : await host.call('s', call[0], call[1] === undefined ? {} : inHome(call[1]))
  // a tool may ask the caller's model first
  const isAnswered = Array.isArray(answer?.content) || answer?.status === 'input_required'
  if (answer !== undefined && !isAnswered) found.push(`${call[0]}: ${JSON.stringify(answer).slice(0, 400)}`)
  const complaints = Object.entries(await validate(await host.get('/mcp/openapi.json'), home, folder)).filter(([, complaint]) => complaint !== '')
  found.push(...complaints.map(([validator, complaint]) => `${validator}: ${complaint.replace(/\s+/g, ' ')}`))
  const row = [name, version, String(tools.length), String(leftOutTools.length), answer === undefined ? 'none' : isAnswered ? 'ok' : 'failed',
    complaints.length === 0 ? 'ok' : complaints.map(([validator]) => validator).join(', ')]
  return { row, found }
}
