import { open, readdir, realpath, stat } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import ignore from 'ignore'
import type { FolderSettings } from './folder-options.js'

export interface FoundFile {
  /** Path relative to the folder, with forward slashes. */
  readonly source: string
  readonly path: string
  readonly size: number
  /** Modification time in ms. */
  readonly mtime: number
}

/** Folders deeper than this are left out: a loop of mounts would never end. */
const MAX_DEPTH = 64
/** Folders and files read at the same time. */
const PARALLEL = 16

const ALWAYS_IGNORED = ['node_modules']

/** The files of the folder to index, by name. Files beyond the limits of size and number are logged. */
export async function listFiles (settings: FolderSettings, signal: AbortSignal): Promise<FoundFile[]> {
  const { root, log, maxFiles } = settings
  const rules = ignore().add([...ALWAYS_IGNORED, ...settings.ignore])
  const files: FoundFile[] = []
  const seen = new Set<string>([root])
  let level: { path: string, source: string }[] = [{ path: root, source: '' }]
  for (let depth = 0; level.length > 0 && depth < MAX_DEPTH; depth++) {
    const next: typeof level = []
    await inParallel(level, async folder => {
      signal.throwIfAborted()
      const entries = await readdir(folder.path, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
        if (folder.source === '') throw error
        log.warn({ folder: folder.source, code: error.code }, 'folder cannot be read, left out')
        return []
      })
      await inParallel(entries, async entry => {
        if (entry.name.startsWith('.')) return
        const source = folder.source === '' ? entry.name : `${folder.source}/${entry.name}`
        const path = join(folder.path, entry.name)
        const isFile = entry.isFile()
        if (isFile && !settings.extensions.has(extname(entry.name).toLowerCase())) return
        if (rules.ignores(isFile || entry.isSymbolicLink() ? source : `${source}/`)) return
        if (entry.isSymbolicLink() && !await leadsInside(path, root)) return
        const info = isFile || entry.isSymbolicLink() ? await stat(path).catch(() => undefined) : undefined
        if (entry.isDirectory() || info?.isDirectory() === true) {
          const real = entry.isDirectory() ? path : await realpath(path)
          // a link to a parent folder would never end
          if (seen.has(real)) return
          seen.add(real)
          next.push({ path, source })
          return
        }
        if (info?.isFile() !== true || !settings.extensions.has(extname(entry.name).toLowerCase())) return
        if (info.size > settings.maxFileBytes) {
          log.warn({ source, bytes: info.size, maxFileBytes: settings.maxFileBytes }, 'file left out: it is longer than maxFileBytes')
          return
        }
        if (files.length <= maxFiles) files.push({ source, path, size: info.size, mtime: info.mtimeMs })
      })
    })
    level = files.length > maxFiles ? [] : next
  }
  files.sort((a, b) => a.source < b.source ? -1 : 1)
  if (files.length > maxFiles) {
    log.warn({ maxFiles }, 'some files left out: the folder holds more than maxFiles')
    files.length = maxFiles
  }
  return files
}

/** The text of a file without byte order mark and NULs; undefined, with a log line, where it is gone or not text. */
export async function readText (file: Pick<FoundFile, 'path' | 'source'>, settings: FolderSettings): Promise<string | undefined> {
  const bytes = await readBounded(file.path, settings.maxFileBytes).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') settings.log.warn({ source: file.source, code: error.code }, 'file cannot be read, left out')
    return undefined
  })
  if (bytes === undefined) return undefined
  if (bytes.subarray(0, 8_192).includes(0)) {
    settings.log.warn({ source: file.source }, 'file left out: it is not text')
    return undefined
  }
  // not fatal: one invalid byte must not exclude a whole document
  return new TextDecoder('utf-8').decode(bytes).replaceAll('\0', ' ')
}

/** Reads a file whose size may have changed since it was listed. */
async function readBounded (path: string, maxBytes: number): Promise<Buffer | undefined> {
  const handle = await open(path)
  try {
    const { size } = await handle.stat()
    return size > maxBytes ? undefined : await handle.readFile()
  } finally {
    await handle.close()
  }
}

/** Whether a path, all links followed, lies within the folder. */
export async function leadsInside (path: string, root: string): Promise<boolean> {
  const real = await realpath(path).catch(() => undefined)
  return real !== undefined && real.startsWith(root.endsWith(sep) ? root : root + sep)
}

async function inParallel<T> (items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < items.length) await work(items[next++] as T)
  }
  await Promise.all(Array.from({ length: Math.min(PARALLEL, items.length) }, lane))
}
