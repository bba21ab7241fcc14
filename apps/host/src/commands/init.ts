import { cp, mkdir, readdir, stat } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Arguments } from '../arguments.js'

const TEMPLATE = fileURLToPath(new URL('../../templates/default', import.meta.url))

/** `polyvac init`: copies the template of a service. It does not change existing files. */
export async function init ({ target = '.' }: Arguments): Promise<void> {
  const folder = resolve(target)
  await mkdir(folder, { recursive: true })
  for (const entry of await readdir(TEMPLATE, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const from = join(entry.parentPath, entry.name)
    const path = relative(TEMPLATE, from)
    const exists = await stat(join(folder, path)).then(() => true, () => false)
    if (!exists) await cp(from, join(folder, path))
    process.stdout.write(`  ${exists ? 'kept   ' : 'written'}  ${join(target, path)}\n`)
  }
  process.stdout.write(`\n  ${folder === process.cwd() ? '' : `cd ${target} && `}npm install && npm start\n`)
}
