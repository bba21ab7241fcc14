import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { npm, root } from './run.mjs'

/** Replaces a manifest's @polyvac dependencies, and the @polyvac packages that those depend on, by the tarballs. */
export function withTarballs (manifest, packed) {
  const wanted = new Set()
  const add = names => {
    for (const name of names) {
      if (!packed.has(name) || wanted.has(name)) continue
      wanted.add(name)
      const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = packed.get(name).manifest
      add(Object.keys({ ...dependencies, ...optionalDependencies }))
      // npm leaves optional peers to the user
      const isOptional = peer => peerDependenciesMeta?.[peer]?.optional === true
      add(Object.keys(peerDependencies ?? {}).filter(peer => !isOptional(peer)))
    }
  }
  add(Object.keys(manifest.dependencies ?? {}))
  const files = Object.fromEntries([...wanted].map(name => [name, `file:${packed.get(name).file}`]))
  return { ...manifest, dependencies: { ...manifest.dependencies, ...files } }
}

/** Installs a folder's package.json from the tarballs, without install scripts. */
export async function install (folder, packed) {
  const file = join(folder, 'package.json')
  const manifest = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify(withTarballs(manifest, packed), null, 2))
  await installUnchanged(folder)
}

/** Installs a folder's package.json without install scripts. */
export async function installUnchanged (folder) {
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
