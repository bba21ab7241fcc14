import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { test, type Test } from 'tap'
import { root } from './fixtures/pages.js'

/** A checkout whose npm, scripts of packages and compiler print what they are called with; `ready` prepares it. */
async function checkout (t: Test): Promise<{ folder: string, ready: (...args: string[]) => Promise<string[]> }> {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-ready-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(join(folder, file, '..'), { recursive: true })
    await writeFile(join(folder, file), text)
  }
  for (const name of ['scripts/ready.mjs', 'scripts/compile.mjs', 'scripts/compile-sources.mjs', 'tsconfig.base.json']) await cp(join(root, name), join(folder, name))
  await write('package-lock.json', '{}')
  await write('packages/playground/build.mjs', 'export const buildPage = async () => {}')
  await write('packages/one/src/index.ts', 'export const one: number = 1\n')
  await mkdir(join(folder, 'apps'))
  // like npm, which removes the packages that are there
  await write('bin/npm', `#!/bin/sh
echo npm "$@" >&2
test "$1 $2" = "ci --prefix" && exit 0
test "$1" = ci || exit 0
rm -rf node_modules && mkdir -p node_modules/typescript/bin node_modules/esbuild
echo '{}' > node_modules/.package-lock.json
echo 'console.error("tsc", ...process.argv.slice(2))' > node_modules/typescript/bin/tsc
echo '{ "main": "main.js" }' > node_modules/esbuild/package.json
echo 'exports.transform = async text => ({ code: text.replace(": number", "") })' > node_modules/esbuild/main.js
echo 'console.error("Failed to find package")' > node_modules/esbuild/install.js
`)
  await chmod(join(folder, 'bin/npm'), 0o755)
  const { NODE_OPTIONS, CI, ...env } = process.env
  const ready = async (...args: string[]): Promise<string[]> => {
    const { stderr } = await promisify(execFile)(process.execPath, [join(folder, 'scripts/ready.mjs'), ...args], {
      env: { ...env, PATH: `${join(folder, 'bin')}${delimiter}${env.PATH}` }
    })
    return stderr.trim().split('\n')
  }
  return { folder, ready }
}

const LIGHT = /^npm ci --omit=dev --omit=optional --ignore-scripts /
const ALL = /^npm ci (?!.*--omit)/

test('npm start prints a line at the start of each step, also without a terminal, and installs what builds and runs', async t => {
  const { folder, ready } = await checkout(t)
  const lines = await ready('start')
  t.match(lines[0], /^polyvac: installing the packages that build and run.*…$/)
  t.match(lines[1], LIGHT)
  t.equal(lines.at(-1), 'polyvac: building …')
  const hasSqlite = Number(process.versions.node.split('.')[0]) > 20
  t.equal(lines[0]!.includes('better-sqlite3 is compiled'), !hasSqlite, 'the first line names what takes minutes')
  t.strictSame(lines.slice(2, -1).map(line => line.replace(/ --no-audit.*/, '')), hasSqlite ? [] : ['polyvac: compiling better-sqlite3 …', 'npm rebuild better-sqlite3'])
  t.equal(await readFile(join(folder, 'packages/one/dist/index.js'), 'utf8'), 'export const one = 1\n', 'without tsc')
})

test('an installation whose driver of SQLite was not compiled is not taken for a finished one', async t => {
  const { folder, ready } = await checkout(t)
  await ready('start')
  await rm(join(folder, 'node_modules/.polyvac-lock'))
  const hasSqlite = Number(process.versions.node.split('.')[0]) > 20
  t.equal((await ready('start')).some(line => LIGHT.test(line)), !hasSqlite)
  await mkdir(join(folder, 'node_modules/better-sqlite3/build/Release'), { recursive: true })
  await writeFile(join(folder, 'node_modules/better-sqlite3/build/Release/better_sqlite3.node'), '')
  await rm(join(folder, 'node_modules/.polyvac-lock'))
  t.notOk((await ready('start')).some(line => LIGHT.test(line)), 'with the driver it is')
})

test('npm test installs everything after npm start, and npm start nothing after npm test', async t => {
  const { ready } = await checkout(t)
  await ready('start')
  t.strictSame(await ready('start'), ['polyvac: building …'])
  t.strictSame(await ready(), ['polyvac: building …', 'tsc -b tsconfig.build.json'])
  const all = await ready('all')
  t.match(all[0], /^polyvac: installing the packages of tests and checks too/)
  t.match(all[1], ALL)
  t.strictSame(await ready('all'), ['polyvac: building …', 'tsc -b tsconfig.build.json'])
  t.strictSame(await ready('start'), ['polyvac: building …'])
})

test('a newer lock file is installed, for the set that the command needs', async t => {
  const { folder, ready } = await checkout(t)
  await ready('all')
  await writeFile(join(folder, 'package-lock.json'), '{ "version": 2 }')
  t.match((await ready())[1], LIGHT)
  await writeFile(join(folder, 'package-lock.json'), '{ "version": 3 }')
  t.match((await ready('all'))[1], ALL)
})

test('once tsc has built, npm start leaves building to it', async t => {
  const { folder, ready } = await checkout(t)
  await ready('start')
  await writeFile(join(folder, 'packages/one/dist/.tsbuildinfo'), '{}')
  t.strictSame(await ready('start'), ['polyvac: building …', 'tsc -b tsconfig.build.json'])
})

test('a folder that has its own lock file is installed by the command that names it, and only once', async t => {
  const { folder, ready } = await checkout(t)
  await ready('all')
  await mkdir(join(folder, 'bench/node_modules'), { recursive: true })
  await writeFile(join(folder, 'bench/package-lock.json'), '{}')
  const lines = await ready('all', 'bench')
  t.match(lines.slice(0, 2), ['polyvac: installing the packages of bench …', /^npm ci --prefix bench /])
  t.strictSame(await ready('all', 'bench'), ['polyvac: building …', 'tsc -b tsconfig.build.json'])
  await writeFile(join(folder, 'bench/package-lock.json'), '{ "version": 2 }')
  t.match((await ready('all', 'bench'))[1], /^npm ci --prefix bench /)
})
