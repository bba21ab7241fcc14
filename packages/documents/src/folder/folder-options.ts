import { createHash } from 'node:crypto'
import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import type { Log, VacConfig } from '@polyvac/core'
import {
  callback, flag, integer, milliseconds, optional, readOptions, required, silentLog, text, texts, withMethod, type OptionRules
} from '@polyvac/core/plugin'
import { DEFAULT_EXTENSIONS, packagesFor } from '../formats/table.js'
import { isEncoding } from '../text/encodings.js'
import { FolderNotFoundError, InvalidOptionError } from '../errors.js'
import { PORT } from '../model/model-server.js'
import { packageRequire } from '../package-require.js'

/** Progress of the first index or a refresh. `files` and `passages` are totals so far. */
export interface IndexProgress {
  readonly files: number
  readonly done: number
  readonly passages: number
  /** Passages with a vector so far; set while a model embeds them. */
  readonly embedded?: number | undefined
}

/** The model that embeds passages and questions, and its OpenAI-compatible server. */
export interface EmbedOptions {
  /** Its name, or `auto` for the first embedding model of the server. */
  readonly model: string
  /** As in the entry of a VAC. Default: OPENAI_BASE_URL and OPENAI_API_KEY; for `auto` also a local server. */
  readonly openai?: Pick<NonNullable<VacConfig['openai']>, 'base_url' | 'api_key'> | undefined
  /** The port of this service, which `auto` skips. Default: the environment's PORT. */
  readonly ownPort?: number | (() => number | undefined) | undefined
}

export interface FolderOptions {
  /** The folder; relative to the working directory. */
  readonly path: string
  /**
   * Extensions of the files to index, with the dot. Default: those of docs/reference/formats.md, without JSON, YAML and
   * source code, which are read where they are named: configuration may hold secrets. Unknown ones are read as plain
   * text. Some formats need an optional package.
   */
  readonly extensions?: readonly string[] | undefined
  /**
   * Patterns of files to leave out, as in a `.gitignore`. Hidden files and folders, `node_modules`, and symbolic links
   * that lead out of the folder are always left out.
   */
  readonly ignore?: readonly string[] | undefined
  /**
   * The file of the index, which is kept between starts, or `:memory:`. Default: in `.polyvac` next to the folder;
   * inside the folder where it contains the working directory. If that cannot be written, the index is kept in memory,
   * with a warning.
   */
  readonly indexFile?: string | undefined
  /** Passages for an answer, 1 to 100. Default 6. */
  readonly k?: number | undefined
  /**
   * Compare meanings as well as words: `auto`, a model, or a model with its server. The passages are embedded in the
   * background; the index stores their vectors. Needs the packages `ai` and `@ai-sdk/openai-compatible`.
   */
  readonly embed?: string | EmbedOptions | undefined
  /** Follow changes of the files. Default true. */
  readonly watch?: boolean | undefined
  /** Interval of checks for changes where the system does not report them, in ms, 100 or more. Default 3,000. */
  readonly pollMs?: number | undefined
  /** A longer file is left out and counted: one huge dump would dominate the results. Default 4 MiB. */
  readonly maxFileBytes?: number | undefined
  /** Files past this count are left out and counted: a wrong path may name a whole disk. Default 50,000. */
  readonly maxFiles?: number | undefined
  /**
   * The encoding of texts that are neither UTF-8 nor have a byte order mark, by its name in the WHATWG Encoding
   * Standard. Default: recognised by their letters, and logged.
   */
  readonly encoding?: string | undefined
  readonly log?: Log | undefined
  /** Aborts the first index: `ready` and every search reject with its reason until a `refresh()` succeeds. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: IndexProgress) => void) | undefined
}

export interface FolderSettings {
  readonly root: string
  readonly extensions: ReadonlySet<string>
  /** Whether the application named them: it then leaves out other files knowingly. */
  readonly hasExtensions: boolean
  readonly ignore: readonly string[]
  readonly indexFile: string
  readonly isIndexFileSet: boolean
  /** A hash of the options that the index depends on. */
  readonly key: string
  readonly k: number
  readonly embed: EmbedOptions | undefined
  readonly watch: boolean
  readonly pollMs: number
  readonly maxFileBytes: number
  readonly maxFiles: number
  readonly encoding: string | undefined
  readonly log: Log
  /** Logs an encoding that was recognised, once, with the first file. */
  readonly noteEncoding: (encoding: string, source: string) => void
  /** Logs a warning about a file or folder, by its name, once while the memory is open. */
  readonly warnOnce: (name: string, fields: object, message: string) => void
  /** Names and stamps of the files that took too long to split since the start. */
  // @keyed none: the values are names and versions of files of a folder of the configuration, one for each version
  //   that took MAX_SPLIT_MS
  readonly late: Set<string>
}

/** Names that are remembered for `warnOnce`; problems of further ones are not logged. */
const MAX_WARNINGS = 1_000

