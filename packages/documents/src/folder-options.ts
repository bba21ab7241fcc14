import { createHash } from 'node:crypto'
import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import type { Log } from '@polyvac/core'
import {
  callback, flag, integer, milliseconds, optional, readOptions, required, silentLog, text, texts, withMethod, type OptionRules
} from '@polyvac/core/plugin'
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

/** Types, bounds and defaults of the options. */
export const FOLDER_OPTIONS = {
  path: required(text()),
  extensions: optional('a list of extensions with their dot, such as [".md"]', isExtensions, ['.md', '.mdx', '.txt', '.html']),
  ignore: texts([]),
  indexFile: text(),
  k: integer(6, { max: 100 }),
  watch: flag(true),
  pollMs: milliseconds(3_000, { min: 100, max: 3_600_000 }),
  maxFileBytes: integer(4 * 1024 * 1024, { max: 64 * 1024 * 1024 }),
  maxFiles: integer(50_000, { max: 1_000_000 }),
  log: withMethod('warn', 'a log, such as that of Fastify'),
  signal: withMethod('addEventListener', 'an AbortSignal'),
  onProgress: callback()
} satisfies OptionRules<FolderOptions>

function isExtensions (value: unknown): boolean {
  return Array.isArray(value) && value.every(extension => typeof extension === 'string' && /^\.[^./\\]+$/.test(extension))
}

/** Checks the options and the folder; fails at once, since nothing can be answered from a folder that is not there. */
export async function folderSettings (options: FolderOptions): Promise<FolderSettings> {
  const { path, extensions, ignore, indexFile, k, watch, pollMs, maxFileBytes, maxFiles, log = silentLog } =
    readOptions(FOLDER_OPTIONS, options, InvalidOptionError, 'openFolder')
  const root = await realFolder(path)
  const lower = [...new Set(extensions.map(extension => extension.toLowerCase()))].sort()
  const key = createHash('sha256').update(JSON.stringify([root, lower, ignore, maxFileBytes, maxFiles])).digest('hex').slice(0, 16)
  return {
    root,
    extensions: new Set(lower),
    ignore,
    indexFile: indexFile === ':memory:' ? indexFile : resolve(indexFile ?? defaultIndexFile(root, key)),
    indexFileGiven: indexFile !== undefined,
    key,
    k,
    watch,
    pollMs,
    maxFileBytes,
    maxFiles,
    log
  }
}

async function realFolder (path: string): Promise<string> {
  const absolute = resolve(path)
  try {
    if ((await stat(absolute)).isDirectory()) return await realpath(absolute)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new FolderNotFoundError(absolute, code === 'ENOENT' ? 'there is nothing of that name' : `it cannot be read (${code ?? 'unknown error'})`)
  }
  throw new FolderNotFoundError(absolute, 'it is a file, not a folder')
}

function defaultIndexFile (root: string, key: string): string {
  const holdsUs = `${process.cwd()}${sep}`.startsWith(root.endsWith(sep) ? root : root + sep)
  return join(holdsUs ? root : dirname(root), '.polyvac', `${basename(root) || 'root'}-${key}.db`)
}
