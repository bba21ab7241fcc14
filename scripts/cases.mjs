// `npm run cases -- <folder> [name…]`: runs the cases of a folder, or those whose file name begins with a name. A case
// is a file whose first comment states the right result. `test/cases` has the drivers by file name; any other `.mjs` or
// `.sh` is a script that exits with 0 and prints no FAIL. Prints `ok` or `not ok` for each file, with what was expected
// and what was seen, and `N passed, N failed` at the end.
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Case, cli, root } from '../test/cases/case.mjs'
import { companions, drivers, packagesOf } from '../test/cases/drivers.mjs'
import { run } from '../test/cases/processes.mjs'

/** Most cases wait more than they compute. */
const AT_ONCE = 3
const MAX_CASE_MS = 300_000
const MAX_SHOWN_CHARS = 600

const [given, ...names] = process.argv.slice(2)
if (given === undefined) {
  process.stderr.write('usage: npm run cases -- <folder> [name…]\n')
  process.exit(2)
}
const entries = readdirSync(resolve(given), { withFileTypes: true })
  .filter(({ name }) => !companions.test(name) && (names.length === 0 || names.some(begin => name.startsWith(begin))))
  .sort((a, b) => a.name < b.name ? -1 : 1)

// scripts import the packages by name, so they run next to a link to those of the clone; others lie a folder above
const scratch = mkdtempSync(join(tmpdir(), 'polyvac-cases-'))
process.on('exit', () => rmSync(scratch, { recursive: true, force: true, maxRetries: 3 }))
const folder = join(scratch, 'cases')
cpSync(resolve(given), folder, { recursive: true })
for (const path of [scratch, folder]) chmodSync(path, 0o755)
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
mkdirSync(join(scratch, 'node_modules'))
writeFileSync(join(scratch, 'package.json'), '{ "private": true }\n')

let installing = Promise.resolve()
const totals = { passed: 0, failed: 0 }
const waiting = [...entries]
await Promise.all(Array.from({ length: AT_ONCE }, async () => {
  for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) report(entry.name, await checksOf(entry))
}))
process.stdout.write(`${totals.passed} passed, ${totals.failed} failed\n`)
process.exit(totals.failed === 0 && totals.passed > 0 ? 0 : 1)

async function checksOf (entry) {
  const { name } = entry
  const driver = drivers[name] ?? (entry.isFile() && /(?<!\.server)\.mjs$|\.sh$/.test(name) ? runScript : undefined)
  if (driver === undefined) return [{ name: 'driver', seen: entry.isDirectory() ? 'no driver: folders of documents are not covered' : 'no driver', expected: 'a driver', ok: false }]
  const one = new Case(join(folder, name), scratch, install)
  try {
    const stop = new AbortController()
    const late = delay(MAX_CASE_MS, undefined, { signal: stop.signal }).then(() => { throw new Error(`not ended after ${MAX_CASE_MS / 1000} s`) })
    await Promise.race([driver(one), late])
    stop.abort()
    late.catch(() => {})
  } catch (err) {
    one.is('the driver', err.message, 'ends')
  } finally {
    await one.close()
  }
  return one.checks
}

async function runScript (c) {
  const name = c.file.slice(folder.length + 1)
  await c.extras(...packagesOf[name] ?? [])
  const [command, ...args] = name.endsWith('.sh') ? ['sh', c.file] : [process.execPath, c.file]
  const { code, text } = await run(command, args, { cwd: folder, ms: MAX_CASE_MS, env: { POLYVAC: `${process.execPath} ${cli}`, NODE: process.execPath } })
  const lines = text.split('\n').filter(line => /^(?:PASS|FAIL)\b/.test(line))
  for (const line of lines) c.is(line.slice(5, 80), line.startsWith('PASS') ? 'PASS' : line, 'PASS')
  c.holds('the script', code === 0 && lines.length > 0, `exit code ${code}${lines.length > 0 ? '' : `: ${text.trim()}`}`, 'ends with 0 and prints a line for each check')
}

/** Installs packages next to the cases, one installation at a time; resolves to the folder. */
function install (...packages) {
  if (packages.length === 0) return scratch
  installing = installing.catch(() => {}).then(async () => {
    const { code, text } = await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', '--legacy-peer-deps', ...packages], { cwd: scratch, ms: MAX_CASE_MS })
    if (code !== 0) throw new Error(`npm install ${packages.join(' ')}: ${text.trim().slice(-400)}`)
    return scratch
  })
  return installing
}

function report (name, checks) {
  const failed = checks.filter(({ ok }) => !ok)
  const isGood = failed.length === 0 && checks.length > 0
  totals[isGood ? 'passed' : 'failed']++
  const lines = [`${isGood ? 'ok' : 'not ok'} ${name} (${checks.length - failed.length} of ${checks.length} checks)`]
  for (const { name: check, expected, seen } of failed) lines.push(`    ${check}`, `      expected: ${shown(expected)}`, `      seen:     ${shown(seen)}`)
  process.stdout.write(`${lines.join('\n')}\n`)
}

function shown (value) {
  const text = (typeof value === 'string' ? value : JSON.stringify(value) ?? 'undefined')
    .replace(/(?!\n)[\p{Cc}\p{Cf}]/gu, char => `\\u{${char.codePointAt(0).toString(16)}}`)
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)} …` : text
}
