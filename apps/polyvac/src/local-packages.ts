import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { PackError } from './errors.js'

interface Manifest { readonly name: string, readonly version: string, readonly dependencies?: Record<string, string>, readonly optionalDependencies?: Record<string, string> }
interface Lock { readonly packages: Record<string, { readonly resolved?: string }> }

const COMMAND = 'polyvac'

/** Folder of the tarballs, in the folder that `polyvac init` fills. */
const TARBALLS = 'packages'

/**
 * Where this command did not come from a registry, puts tarballs of Polyvac's packages into `folder` and returns their
 * dependencies, such as `file:packages/polyvac-core-0.1.0.tgz`: `npm install` there needs no published package, and the
 * folder can be moved. Empty where the packages came from a registry.
 * @throws PACK_FAILED
 */
export async function addLocalPackages (folder: string): Promise<Record<string, string>> {
  const { home, root, inside } = origin()
  const destination = join(folder, TARBALLS)
  const tarballs = inside ? await copyTarballs(root, destination) : await pack(home, destination)
  return Object.fromEntries(tarballs.map(([name, file]) => [name, `file:${TARBALLS}/${file}`]))
}

/**
 * The lines that install these packages in `folder` where this command did not come from a registry; undefined where it
 * did. It writes nothing.
 */
export async function localInstall (names: readonly string[], folder: string): Promise<string[] | undefined> {
  const { home, root, inside } = origin()
  const path = (file: string): string => shellWord(isInside(file, folder) ? `./${relative(folder, file)}` : file)
  if (inside) {
    const files = (await tarballsOf(root)).filter(([name]) => names.includes(name)).map(([, file]) => path(file))
    return files.length === 0 ? undefined : [`npm install ${files.join(' ')}`]
  }
  const folders = await packagesOf(resolve(home, '../..'))
  const wanted = names.map(name => folders.get(name)!)
  const files = wanted.map(({ manifest: { name, version } }) => `./${name.slice(1).replace('/', '-')}-${version}.tgz`)
  return [`npm pack ${wanted.map(({ folder }) => path(folder)).join(' ')}`, `npm install ${files.join(' ')}`]
}

/** Where this command stands: in the `node_modules` of a folder, or in a clone. */
function origin (): { home: string, root: string, inside: boolean } {
  const home = fileURLToPath(new URL('..', import.meta.url))
  const [root = home, inside] = home.split(`${sep}node_modules${sep}`, 2)
  return { home, root, inside: inside !== undefined }
}

const isInside = (file: string, folder: string): boolean => file.startsWith(`${folder}${sep}`)

const shellWord = (text: string): string => /^[\w@%+=:,./\\-]+$/.test(text) ? text : JSON.stringify(text)

/** The packages of a clone, by name. */
async function packagesOf (workspace: string): Promise<Map<string, { folder: string, manifest: Manifest }>> {
  // @keyed none: the packages of a clone
  const folders = new Map<string, { folder: string, manifest: Manifest }>()
  const groups = await Promise.all(['apps', 'packages'].map(async group => (await readdir(join(workspace, group))).map(name => join(workspace, group, name))))
  for (const entry of groups.flat()) {
    if (!existsSync(join(entry, 'package.json'))) continue
    const manifest = JSON.parse(await readFile(join(entry, 'package.json'), 'utf8')) as Manifest
    folders.set(manifest.name, { folder: entry, manifest })
  }
  return folders
}

/** Packs the command of a clone, and the packages of the clone that it needs. */
async function pack (home: string, destination: string): Promise<Array<[string, string]>> {
  const workspace = resolve(home, '../..')
  const folders = await packagesOf(workspace)
  const wanted = new Set([COMMAND])
  for (const name of wanted) {
    const { dependencies, optionalDependencies } = folders.get(name)!.manifest
    for (const other of Object.keys({ ...dependencies, ...optionalDependencies })) if (folders.has(other)) wanted.add(other)
  }
  await mkdir(destination, { recursive: true })
  const args = ['pack', '--json', '--loglevel=error', '--pack-destination', destination, ...[...wanted].map(name => folders.get(name)!.folder)]
  try {
    const { stdout } = await promisify(execFile)('npm', args, { cwd: workspace, shell: process.platform === 'win32' })
    return (JSON.parse(stdout) as Array<{ name: string, filename: string }>).map(({ name, filename }) => [name, filename])
  } catch (err) {
    throw Object.assign(new PackError(workspace, (err as Error).message.split('\n')[0]!), { cause: err })
  }
}

/** Copies the tarballs from which npm installed this command and its packages; none where it used a registry. */
async function copyTarballs (root: string, destination: string): Promise<Array<[string, string]>> {
  const files = await tarballsOf(root)
  if (files.length > 0) await mkdir(destination, { recursive: true })
  for (const [, file] of files) if (dirname(file) !== destination) await copyFile(file, join(destination, basename(file)))
  return files.map(([name, file]) => [name, basename(file)])
}

/** The tarballs from which npm installed Polyvac's packages into a folder. */
async function tarballsOf (root: string): Promise<Array<[name: string, file: string]>> {
  const lock = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(lock)) return []
  const { packages } = JSON.parse(await readFile(lock, 'utf8')) as Lock
  return Object.entries(packages).flatMap(([path, { resolved = '' }]): Array<[string, string]> => {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    return (name === COMMAND || name.startsWith('@polyvac/')) && resolved.startsWith('file:') && resolved.endsWith('.tgz')
      ? [[name, resolve(root, resolved.slice('file:'.length))]]
      : []
  })
}
