// The whole check of the repository: types, lint, imports, words, tests; ends with one line `N passed, N failed`.
// Arguments are test files; without any, all. With files or --grep, the tests run alone.
// Test files are programs that use tap. `tap run` also loads a compiler, mocks and a recorder of coverage into each of
// them and, through NODE_OPTIONS, into each process that a test starts: a second of CPU time for a test file.
//   --grep <words>  runs the tests whose name contains the words, in upper or lower case
//   --watch         runs again after each change of a source, a test or a page, until Ctrl-C
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { compiledTest, compileTests } from './compile-tests.mjs'

const WATCHED = ['packages', 'apps', 'test', 'scripts', 'docs']
/** Editors write a file in several steps. */
const SETTLE_MS = 200
const NODE_ARGS = ['--enable-source-maps', '--import=./test/fixtures/loop-watchdog.mjs']
/** How many test files, or other checks, run at a time: some wait more than they compute. */
const JOBS = 3
/** Files of these folders run in one process: they load the same modules, and share a browser. */
const TOGETHER = ['packages/playground/test/']
/** A test fails after so long, unless it sets its own limit; a file whose event loop does not turn is killed. */
const TIMEOUT_S = 300
const KILL_MS = 600_000

const options = { grep: { type: 'string' }, watch: { type: 'boolean' } }
const { values, positionals: files } = parseArgs({ options, allowPositionals: true })
const { grep } = values
if (values.watch) await runOnChanges()

const chosen = grep === undefined ? (files.length > 0 ? files : testFiles()) : filesWith(grep)
if (chosen.length === 0) endWithoutTests()
if (await node(['scripts/ready.mjs']) !== 0) process.exit(1)
await compileTests()
let passed = 0
let failed = 0
let skipped = 0
// test/fixtures/loop-watchdog.mjs writes a line for each block of an event loop: they are printed, and fail nothing
const folder = mkdtempSync(join(tmpdir(), 'polyvac-test-'))
const blocks = process.env.POLYVAC_BLOCKS = join(folder, 'blocks')
writeFileSync(blocks, '')
process.env.TAP_TIMEOUT = String(TIMEOUT_S)
if (grep !== undefined) {
  process.env.TAP_FILTER_QUIETLY = '1'
  process.env.TAP_GREP = `/${grep.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}/i`
}
const jobs = inProcesses(chosen).map(files => () => runTests(files))
if (files.length === 0 && grep === undefined) {
  jobs.unshift(
    () => check('types', 'node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'),
    () => check('types of the page', 'node_modules/typescript/bin/tsc', '-p', 'packages/playground/page/tsconfig.json'),
    () => check('lint', 'node_modules/eslint/bin/eslint.js', '.', '--max-warnings=0'),
    () => check('imports', 'scripts/imports.mjs'),
    () => check('words', 'scripts/words.mjs')
  )
}
await Promise.all(Array.from({ length: JOBS }, async () => {
  for (let job; (job = jobs.shift()) !== undefined;) await job()
}))
for (const block of readFileSync(blocks, 'utf8').split('\n').slice(0, -1)) process.stdout.write(`block: ${block}\n`)
rmSync(folder, { recursive: true, force: true })
if (grep !== undefined && passed + failed + skipped === 0) endWithoutTests()
process.stdout.write(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`)
process.exitCode = failed === 0 ? 0 : 1

async function check (what, ...command) {
  const lines = []
  const ok = await node(command, line => lines.push(line)) === 0
  process.stdout.write(ok ? `  ok  ${what}\n` : `FAIL  ${what}\n${lines.join('\n')}\n`)
  if (!ok) failed++
}

/** The files that run in one process, for each process. */
function inProcesses (files) {
  const processes = new Map()
  for (const file of files) {
    const key = TOGETHER.find(folder => file.startsWith(folder)) ?? file
    processes.set(key, [...processes.get(key) ?? [], file])
  }
  return [...processes.values()]
}

/** Runs test files in one process, and prints their failures and comments when it has ended. */
async function runTests (files) {
  const begun = performance.now()
  const lines = []
  const [first, ...others] = files
  const imports = others.map(file => `--import=./${compiledTest(file)}`)
  const env = { ...process.env, POLYVAC_TEST_FILE: first }
  const status = await node([...NODE_ARGS, ...imports, compiledTest(first)], line => lines.push(line), KILL_MS, env)
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

/** Test files that hold each of the words: a name may be put together from parts. */
function filesWith (words) {
  const parts = words.toLowerCase().split(/\s+/)
  return (files.length > 0 ? files : testFiles()).filter(file => {
    const text = readFileSync(file, 'utf8').toLowerCase()
    return parts.every(part => text.includes(part))
  })
}

/** The longest come first, so that no job is alone at the end. */
function testFiles () {
  const folders = ['apps', 'packages'].flatMap(group => readdirSync(group).map(name => `${group}/${name}/test`))
  const inOrder = new Set(['packages/playground/test', 'packages/tasks/test', 'test', ...folders.filter(folder => existsSync(folder))])
  return [...inOrder].flatMap(folder => readdirSync(folder).map(name => `${folder}/${name}`))
    .filter(file => file.endsWith('.test.ts'))
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
    await node(args, line => process.stdout.write(`${line}\n`))
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

function node (args, onLine = () => {}, timeout = 0, env = process.env) {
  return new Promise(resolve => {
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'], timeout, killSignal: 'SIGKILL' })
    const lines = createInterface({ input: child.stdout })
    lines.on('line', onLine)
    child.on('close', code => resolve(code ?? 1))
  })
}
