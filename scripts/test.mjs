// The whole check of the repository: types, lint, imports, words, tests; ends with one line `N passed, N failed`.
// Arguments are test files; without any, all. With files or --grep, only the tests run. No file runs again to pass.
// Test files are programs that use tap. `tap run` also loads a compiler, mocks and a recorder of coverage into each of
// them and, through NODE_OPTIONS, into each process that a test starts: a second of CPU time for a test file.
//   --grep <words>  runs the tests whose name contains the words, in upper or lower case
//   --shard <i/n>   runs one of n parts of about the same weight: each job is in exactly one
//   --watch         runs again after each change of a source, a test or a page, until Ctrl-C
//   --weigh         writes test/weights.json, the CPU time of each job
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { compiledTest, compileTests } from './compile-tests.mjs'
import { heaviestFirst, inProcesses, readWeights, shardOf, testFiles, WEIGHTS } from './test-files.mjs'

const WATCHED = ['packages', 'apps', 'test', 'scripts', 'docs']
/** Editors write a file in several steps. */
const SETTLE_MS = 200
const NODE_ARGS = ['--enable-source-maps', '--import=./test/fixtures/loop-watchdog.mjs']
/** How many test files, or other checks, run at a time: some wait more than they compute. */
const JOBS = availableParallelism() + 1
/** A file whose event loop does not turn is killed. A test ends by TAP_TIMEOUT of test/fixtures/timeout.mjs before. */
const KILL_MS = 1_500_000
/** The checks besides the tests, with the arguments of Node.js. */
const CHECKS = {
  types: ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'],
  'types of the page': ['node_modules/typescript/bin/tsc', '-p', 'packages/playground/page/tsconfig.json'],
  lint: ['node_modules/eslint/bin/eslint.js', '.', '--max-warnings=0'],
  imports: ['scripts/imports.mjs'],
  words: ['scripts/words.mjs']
}

const options = { grep: { type: 'string' }, shard: { type: 'string' }, watch: { type: 'boolean' }, weigh: { type: 'boolean' } }
const { values, positionals: files } = parseArgs({ options, allowPositionals: true })
const { grep } = values
const [, shard, shards] = /^(\d+)\/(\d+)$/.exec(values.shard ?? '1/1')?.map(Number) ?? []
if (!(shard >= 1 && shard <= shards)) {
  process.stderr.write(`--shard takes i/n with i from 1 to n, such as 2/4; it is ${JSON.stringify(values.shard)}\n`)
  process.exit(2)
}
if (values.watch) await runOnChanges()

