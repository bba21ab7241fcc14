// Makes a checkout ready to run: installs what the command needs where it is missing or older than the lock file, then
// builds what changed. Uses only Node.js itself, since it runs before packages are installed. Its argument:
//   start   the packages that build and run; in a fresh clone compiles without a check of types, and writes no types
//   (none)  the same packages; checks types
//   all     in addition what tests, benchmarks and checks need: devDependencies and optional packages
// Further arguments are folders that have their own lock file, which is installed there.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const purpose = process.argv[2] ?? 'build'
const [major, minor, patch] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && (minor < 20 || (minor === 20 && patch < 2)))) {
  fail(`Polyvac needs Node.js 20.20.2 or newer; this is ${process.versions.node}`)
}
const hasSqlite = major > 22 || (major === 22 && minor >= 13)

const QUIET = ['--no-audit', '--no-fund', '--loglevel=error']
const pathOf = path => fileURLToPath(new URL(`../${path}`, import.meta.url))
const stamp = pathOf('node_modules/.polyvac-lock')
const finish = await install(purpose === 'all' ? 'all' : 'light')

for (const folder of process.argv.slice(3)) await installFolder(folder)

note('building')
const { buildPage } = await import('../packages/playground/build.mjs')
const { compileSources, isTypeChecked } = await import('./compile-sources.mjs')
const page = attempt('the build of the page', buildPage())
if (purpose === 'start' && !isTypeChecked()) await attempt('the build', compileSources())
else await run(process.execPath, [pathOf('node_modules/typescript/bin/tsc'), '-b', 'tsconfig.build.json'], 'the build')
await page
await finish?.()

/**
 * Installs the set `light` or `all` where it is not installed: the stamp has its name and the lock file, and `all` is
 * enough for `light`. Resolves to a function that waits for what is still compiled.
 */
async function install (set) {
  // npm writes .package-lock.json after an installation; a newer lock file means that dependencies changed since.
  const lock = pathOf('package-lock.json')
  const installed = pathOf('node_modules/.package-lock.json')
  const stampOf = set => `${set}\n${process.versions.modules}\n${readFileSync(lock, 'utf8')}`
  const found = existsSync(installed) && existsSync(stamp) ? readFileSync(stamp, 'utf8') : undefined
  if (found === stampOf('all') || found === stampOf(set)) return
  // an installation that was interrupted may lack the driver
  const hasDriver = hasSqlite || existsSync(pathOf('node_modules/better-sqlite3/build/Release/better_sqlite3.node'))
  if (found === undefined && hasDriver && existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) {
    // someone ran npm
    const name = existsSync(pathOf('node_modules/tap')) ? 'all' : 'light'
    if (name === 'all' || name === set) return writeFileSync(stamp, stampOf(name))
  }
  rmSync(stamp, { force: true })
  const compiles = hasSqlite ? '' : `; Node.js ${major} has no SQLite, so better-sqlite3 is compiled where its binary cannot be downloaded: one to three minutes, not needed from Node.js 22.13 on`
  note(`installing the packages ${set === 'all' ? 'of tests and checks too' : 'that build and run'}${compiles}`)
  if (set === 'all') {
    await run('npm', ['ci', ...QUIET])
    return writeFileSync(stamp, stampOf(set))
  }
  await run('npm', ['ci', '--omit=dev', '--omit=optional', '--ignore-scripts', ...QUIET])
  let driver
  if (!hasSqlite) {
    note('compiling better-sqlite3')
    driver = run('npm', ['rebuild', 'better-sqlite3', ...QUIET, ...process.stderr.isTTY ? ['--foreground-scripts'] : []])
  }
  // The binary of esbuild is an optional package. Without it, this script installs the one for this platform and checks
  // its hash; its lines look like errors.
  await run(process.execPath, [pathOf('node_modules/esbuild/install.js')], 'the installation of esbuild', 'pipe')
  return async () => {
    await driver
    writeFileSync(stamp, stampOf(set))
  }
}

async function installFolder (folder) {
  const stamp = pathOf(`${folder}/node_modules/.polyvac-lock`)
  const wanted = readFileSync(pathOf(`${folder}/package-lock.json`), 'utf8')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  note(`installing the packages of ${folder}`)
  await run('npm', ['ci', '--prefix', folder, '--ignore-scripts', ...QUIET])
  writeFileSync(stamp, wanted)
}

async function attempt (what, promise) {
  try {
    await promise
  } catch (err) {
    fail(`${what} failed: ${err.message}`)
  }
}

/** Runs a command. Its output goes to standard error, where npm shows its progress; with 'pipe', only if it fails. */
async function run (command, args, what = `${command} ${args.join(' ')}`, output = 2) {
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', output, output], shell: process.platform === 'win32' && command === 'npm' })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', piece => { text += piece })
  const problem = await new Promise(resolve => {
    child.once('error', err => resolve(`: ${err.message}`))
    child.once('close', code => resolve(code === 0 ? undefined : ''))
  })
  if (problem === undefined) return
  process.stderr.write(text)
  fail(`${what} failed${problem}`)
}

/** One line at the start of a step, also without a terminal: an installation may be silent for a minute. */
function note (text) {
  process.stderr.write(`polyvac: ${text} …\n`)
}

function fail (text) {
  process.stderr.write(`polyvac: ${text}\n`)
  process.exit(1)
}
