// Bundles the page into dist/page, with compressed copies that the plugin serves from memory, and writes the licences
// of what the bundle contains into dist/NOTICE. Does nothing where no source is newer than the last bundle.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const source = fileURLToPath(new URL('page/', import.meta.url))
const client = fileURLToPath(new URL('../client/src/', import.meta.url))
const target = fileURLToPath(new URL('dist/page/', import.meta.url))
const stamp = `${target}index.html.br`

/**
 * Leaves out what the page does not show of the checker of forms: formats, 2 kB when compressed, which the service
 * checks, the places of keywords in a schema, and errors for which `needOf` has other texts, or that stand before the
 * one of the item that is meant, which is shown.
 */
const withoutFormats = {
  name: 'without formats',
  setup ({ onLoad }) {
    onLoad({ filter: /@cfworker\/json-schema\/dist\/esm\/format\.js$/ }, () => ({ contents: 'export const format = {}' }))
    onLoad({ filter: /@cfworker\/json-schema\/dist\/esm\/validate\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(/`\$\{(?:schema|keyword)Location\}[^`]*`/g, '""').replace(/^ *keywordLocation(?:: [^,\n]+)?,\n/gm, '')
        .replace(/error: `(?:Instance type|\$\{instance\}|String is too|String does not match p|Items did not match|Instance does not match (?:every|any) sub)[^`]*`/g, 'error: ""')
    }))
  }
}

/** Bundles the page where a source is newer; whether it did. */
export async function buildPage () {
  const sources = [fileURLToPath(import.meta.url), ...[source, client].flatMap(folder => readdirSync(folder, { recursive: true }).map(name => folder + name))]
  const newest = Math.max(...sources.map(path => statSync(path).mtimeMs))
  if (existsSync(stamp) && statSync(stamp).mtimeMs >= newest) return false
  const { build } = await import('esbuild')
  const { outputFiles, metafile } = await build({
    entryPoints: { page: `${source}main.tsx`, style: `${source}style.css`, inspector: `${source}inspector.css` },
    outdir: target,
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    // the page never loads a part of another version
    chunkNames: 'parts/[name]-[hash]',
    // the sources of @polyvac/client, which may not be compiled yet
    conditions: ['@polyvac/src'],
    minify: true,
    format: 'esm',
    target: ['chrome111', 'firefox113', 'safari16.2'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    plugins: [withoutFormats]
  })
  const parts = partsOf(metafile).map(part => `<link rel="modulepreload" href="${part}">\n`).join('')
  const files = [
    ...outputFiles.map(({ path, contents }) => [path.slice(target.length), contents]),
    ['icon.svg', readFileSync(`${source}icon.svg`)],
    // the last one: the page is complete then
    ['index.html', readFileSync(`${source}index.html`, 'utf8').replace('<script', `${parts}<script`)]
  ]
  rmSync(target, { recursive: true, force: true })
  mkdirSync(`${target}parts`, { recursive: true })
  for (const [name, contents] of files) {
    writeFileSync(target + name, contents)
    writeFileSync(`${target}${name}.gz`, gzipSync(contents, { level: 9 }))
    writeFileSync(`${target}${name}.br`, brotliCompressSync(contents, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }))
  }
  writeFileSync(new URL('dist/NOTICE', import.meta.url), noticeOf(Object.keys(metafile.inputs)))
  return true
}

/** The parts that `page.js` imports at its start: the browser loads them along with it. */
function partsOf ({ outputs }) {
  const [[, page]] = Object.entries(outputs).filter(([path]) => path.endsWith('/page.js'))
  return page.imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => path.slice(path.lastIndexOf('parts/')))
}

/** The licences of the packages whose files are bundled: each demands that its text goes along with the code. */
function noticeOf (files) {
  const folders = [...new Set(files.flatMap(file => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []))].sort()
  return folders.map(folder => {
    const { name, version, license, author } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
    const file = readdirSync(folder).find(file => /^licen[sc]e/i.test(file))
    // a package without that file names its licence only in the manifest; LICENSE has the terms of MIT
    const text = file !== undefined
      ? readFileSync(`${folder}/${file}`, 'utf8')
      : `${license} License\n\nCopyright (c) ${author.name ?? author}\n\n${termsOf(license)}`
    return `${name} ${version}\n\n${text.trim()}\n`
  }).join(`\n${'-'.repeat(80)}\n\n`)
}

function termsOf (license) {
  if (license !== 'MIT') throw new Error(`a bundled package with the licence ${license} has no file with its terms`)
  const own = readFileSync(new URL('LICENSE', import.meta.url), 'utf8')
  return own.slice(own.indexOf('Permission is hereby granted'))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildPage()
