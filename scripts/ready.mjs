// Makes a checkout ready to run: installs when node_modules is missing or older than the lock file, then builds what
// changed. Uses only Node.js itself, since it runs before packages are installed.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const [major, minor, patch] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && (minor < 20 || (minor === 20 && patch < 2)))) {
  fail(`Polyvac needs Node.js 20.20.2 or newer; this is ${process.versions.node}`)
}

// npm writes .package-lock.json after an installation; a newer lock file means that dependencies changed since.
const installed = new URL('../node_modules/.package-lock.json', import.meta.url)
const lock = new URL('../package-lock.json', import.meta.url)
const stamp = new URL('../node_modules/.polyvac-lock', import.meta.url)
const wanted = readFileSync(lock, 'utf8') + process.versions.modules
if (!existsSync(installed) || !existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  const fresh = existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs && !existsSync(stamp)
  if (!fresh) {
    note('installing packages (about a minute on Node 20, which compiles its SQLite driver)')
    run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'])
  }
  writeFileSync(stamp, wanted)
}

note('building')
const tsc = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url))
run(process.execPath, [tsc, '-b', 'tsconfig.build.json'])
run(process.execPath, [fileURLToPath(new URL('../packages/playground/build.mjs', import.meta.url))])

function run (command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' && command === 'npm' })
  if (error !== undefined || status !== 0) {
    if (command === 'npm') rmSync(stamp, { force: true })
    fail(`${command === process.execPath ? 'the build' : `${command} ${args.join(' ')}`} failed${error === undefined ? '' : `: ${error.message}`}`)
  }
}

/** One line at the start of a step, also without a terminal: an installation is silent for a minute. */
function note (text) {
  process.stderr.write(`polyvac: ${text} …\n`)
}

function fail (text) {
  process.stderr.write(`polyvac: ${text}\n`)
  process.exit(1)
}
