import { isUtf8 } from 'node:buffer'
import { opendir, realpath, stat } from 'node:fs/promises'
import type { Dirent } from 'node:fs'
import { extname, join, sep } from 'node:path'
import ignore from 'ignore'
import { readBoundedFile, unlessAborted, within } from '@polyvac/core/plugin'
import { formatOf, isBytes } from '../formats/table.js'
import { decodeText } from '../text/encodings.js'
import type { FolderSettings } from './folder-options.js'
import { endingOf, type LeftOutCounts } from './left-out.js'

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

/** Most files and folders that are looked at, of any kind: a wrong path may name a whole disk, or /proc. */
const MAX_ENTRIES = 1_000_000
/** Entries read from a folder at a time. */
const ENTRIES_AT_ONCE = 256
/** Longest time for reading a file, in ms: a network drive may not answer. */
const MAX_READ_MS = 30_000

/** A longer file without an ending is not looked at, in bytes: it is hardly a text. */
const MAX_BARE_BYTES = 1024 * 1024
/** Its beginning shows whether it is one. */
const HEAD_BYTES = 8_192

/** In a name they would forge lines of logs and of citations. */
const CONTROL = /\p{Cc}|[\u2028\u2029]/u

const ALWAYS_IGNORED = ['node_modules']

/** The files of the folder to index, by name. Those that are left out are counted, and logged where few can be. */
export async function listFiles (settings: FolderSettings, leftOut: LeftOutCounts, signal: AbortSignal): Promise<FoundFile[]> {
  const { root, maxFiles } = settings
  const rules = ignore().add([...ALWAYS_IGNORED, ...settings.ignore])
  // @keyed none: it lives for one listing of a folder of the configuration; maxFiles and MAX_ENTRIES
  const files: FoundFile[] = []
  // @keyed none: it lives for one listing of a folder of the configuration; maxFiles and MAX_ENTRIES
  const seen = new Set<string>([root])
  let level: { path: string, source: string }[] = [{ path: root, source: '' }]
  let entries = 0
  const look = async (folder: typeof level[number], entry: Dirent, next: typeof level): Promise<void> => {
    if (entry.name.startsWith('.')) return
    const source = folder.source === '' ? entry.name : `${folder.source}/${entry.name}`
    const path = join(folder.path, entry.name)
    const isFile = entry.isFile()
    const isRead = settings.extensions.has(extname(entry.name).toLowerCase())
    // before the patterns: most files of a repository are neither
    const ending = isRead || settings.hasExtensions ? undefined : endingOf(entry.name)
    if (isFile && !isRead && ending === undefined) return
    if (rules.ignores(isFile || entry.isSymbolicLink() ? source : `${source}/`)) return
    if (isFile && !isRead) {
      leftOut.add(ending)
      return
    }
    if (CONTROL.test(entry.name)) {
      leftOut.add('with control characters in the name')
      settings.warnOnce(source, { source }, 'left out: its name has control characters')
      return
    }
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
    if (info?.isFile() !== true) return
    if (!isRead) {
      leftOut.add(ending)
      return
    }
    if (extname(entry.name) === '' && info.size > MAX_BARE_BYTES) return
    if (info.size > settings.maxFileBytes) {
      leftOut.add('longer than `max_file_bytes`')
      const fields = { source, bytes: info.size, max_file_bytes: settings.maxFileBytes }
      settings.warnOnce(source, fields, 'file left out: it is longer than `max_file_bytes` (`maxFileBytes` of openFolder)')
      return
    }
    if (files.length <= maxFiles) files.push({ source, path, size: info.size, mtime: info.mtimeMs })
  }
  for (let depth = 0; level.length > 0 && depth < MAX_DEPTH; depth++) {
    // @keyed none: it lives for one listing of a folder of the configuration; maxFiles and MAX_ENTRIES
    const next: typeof level = []
    await inParallel(level, async folder => {
      try {
        // not all at once: a folder may have a million entries
        for await (const some of entriesOf(folder.path)) {
          signal.throwIfAborted()
          if (files.length > maxFiles || (entries += some.length) > MAX_ENTRIES) return
          await inParallel(some, entry => look(folder, entry, next))
        }
      } catch (error) {
        signal.throwIfAborted()
        if (folder.source === '') throw error
        leftOut.add('unreadable')
        settings.warnOnce(folder.source, { folder: folder.source, code: (error as NodeJS.ErrnoException).code }, 'folder cannot be read, left out')
      }
    })
    level = files.length > maxFiles || entries > MAX_ENTRIES ? [] : next
  }
  if (entries > MAX_ENTRIES) settings.warnOnce('', { entries: MAX_ENTRIES }, 'some files left out: the folder has too many entries')
  files.sort((a, b) => a.source < b.source ? -1 : 1)
  if (files.length > maxFiles) {
    settings.warnOnce('', { max_files: maxFiles }, 'some files left out: the folder holds more than `max_files` (`maxFiles` of openFolder)')
    leftOut.add('or more past `max_files`', files.length - maxFiles)
    files.length = maxFiles
  }
  return files
}

/** The entries of a folder, some at a time. */
async function * entriesOf (path: string): AsyncGenerator<Dirent[]> {
  let some: Dirent[] = []
  for await (const entry of await opendir(path, { bufferSize: ENTRIES_AT_ONCE })) {
    if (some.push(entry) < ENTRIES_AT_ONCE) continue
    yield some
    some = []
  }
  yield some
}

/** A file that was not read, for a reason that may pass: it is gone, locked, or too many files are open. */
export const UNREADABLE = Symbol('unreadable')

/**
 * The text of a file without byte order mark and NULs, or its bytes where a parser reads it; undefined where it leads
 * out of the folder, or, with a log, is not text.
 */
export async function readDocument ({ path, source }: Pick<FoundFile, 'path' | 'source'>, settings: FolderSettings,
  signal?: AbortSignal): Promise<string | Uint8Array | undefined | typeof UNREADABLE> {
  let bytes: Buffer | undefined
  try {
    const reading = within(readBoundedFile(path, settings.maxFileBytes), MAX_READ_MS, (): never => { throw new Error('it does not arrive') })
    bytes = await (signal === undefined ? reading : unlessAborted(reading, signal))
    // a link may have replaced the file, or a folder above it, since it was listed
    if (!await leadsInside(path, settings.root)) return undefined
  } catch (error) {
    signal?.throwIfAborted()
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT') settings.warnOnce(`${source} ${code ?? message}`, { source, code, reason: message }, 'file cannot be read, left out')
    return UNREADABLE
  }
  if (isBytes(formatOf(source))) return new Uint8Array(bytes)
  // binaries and keys have no ending either
  if (extname(source) === '' && !isPlain(bytes)) return ''
  const decoded = decodeText(bytes, settings.encoding)
  if (decoded === undefined) settings.warnOnce(source, { source }, 'file left out: it is not text')
  else if (decoded.encoding !== 'utf-8') settings.noteEncoding(decoded.encoding, source)
  return decoded?.text.replaceAll('\0', ' ')
}

/** Whether a file without an ending is a text such as README: UTF-8, and not a script or a private key. */
function isPlain (bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.subarray(0, HEAD_BYTES).includes(0) && !bytes.subarray(0, HEAD_BYTES).toString('latin1').match(/^#!|-----BEGIN /)
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
