import { cp, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { addLocalPackages } from '../local-packages.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

const TEMPLATES = fileURLToPath(new URL('../../templates', import.meta.url))

/** `polyvac init`: copies the template of a service. It does not change existing files. */
export async function init ({ target = '.', template }: Pick<Arguments, 'target' | 'template'>, io: CommandIo): Promise<void> {
  const folder = resolve(io.cwd(), target)
  await mkdir(folder, { recursive: true })
  // a template takes the files that it lacks from the default one
  const files = new Map([...await filesOf('default'), ...await filesOf(template)])
  for (const [path, from] of [...files].sort(([a], [b]) => a < b ? -1 : 1)) {
    const to = join(folder, path)
    const exists = await stat(to).then(() => true, () => false)
    if (!exists) {
      await mkdir(dirname(to), { recursive: true })
      if (path === 'package.json') await writeManifest(from, to)
      else await cp(from, to)
    }
    io.stdout.write(`  ${exists ? 'kept   ' : 'written'}  ${join(target, path)}\n`)
  }
  io.stdout.write(`\n  ${folder === io.cwd() ? '' : `cd ${target} && `}npm install && npm start\n`)
}

/** The files of a template, by their path in it. */
async function filesOf (template: string): Promise<Array<[path: string, from: string]>> {
  const folder = join(TEMPLATES, template)
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(entry => {
    const from = join(entry.parentPath, entry.name)
    return [relative(folder, from), from]
  })
}

/** Writes package.json, with the tarballs of packages that did not come from a registry. */
async function writeManifest (from: string, to: string): Promise<void> {
  const manifest = JSON.parse(await readFile(from, 'utf8')) as { dependencies: Record<string, string> }
  const local = await addLocalPackages(dirname(to))
  const dependencies = { ...manifest.dependencies, ...local }
  await writeFile(to, `${JSON.stringify({ ...manifest, dependencies }, null, 2)}\n`)
}
