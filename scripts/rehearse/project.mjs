import { cp, mkdir, readFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { npm, root } from './run.mjs'

/** Installs a folder's package.json without install scripts. */
export async function install (folder) {
  await npm(['install', '--ignore-scripts'], folder)
  await addSqliteDriver(folder)
}

/** Packages below a folder that have an install script. */
export async function withInstallScript (folder) {
  const { packages } = JSON.parse(await readFile(join(folder, 'node_modules', '.package-lock.json'), 'utf8'))
  return Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
}

/**
 * Node.js before 22.13 has no built-in SQLite, and compiling better-sqlite3 takes a minute where no prebuilt binary
 * can be downloaded. The checkout has compiled the same version already, so its binary is copied; the installation of
 * the checkout tests the install script.
 */
async function addSqliteDriver (folder) {
  const target = join(folder, 'node_modules', 'better-sqlite3')
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 13) || !existsSync(target)) return
  const ours = join(root, 'node_modules', 'better-sqlite3')
  const version = path => createRequire(import.meta.url)(join(path, 'package.json')).version
  const binary = join('build', 'Release', 'better_sqlite3.node')
  if (existsSync(join(ours, binary)) && version(ours) === version(target)) {
    await mkdir(join(target, 'build', 'Release'), { recursive: true })
    await cp(join(ours, binary), join(target, binary))
  } else {
    await npm(['rebuild', 'better-sqlite3'], folder)
  }
}
