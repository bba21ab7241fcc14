// The whole check of the repository: types, lint, tap; ends with one line `N passed, N failed`.
// Arguments are test files; without any, all of .taprc.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const files = process.argv.slice(2)
let failed = 0
if (files.length === 0) {
  for (const [what, ...command] of [
    ['types', 'node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'],
    ['lint', 'node_modules/eslint/bin/eslint.js', '.', '--max-warnings=0']
  ]) {
    process.stdout.write(`${what} … `)
    const ok = await node(command, line => process.stdout.write(`${line}\n`)) === 0
    process.stdout.write(ok ? 'ok\n' : `${what} failed\n`)
    if (!ok) failed++
  }
}

let passed = 0
let skipped = 0
let depth = 0
const trouble = []
const status = await node(['node_modules/tap/dist/esm/run.mjs', 'run', '--disable-coverage', '--reporter=tap', ...files], line => {
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
  if (indent.length === 0 && isTest) process.stdout.write(`${result === 'ok' ? '  ok' : 'FAIL'}  ${text.replace(/ # time=.*/, '')}\n`)
  if (result === 'not ok') { trouble.push(text); depth = 1; process.stdout.write(`${line}\n`) }
})
if (status !== 0 && failed === 0) failed++
process.stdout.write(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`)
process.exitCode = failed === 0 ? 0 : 1

function node (args, onLine) {
  return new Promise(resolve => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const lines = createInterface({ input: child.stdout })
    lines.on('line', onLine)
    child.on('close', code => resolve(code ?? 1))
  })
}
