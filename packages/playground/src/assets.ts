import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { PageMissingError } from './errors.js'

/** A file of the page, with its compressed copies. */
export interface Asset {
  readonly path: string
  readonly type: string
  /** Bodies by content coding. */
  readonly bodies: Readonly<Record<'br' | 'gzip' | 'identity', Buffer>>
  readonly etags: Readonly<Record<'br' | 'gzip' | 'identity', string>>
}

const FOLDER = fileURLToPath(new URL('../dist/page/', import.meta.url))
const SCRIPT = 'text/javascript; charset=utf-8'
export const STYLE = 'text/css; charset=utf-8'

/** The files of the page: path below the playground, name in the package, type. */
const FILES = [
  ['', 'index.html', 'text/html; charset=utf-8'],
  ['page.js', 'page.js', SCRIPT],
  ['style.css', 'style.css', STYLE],
  // loaded with the inspector
  ['inspector.css', 'inspector.css', STYLE],
  ['icon.svg', 'icon.svg', 'image/svg+xml']
] as const

let assets: readonly Asset[] | undefined

/** Reads the page from the package once, with the scripts in `parts/`. @throws PLAYGROUND_PAGE_MISSING */
export function readAssets (): readonly Asset[] {
  assets ??= [...FILES.map(([path, name, type]) => readAsset(path, name, type)), ...partNames().map(name => readAsset(name, name, SCRIPT))]
  return assets
}

/** The scripts that `page.js` loads, at its start or later. Their names have a hash of what is in them. */
function partNames (): string[] {
  const folder = `${FOLDER}parts`
  return existsSync(folder) ? readdirSync(folder).filter(name => name.endsWith('.js')).map(name => `parts/${name}`) : []
}

function readAsset (path: string, name: string, type: string): Asset {
  const file = FOLDER + name
  if (!existsSync(`${file}.br`)) throw new PageMissingError(file)
  return assetOf(path, type, { br: readFileSync(`${file}.br`), gzip: readFileSync(`${file}.gz`), identity: readFileSync(file) })
}

/** A file with a strong tag for each coding: a tag names one representation (RFC 9110, section 8.8.3). */
export function assetOf (path: string, type: string, bodies: Asset['bodies']): Asset {
  const hash = createHash('sha256').update(bodies.identity).digest('base64url').slice(0, 22)
  return { path, type, bodies, etags: { br: `"${hash}-br"`, gzip: `"${hash}-gz"`, identity: `"${hash}"` } }
}

/** A small text that is made here, with its compressed copies. */
export function textAsset (path: string, type: string, text: string): Asset {
  const identity = Buffer.from(text)
  return assetOf(path, type, { br: brotliCompressSync(identity), gzip: gzipSync(identity), identity })
}
