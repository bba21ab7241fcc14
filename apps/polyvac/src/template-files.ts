import { readdir } from 'node:fs/promises'
import { join, parse, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const TEMPLATE_FILES = fileURLToPath(new URL('../templates', import.meta.url))

/** Files of `default` that a template has no use for. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = { agent: ['interpreter.mjs'] }

/** Names of files that npm leaves out of a package: they are kept without their dot. */
const DOT_FILES = new Set(['gitignore', 'env.example'])

/**
 * The files of a template, by their path in the folder that is filled. A template takes what it lacks from `default`; a
 * module in another language, such as interpreter.ts for interpreter.mjs, is the same file.
 */
export async function filesOf (template: string): Promise<Array<[path: string, from: string]>> {
  // @keyed none: the files of this package
  const files = new Map<string, [path: string, from: string]>()
  for (const name of ['default', template]) {
    const folder = join(TEMPLATE_FILES, name)
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || (name !== template && LEFT_OUT[template]?.includes(entry.name))) continue
      const from = join(entry.parentPath, entry.name)
      const path = relative(folder, join(entry.parentPath, `${DOT_FILES.has(entry.name) ? '.' : ''}${entry.name}`))
      const { ext } = parse(path)
      files.set(['.ts', '.mjs'].includes(ext) ? path.slice(0, -ext.length) : path, [path, from])
    }
  }
  return [...files.values()].sort(([a], [b]) => a < b ? -1 : 1)
}
