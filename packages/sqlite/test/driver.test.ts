import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test, type Test } from 'tap'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const skip = major > 22 || (major === 22 && minor >= 13) ? 'this Node.js has SQLite built in' : false

/** Opens a database in a folder whose node_modules has these packages, without what their install scripts build. */
async function openWith (t: Test, packages: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-sqlite-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const modules = join(folder, 'node_modules')
  for (const name of ['package.json', 'dist']) await cp(join(root, 'packages/sqlite', name), join(modules, '@polyvac/sqlite', name), { recursive: true })
  for (const name of ['@fastify/error', ...packages]) {
    await cp(join(root, 'node_modules', name), join(modules, name), { recursive: true, filter: path => !/better-sqlite3[/\\](?:build|deps|src)/.test(path) })
  }
  const program = 'import("@polyvac/sqlite").then(({ openDatabase }) => openDatabase(":memory:")).catch(({ code, message }) => console.log(code, message))'
  const { NODE_OPTIONS, ...env } = process.env
  return (await promisify(execFile)(process.execPath, ['-e', program], { cwd: folder, env })).stdout
}

test('a driver whose install script did not run is reported with the script to allow', { skip }, async t => {
  t.match(await openWith(t, ['better-sqlite3', 'bindings', 'file-uri-to-path']),
    /^SQLITE_DRIVER_MISSING .*the install script of better-sqlite3 did not run\); allow its install script .*`npm rebuild better-sqlite3`, or `pnpm approve-builds`.*Node 22\.13/)
})

test('a driver that is not installed is reported with the command that installs it', { skip }, async t => {
  t.match(await openWith(t, []), /^SQLITE_DRIVER_MISSING .*\(better-sqlite3 is not installed\); run `npm i better-sqlite3@12`, or use Node 22\.13/)
})
