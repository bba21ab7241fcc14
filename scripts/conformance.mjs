// `npm run conformance`: the public MCP conformance suites against the fixture of packages/mcp-server, which is this
// plugin with the tools that the suites call by name, and against a gateway in front of that fixture; then the client
// scenarios with a gateway as the client. Ends with a line per run and `conformance: N passed, N failed`. `--direct`,
// `--gateway` and `--client` run one of the three; with a folder as argument, the suites are kept there.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Pinned: the documentation has the figures of these versions. */
const RUNS = [
  { version: '0.1.16', arguments: ['--suite', 'all'], title: '0.1.16, all' },
  { version: '0.2.0-alpha.12', arguments: ['--requirements', '2025-11-25'], title: '0.2.0-alpha.12, 2025-11-25' },
  { version: '0.2.0-alpha.12', arguments: ['--requirements', '2026-07-28'], title: '0.2.0-alpha.12, 2026-07-28' }
]
const LONGEST_RUN_MS = 180_000
/** How many client scenarios run at a time: they wait more than they compute. */
const LANES = 3

/** The suite that has the client scenarios, and those that a gateway can take part in. */
const CLIENT_SUITE = '0.2.0-alpha.12'
const CLIENT_SCENARIOS = [
  'initialize', 'tools_call', 'elicitation-sep1034-client-defaults', 'sse-retry', 'request-metadata', 'sep-2322-client-request-state',
  'http-standard-headers', 'http-custom-headers', 'http-invalid-tool-headers', 'json-schema-ref-no-deref', 'json-schema-2020-12-preservation',
  'auth/client-credentials-basic'
]
/** Those that sign a person in. */
const SIGN_IN_SCENARIOS = [
  'metadata-default', 'metadata-var1', 'metadata-var2', 'metadata-var3', 'basic-cimd', 'pre-registration', 'scope-from-www-authenticate',
  'scope-from-scopes-supported', 'scope-omitted-when-undefined', 'scope-step-up', 'scope-retry-limit', 'token-endpoint-auth-basic',
  'token-endpoint-auth-post', 'token-endpoint-auth-none', '2025-03-26-oauth-metadata-backcompat', '2025-03-26-oauth-endpoint-fallback',
  'resource-mismatch', 'offline-access-scope', 'offline-access-not-supported', 'authorization-server-migration', 'iss-supported',
  'iss-not-advertised', 'iss-supported-missing', 'iss-wrong-issuer', 'iss-unexpected', 'iss-normalized', 'metadata-issuer-mismatch'
].map(name => `auth/${name}`)

const given = process.argv.slice(2)
const wants = part => given.includes(part) || !['--direct', '--gateway', '--client'].some(other => given.includes(other))
const servers = [...wants('--direct') ? ['server.mjs'] : [], ...wants('--gateway') ? ['gateway.mjs'] : []]
const kept = given.find(argument => !argument.startsWith('--'))
const folder = kept === undefined ? await mkdtemp(join(tmpdir(), 'polyvac-conformance-')) : resolve(kept)
const totals = { passed: 0, failed: 0 }
try {
  const suites = new Map()
  for (const { version } of RUNS) if (!suites.has(version)) suites.set(version, await install(version))
  await Promise.all(servers.map(server => against(server, suites)))
  if (wants('--client')) await asClient(suites.get(CLIENT_SUITE))
} finally {
  if (kept === undefined) await rm(folder, { recursive: true, force: true, maxRetries: 3 })
}
process.stdout.write(`conformance: ${totals.passed} passed, ${totals.failed} failed\n`)
process.exitCode = totals.failed === 0 && totals.passed > 0 ? 0 : 1

