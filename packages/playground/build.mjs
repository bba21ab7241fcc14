// Bundles the page into dist/page, with compressed copies that the plugin serves from memory. Does nothing where no
// source is newer than the last bundle.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const source = fileURLToPath(new URL('page/', import.meta.url))
const target = fileURLToPath(new URL('dist/page/', import.meta.url))
const stamp = `${target}style.css.br`

/**
 * Leaves out what the page does not show of the checker of forms: formats, 2 kB when compressed, which the service
 * checks, the places of keywords in a schema, and errors for which `needOf` has other texts.
 */
const withoutFormats = {
  name: 'without formats',
  setup ({ onLoad }) {
    onLoad({ filter: /@cfworker\/json-schema\/dist\/esm\/format\.js$/ }, () => ({ contents: 'export const format = {}' }))
    onLoad({ filter: /@cfworker\/json-schema\/dist\/esm\/validate\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(/`\$\{(?:schema|keyword)Location\}[^`]*`/g, '""').replace(/^ *keywordLocation(?:: [^,\n]+)?,\n/gm, '')
        .replace(/error: `(?:Instance type|\$\{instance\}|String is too)[^`]*`/g, 'error: ""')
    }))
  }
}

/** Bundles the page where a source is newer; whether it did. */
export async function buildPage () {
  const sources = [fileURLToPath(import.meta.url), ...readdirSync(source, { recursive: true }).map(name => source + name)]
  const newest = Math.max(...sources.map(path => statSync(path).mtimeMs))
  if (existsSync(stamp) && statSync(stamp).mtimeMs >= newest) return false
  const { build } = await import('esbuild')
  mkdirSync(target, { recursive: true })
  const { outputFiles } = await build({
    entryPoints: { page: `${source}main.tsx`, style: `${source}style.css` },
    outdir: target,
    write: false,
    bundle: true,
    // beside the other libraries, not amid the page: 300 bytes less when compressed
    inject: ['@cfworker/json-schema'],
    minify: true,
    format: 'esm',
    target: ['chrome110', 'firefox110', 'safari16'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    plugins: [withoutFormats]
  })
  const files = [
    ['index.html', readFileSync(`${source}index.html`)],
    ...outputFiles.map(({ path, contents }) => [path.slice(target.length), contents])
  ]
  for (const [name, contents] of files) {
    writeFileSync(target + name, contents)
    writeFileSync(`${target}${name}.gz`, gzipSync(contents, { level: 9 }))
    writeFileSync(`${target}${name}.br`, brotliCompressSync(contents, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }))
  }
  return true
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildPage()