/** Types, bounds and defaults of the options. */
export const FOLDER_OPTIONS = {
  path: required(text()),
  extensions: optional('a list of extensions with their dot, such as [".md"]', isExtensions, DEFAULT_EXTENSIONS),
  ignore: texts([]),
  indexFile: text(),
  k: integer(6, { max: 100 }),
  embed: optional('`auto`, the name of a model, or { model, openai, ownPort }', isEmbed),
  watch: flag(true),
  pollMs: milliseconds(3_000, { min: 100, max: 3_600_000 }),
  maxFileBytes: integer(4 * 1024 * 1024, { max: 64 * 1024 * 1024 }),
  maxFiles: integer(50_000, { max: 1_000_000 }),
  encoding: optional('an encoding that Node.js decodes, such as `windows-1251`', isEncoding),
  log: withMethod('warn', 'a log, such as that of Fastify'),
  signal: withMethod('addEventListener', 'an AbortSignal'),
  onProgress: callback()
} satisfies OptionRules<FolderOptions>

function isExtensions (value: unknown): boolean {
  return Array.isArray(value) && value.every(extension => typeof extension === 'string' && /^(?:\.[^./\\]+)?$/.test(extension))
}

function isEmbed (value: unknown): boolean {
  if (typeof value === 'string') return value !== ''
  const { model, openai = {}, ownPort } = (value ?? {}) as Record<keyof EmbedOptions, unknown>
  return typeof model === 'string' && model !== '' && typeof openai === 'object' && openai !== null && (ownPort === undefined || PORT.accepts(ownPort))
}

/** Checks the options and the folder. @throws DOCUMENTS_INVALID_OPTION, DOCUMENTS_FOLDER_NOT_FOUND */
export async function folderSettings (options: FolderOptions): Promise<FolderSettings> {
  const { path, extensions, ignore, indexFile, k, embed, watch, pollMs, maxFileBytes, maxFiles, encoding, log = silentLog } =
    readOptions(FOLDER_OPTIONS, options, InvalidOptionError, 'openFolder')
  const root = await realFolder(path)
  const lower = [...new Set(extensions.map(extension => extension.toLowerCase()))].sort()
  // files that needed a missing parser are read once it is installed
  const parsers = packagesFor(lower).filter(isInstalled)
  const key = createHash('sha256').update(JSON.stringify([root, lower, ignore, maxFileBytes, maxFiles, parsers, ...encoding === undefined ? [] : [encoding]])).digest('hex').slice(0, 16)
  return {
    root,
    extensions: new Set(lower),
    hasExtensions: options.extensions !== undefined,
    ignore,
    indexFile: indexFile === ':memory:' ? indexFile : resolve(indexFile ?? defaultIndexFile(root, key)),
    isIndexFileSet: indexFile !== undefined,
    key,
    k,
    embed: typeof embed === 'string' ? { model: embed } : embed,
    watch,
    pollMs,
    maxFileBytes,
    maxFiles,
    encoding,
    log,
    noteEncoding: onceEachEncoding(log),
    warnOnce: onceEach(log),
    late: new Set()
  }
}

function isInstalled (name: string): boolean {
  try {
    return packageRequire().resolve(name) !== ''
  } catch {
    return false
  }
}

function onceEachEncoding (log: Log): FolderSettings['noteEncoding'] {
  // @keyed none: the values are names of encodings that decodeText returns
  const noted = new Set<string>()
  return (encoding, source) => {
    if (noted.has(encoding)) return
    noted.add(encoding)
    log.info({ encoding, source }, 'text that is not UTF-8 is read in this encoding; where it is another one, set `encoding`')
  }
}

/** The folder is listed every few seconds: without this each problem would be logged as often. */
function onceEach (log: Log): FolderSettings['warnOnce'] {
  // @keyed none: the values are names of files of a folder of the configuration; MAX_WARNINGS
  const warned = new Set<string>()
  return (name, fields, message) => {
    const key = `${message} ${name}`
    if (warned.has(key) || warned.size >= MAX_WARNINGS) return
    warned.add(key)
    log.warn(fields, message)
    if (warned.size === MAX_WARNINGS) log.warn({ warnings: MAX_WARNINGS }, 'problems of further files are not logged')
  }
}

async function realFolder (path: string): Promise<string> {
  const absolute = resolve(path)
  try {
    if ((await stat(absolute)).isDirectory()) return await realpath(absolute)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'it does not exist' : `it cannot be read (${code ?? 'unknown error'})`
    throw new FolderNotFoundError(absolute, reason)
  }
  throw new FolderNotFoundError(absolute, 'it is a file, not a folder')
}

function defaultIndexFile (root: string, key: string): string {
  const holdsUs = `${process.cwd()}${sep}`.startsWith(root.endsWith(sep) ? root : root + sep)
  return join(holdsUs ? root : dirname(root), '.polyvac', `${basename(root) || 'root'}-${key}.db`)
}
