// The whole check of the repository: types, lint, imports, words, tap; ends with one line `N passed, N failed`.
// Arguments are test files; without any, all of .taprc. With files or --grep, tap runs alone.
//   --grep <words>  runs the tests whose name contains the words, in upper or lower case
//   --watch         runs again after each change of a source, a test or a page, until Ctrl-C
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'

const WATCHED = ['packages', 'apps', 'test', 'scripts', 'docs']
/** Editors write a file in several steps. */
const SETTLE_MS = 200

const options = { grep: { type: 'string' }, watch: { type: 'boolean' } }
const { values, positionals: files } = parseArgs({ options, allowPositionals: true })
const { grep } = values
if (values.watch) await runOnChanges()

let failed = 0
if (files.length === 0 && grep === undefined) {
  for (const [what, ...command] of [
    ['types', 'node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'],
    ['lint', 'node_modules/eslint/bin/eslint.js', '.', '--max-warnings=0'],
    ['imports', 'scripts/imports.mjs'],
    ['words', 'scripts/words.mjs']
  ]) {
    process.stdout.write(`${what} … `)
    const lines = []
    const ok = await node(command, line => lines.push(line)) === 0
    process.stdout.write(ok ? 'ok\n' : `failed\n${lines.join('\n')}\n`)
    if (!ok) failed++
  }
}

let passed = 0
let skipped = 0
let depth = 0
const trouble = []
const tap = ['node_modules/tap/dist/esm/run.mjs', 'run', '--disable-coverage', '--reporter=tap']
if (grep !== undefined) tap.push('--filter-quietly', `--grep=/${grep.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}/i`)
const chosen = grep === undefined ? files : filesWith(grep)
if (grep !== undefined && chosen.length === 0) endWithoutTests()
// test/fixtures/loop-watchdog.mjs writes a line for each block of an event loop
const folder = mkdtempSync(join(tmpdir(), 'polyvac-test-'))
const blocks = process.env.POLYVAC_BLOCKS = join(folder, 'blocks')
writeFileSync(blocks, '')
const status = await node([...tap, ...chosen], line => {
  // a leaf of the TAP stream is one sentence; its children are its steps
  const match = /^(\s*)(not ok|ok) \d+(?: - (.*))?$/.exec(line)
  if (match === null) {
    if (/^\s+# (?!Subtest|time=|\{)/.test(line)) process.stdout.write(`${line}\n`)
    if (trouble.length > 0 && depth > 0) { process.stdout.write(`${line}\n`); if (/^\s*\.\.\.$/.test(line)) depth = 0 }
    return
  }
  const [, indent, result, text = ''] = match
  const isTest = /# time=/.test(text)
  if (/# skip/i.test(text)) { skipped++; process.stdout.write(`skipped: ${text}\n`) } else if (indent.length === 4 && isTest) {
    if (result === 'ok') passed++; else failed++
  }
  if (indent.length === 0 && isTest) process.stdout.write(`${result === 'ok' ? '  ok' : 'FAIL'}  ${text.replace(/ # time=([\d.]+)ms.*/, (match, ms) => ` (${(ms / 1000).toFixed(1)} s)`)}\n`)
  if (result === 'not ok') { trouble.push(text); depth = 1; process.stdout.write(`${line}\n`) }
})
if (status !== 0 && failed === 0) failed++
for (const block of readFileSync(blocks, 'utf8').split('\n').slice(0, -1)) {
  failed++
  process.stdout.write(`FAIL  ${block}\n`)
}
rmSync(folder, { recursive: true, force: true })
if (grep !== undefined && passed + failed + skipped === 0) endWithoutTests()
process.stdout.write(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`)
process.exitCode = failed === 0 ? 0 : 1

/** Test files that hold each of the words: a name may be put together from parts. */
function filesWith (words) {
  const parts = words.toLowerCase().split(/\s+/)
  return (files.length > 0 ? files : testFiles()).filter(file => {
    const text = readFileSync(file, 'utf8').toLowerCase()
    return parts.every(part => text.includes(part))
  })
}

/** The files that .taprc includes. */
function testFiles () {
  const folders = ['packages', 'apps'].flatMap(group => readdirSync(group).map(name => `${group}/${name}/test`))
  return [...folders.filter(folder => existsSync(folder)), 'test'].flatMap(folder => readdirSync(folder).map(name => `${folder}/${name}`))
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

function node (args, onLine) {
  return new Promise(resolve => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const lines = createInterface({ input: child.stdout })
    lines.on('line', onLine)
    child.on('close', code => resolve(code ?? 1))
  })
}
