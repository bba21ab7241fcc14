import { createHash } from 'node:crypto'
import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import type { Log } from '@polyvac/core'
import { FolderNotFoundError, InvalidOptionError } from './errors.js'

/** How far the first index, or a refresh, has come. `files` and `passages` are totals so far. */
export interface IndexProgress {
  readonly files: number
  readonly done: number
  readonly passages: number
}

export interface FolderOptions {
  /** The folder; relative to the working directory. */
  readonly path: string
  /** Extensions of the files to index, with the dot. Default `.md .mdx .txt .html`. Others are read as plain text. */
  readonly extensions?: readonly string[] | undefined
  /**
   * Patterns of files to leave out, as in a `.gitignore`. Hidden files and folders, `node_modules`, and symbolic links
   * that lead out of the folder are always left out.
   */
  readonly ignore?: readonly string[] | undefined
  /**
   * Where the index is kept between starts, or `:memory:`. Default: in `.polyvac` beside the folder; inside the folder
   * where that holds the working directory. If the default place cannot be written the index is kept in memory, with a
   * warning.
   */
  readonly indexFile?: string | undefined
  /** Passages an answer is made from, 1 to 100. Default 6. */
  readonly k?: number | undefined
  /** Follow changes of the files. Default true. */
  readonly watch?: boolean | undefined
  /** How often files are looked at for changes where the system cannot report them, in ms, 100 or more. Default 3,000. */
  readonly pollMs?: number | undefined
  /** A longer file is left out, with a log line: one huge dump would crowd out every document. Default 4 MiB. */
  readonly maxFileBytes?: number | undefined
  /** Files past this count are left out, with a log line: a folder chosen by mistake may hold a disk. Default 50,000. */
  readonly maxFiles?: number | undefined
  readonly log?: Log | undefined
  /** Ends the first index: `ready` fails with its reason, and so does every search until a `refresh()` succeeds. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: IndexProgress) => void) | undefined
}

export interface FolderSettings {
  readonly root: string
  readonly extensions: ReadonlySet<string>
  readonly ignore: readonly string[]
  readonly indexFile: string
  readonly indexFileGiven: boolean
  /** What besides the files decides the index. */
  readonly key: string
  readonly k: number
  readonly watch: boolean
  readonly pollMs: number
  readonly maxFileBytes: number
  readonly maxFiles: number
  readonly log: Log
}

export const FOLDER_DEFAULTS = {
  extensions: ['.md', '.mdx', '.txt', '.html'], k: 6, watch: true, pollMs: 3_000, maxFileBytes: 4 * 1024 * 1024, maxFiles: 50_000
} as const

const SILENT: Log = { debug () {}, info () {}, warn () {}, error () {} }

/** Checks the options and the folder; fails at once, since nothing can be answered from a folder that is not there. */
export async function folderSettings (options: FolderOptions): Promise<FolderSettings> {
  const { extensions = FOLDER_DEFAULTS.extensions, ignore = [], indexFile } = options
  const root = await realFolder(options.path)
  for (const extension of extensions) {
    if (!/^\.[^./\\]+$/.test(extension)) throw new InvalidOptionError('extensions', JSON.stringify(extension), 'extensions with their dot, such as ".md"')
  }
  const lower = [...new Set(extensions.map(extension => extension.toLowerCase()))].sort()
  const maxFileBytes = wholeNumber(options, 'maxFileBytes', 1, 64 * 1024 * 1024)
  const maxFiles = wholeNumber(options, 'maxFiles', 1, 1_000_000)
  const key = createHash('sha256').update(JSON.stringify([root, lower, ignore, maxFileBytes, maxFiles])).digest('hex').slice(0, 16)
  return {
    root,
    extensions: new Set(lower),
    ignore,
    indexFile: indexFile === ':memory:' ? indexFile : resolve(indexFile ?? defaultIndexFile(root, key)),
    indexFileGiven: indexFile !== undefined,
    key,
    k: wholeNumber(options, 'k', 1, 100),
    watch: options.watch ?? FOLDER_DEFAULTS.watch,
    pollMs: wholeNumber(options, 'pollMs', 100, 3_600_000),
    maxFileBytes,
    maxFiles,
    log: options.log ?? SILENT
  }
}

async function realFolder (path: string): Promise<string> {
  if (typeof path !== 'string' || path === '') throw new InvalidOptionError('path', JSON.stringify(path), 'the path of a folder')
  const absolute = resolve(path)
  try {
    if ((await stat(absolute)).isDirectory()) return await realpath(absolute)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new FolderNotFoundError(absolute, code === 'ENOENT' ? 'there is nothing of that name' : `it cannot be read (${code ?? 'unknown error'})`)
  }
  throw new FolderNotFoundError(absolute, 'it is a file, not a folder')
}

function wholeNumber (options: FolderOptions, name: 'k' | 'pollMs' | 'maxFileBytes' | 'maxFiles', min: number, max: number): number {
  const value = options[name] ?? FOLDER_DEFAULTS[name]
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new InvalidOptionError(name, String(value), `a whole number from ${min} to ${max}`)
  }
  return value
}

function defaultIndexFile (root: string, key: string): string {
  const holdsUs = `${process.cwd()}${sep}`.startsWith(root.endsWith(sep) ? root : root + sep)
  return join(holdsUs ? root : dirname(root), '.polyvac', `${basename(root) || 'root'}-${key}.db`)
}