/** Installs one version of the suite; resolves to its entry. */
async function install (version) {
  const home = join(folder, version)
  const entry = join(home, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
  await mkdir(home, { recursive: true })
  await writeFile(join(home, 'package.json'), '{ "private": true }\n')
  await run('npm', ['install', `@modelcontextprotocol/conformance@${version}`, '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'], { cwd: home })
  // it imports a function that Node.js 20 does not have, for a command that is not used
  const text = await readFile(entry, 'utf8')
  await writeFile(entry, text.replace(/globSync as ([A-Za-z_$]+)/g, 'readdirSync as $1'))
  return entry
}

async function against (server, suites) {
  const child = spawn(process.execPath, [fixture(server)], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const [url] = await once(createInterface({ input: child.stdout }), 'line')
    for (const { version, arguments: words, title } of RUNS) {
      const out = await mkdtemp(join(folder, 'out-'))
      try {
        await run(process.execPath, [suites.get(version), 'server', '--url', `${url}/mcp`, ...words, '-o', out], { timeout: LONGEST_RUN_MS, maxBuffer: 64 * 1024 * 1024 })
      } catch {
        // its exit code leaves out checks that it does not score; report() counts all of them
      }
      report(`${server === 'server.mjs' ? 'direct' : 'through the gateway'}, ${title}`, await checksIn(out))
      await rm(out, { recursive: true, force: true })
    }
  } finally {
    child.kill()
  }
}

/** Runs each client scenario against a server of the suite. */
async function asClient (suite) {
  const checks = []
  const waiting = [...CLIENT_SCENARIOS, ...SIGN_IN_SCENARIOS]
  await Promise.all(Array.from({ length: LANES }, async () => {
    for (let scenario; (scenario = waiting.shift()) !== undefined;) checks.push(...await runScenario(suite, scenario))
  }))
  report(`as a client, ${CLIENT_SUITE}`, checks)
}

/** Runs one client scenario; resolves to its checks. */
async function runScenario (suite, scenario) {
  const client = SIGN_IN_SCENARIOS.includes(scenario) ? 'sign-in.mjs' : 'client.mjs'
  const out = await mkdtemp(join(folder, 'out-'))
  try {
    await run(process.execPath, [suite, 'client', '--command', `"${process.execPath}" "${fixture(client)}"`, '--scenario', scenario, '-o', out], { timeout: LONGEST_RUN_MS })
  } catch {
    // its exit code leaves out checks, as that of the server runs does
  }
  const [found] = (await readdir(out, { recursive: true })).filter(name => name.endsWith('checks.json'))
  const checks = await checksIn(out, [found === undefined ? scenario : dirname(found)])
  await rm(out, { recursive: true, force: true })
  return checks.map(check => ({ ...check, scenario }))
}

function fixture (name) {
  return fileURLToPath(new URL(`../packages/mcp-server/test/conformance-fixture/${name}`, import.meta.url))
}

async function checksIn (out, scenarios) {
  const checks = []
  for (const scenario of scenarios ?? await readdir(out)) {
    try {
      for (const check of JSON.parse(await readFile(join(out, scenario, 'checks.json'), 'utf8'))) checks.push({ ...check, scenario })
    } catch (err) {
      checks.push({ scenario, id: 'ended', status: 'FAILURE', errorMessage: `the scenario reported no checks: ${err.message}` })
    }
  }
  return checks
}

function report (title, checks) {
  const having = (...statuses) => checks.filter(({ status }) => statuses.includes(status))
  // a warning is a violated SHOULD
  const failed = having('FAILURE', 'WARNING')
  const passed = having('SUCCESS').length
  for (const { scenario, id, status, errorMessage } of failed) process.stdout.write(`${status.toLowerCase()}: ${scenario.replace(/^server-|-\d{4}-.*$/g, '')} ${id}: ${errorMessage}\n`)
  if (passed === 0) process.stdout.write('failure: the suite ran no checks\n')
  process.stdout.write(`${title}: ${passed} passed, ${failed.length} failed, ${having('SKIPPED').length} skipped\n`)
  totals.passed += passed
  totals.failed += failed.length + (passed === 0 ? 1 : 0)
}
