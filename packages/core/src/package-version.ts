import { readFileSync } from 'node:fs'

/**
 * The version of the package that a module belongs to: of the nearest `package.json` above it, in `src/` as in `dist/`.
 * @param moduleUrl `import.meta.url`
 */
export function packageVersion (moduleUrl: string): string {
  for (let folder = new URL('.', moduleUrl); ; folder = new URL('..', folder)) {
    try {
      return (JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as { version: string }).version
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'ENOENT' || new URL('..', folder).href === folder.href) throw err
    }
  }
}