const chosen = grep === undefined ? (files.length > 0 ? files : testFiles()) : filesWith(grep)
if (chosen.length === 0) endWithoutTests()
if (await node(['scripts/ready.mjs', 'all']) !== 0) process.exit(1)
await compileTests()
let passed = 0
let failed = 0
let skipped = 0
// test/fixtures/loop-watchdog.mjs writes a line for each block of an event loop: they are printed, and fail nothing
const folder = mkdtempSync(join(tmpdir(), 'polyvac-test-'))
const blocks = process.env.POLYVAC_BLOCKS = join(folder, 'blocks')
writeFileSync(blocks, '')
if (grep !== undefined) {
  process.env.TAP_FILTER_QUIETLY = '1'
  process.env.TAP_GREP = `/${grep.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}/i`
}
const weights = readWeights()
const processes = inProcesses(chosen)
const names = [...processes.keys(), ...files.length === 0 && grep === undefined ? Object.keys(CHECKS) : []]
const queue = heaviestFirst(shardOf(names, weights, shard, shards), weights)
const database = await sharedDatabase()
await Promise.all(Array.from({ length: JOBS }, async () => {
  for (let name; (name = queue.shift()) !== undefined;) await (processes.has(name) ? runTests(name, processes.get(name)) : check(name))
}))
await database?.stop()
for (const block of readFileSync(blocks, 'utf8').split('\n').slice(0, -1)) process.stdout.write(`block: ${block}\n`)
rmSync(folder, { recursive: true, force: true })
if (grep !== undefined && passed + failed + skipped === 0) endWithoutTests()
process.stdout.write(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`)
process.exitCode = failed === 0 ? 0 : 1

async function check (name) {
  const lines = []
  const ok = await node(CHECKS[name], { name, onLine: line => lines.push(line) }) === 0
  process.stdout.write(ok ? `  ok  ${name}\n` : `FAIL  ${name}\n${lines.join('\n')}\n`)
  if (!ok) failed++
}

/** Runs test files in one process, and prints their failures and comments when it has ended. */
async function runTests (name, files) {
  const begun = performance.now()
  const lines = []
  const [first, ...others] = files
  const imports = others.map(file => `--import=./${compiledTest(file)}`)
  const env = { ...process.env, POLYVAC_TEST_FILE: first }
  const status = await node([...NODE_ARGS, ...imports, compiledTest(first)], { name, onLine: line => lines.push(line), timeout: KILL_MS, env })
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  let isDetail = false
  let hasPlan = false
  let failures = 0
  for (const line of lines) {
    // a line of the TAP stream without indent is one sentence; its children are its steps
    const match = /^(\s*)(not ok|ok) \d+(?: - (.*))?$/.exec(line)
    if (match === null) {
      if (/^1\.\.\d/.test(line)) hasPlan = true
      if (isDetail || /^\s*# (?!Subtest|time=|\{)/.test(line)) process.stdout.write(`${line}\n`)
      if (/^\s*\.\.\.$/.test(line)) isDetail = false
      continue
    }
    const [, indent, result, text = ''] = match
    isDetail = result === 'not ok'
    if (isDetail) process.stdout.write(`${line}\n`)
    if (/# skip/i.test(text)) {
      skipped++
      process.stdout.write(`skipped: ${text}\n`)
    } else if (indent === '' && /# time=/.test(text)) {
      if (isDetail) failures++; else passed++
    }
  }
  const ok = status === 0 && hasPlan && failures === 0
  failed += ok ? 0 : Math.max(1, failures)
  process.stdout.write(`${ok ? '  ok' : 'FAIL'}  ${files.join(', ')} (${seconds} s)${ok || failures > 0 ? '' : `: exit code ${status}`}\n`)
}

/** One server for all files that need PostgreSQL: one for each of them would cost two seconds of CPU time. */
async function sharedDatabase () {
  const files = queue.flatMap(name => processes.get(name) ?? []).filter(file => readFileSync(file, 'utf8').includes('fixtures/postgres'))
  if (files.length < 2 || process.env.POLYVAC_TEST_DATABASE_URL !== undefined) return undefined
  const { PostgresServer } = await import('../test/fixtures/postgres-server.mjs')
  const server = await PostgresServer.start(['-c', 'max_connections=300', '-c', 'fsync=off'])
  process.env.POLYVAC_TEST_DATABASE_URL = server.url()
  return server
}

/** Test files that hold each of the words: a name may be put together from parts. */
function filesWith (words) {
  const parts = words.toLowerCase().split(/\s+/)
  return (files.length > 0 ? files : testFiles()).filter(file => {
    const text = readFileSync(file, 'utf8').toLowerCase()
    return parts.every(part => text.includes(part))
  })
}

function endWithoutTests () {
  process.stdout.write(`no test has "${grep}" in its name\n\n0 passed, 1 failed\n`)
  process.exit(1)
}

/** Starts this script without --watch, then again after each change. */
async function runOnChanges () {
  const args = process.argv.slice(1).filter(argument => argument !== '--watch')
  for (;;) {
    const changed = nextChange()
    await node(args, { onLine: line => process.stdout.write(`${line}\n`) })
    process.stdout.write('waiting for a change …\n')
    process.stdout.write(`\n${await changed} has changed\n`)
    await delay(SETTLE_MS)
  }
}

/** Resolves to the first file that changes. */
function nextChange () {
  return new Promise(resolve => {
    const watchers = WATCHED.map(folder => watch(folder, { recursive: true }, (event, name) => {
      if (/(?:^|\/)(?:dist|node_modules|\.\w+)(?:\/|$)/.test(name) || !/\.(?:[cm]?[jt]s|md|ya?ml)$/.test(name)) return
      for (const watcher of watchers) watcher.close()
      resolve(`${folder}/${name}`)
    }))
  })
}

/** Runs Node.js to its end. With --weigh, its CPU time is that of the job `name`. */
async function node (args, { name, onLine = () => {}, timeout = 0, env = process.env } = {}) {
  const times = values.weigh && name !== undefined ? join(folder, `times-${randomUUID()}`) : undefined
  // `times` of a shell counts all processes that have ended, with those that they started
  const command = times === undefined ? [process.execPath, args] : ['/bin/sh', ['-c', '"$@"; code=$?; times > "$0"; exit $code', times, process.execPath, ...args]]
  const child = spawn(...command, { env, stdio: ['ignore', 'pipe', 'inherit'], timeout, killSignal: 'SIGKILL' })
  createInterface({ input: child.stdout }).on('line', onLine)
  const code = await new Promise(resolve => child.on('close', code => resolve(code ?? 1)))
  if (times !== undefined) {
    const seconds = [...readFileSync(times, 'utf8').matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, minutes, more]) => sum + Number(minutes) * 60 + Number(more), 0)
    weights[name] = Math.round(seconds * 10) / 10
    writeFileSync(WEIGHTS, `${JSON.stringify(Object.fromEntries(Object.entries(weights).sort(([a], [b]) => a < b ? -1 : 1)), undefined, 2)}\n`)
  }
  return code
}
