import { isUtf8 } from 'node:buffer'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import { readBoundedFile } from '../basics/bounded-file.js'
import { MAX_CONFIG_BYTES } from './bounds.js'
import { ConfigError, LateConfigError } from './problem.js'
import type { ConfigJob, ConfigResult } from './thread.js'
import type { ConfigOptions, SectionOptions } from './service-section.js'
import { isMissingThread } from '../basics/own-files.js'
import { parseSections, type Config } from './vac-config.js'
import { within } from '../basics/within.js'

/** A larger file, in UTF-16 units, is always parsed in a thread. */
const MAX_PARSED_IN_PLACE = 64 * 1024

/** Longest time for reading a configuration file, and for parsing it, in ms. */
const MAX_READ_MS = 10_000

/** Heap of the thread that parses a file, in MiB. */
const MAX_THREAD_MIB = 256

export interface ReadConfigOptions extends ConfigOptions {
  /** Parse in a thread, so that no file blocks the event loop. A large file is always parsed there. Default false. */
  readonly inThread?: boolean | undefined
}

/**
 * Reads and checks a configuration file.
 * @throws CONFIG_INVALID with all problems at once, or if the file cannot be read
 * @example const { vac } = await readConfig('vac_config.yaml')
 * const vacs = createVacs({ vacs: vac, streamInterpreter })
 */
export async function readConfig (file: string, options: ReadConfigOptions = {}): Promise<Config> {
  return await readSections(file, options)
}

/** The same for a program that knows `service`. */
export async function readSections (file: string, { inThread = false, ...options }: ReadConfigOptions & SectionOptions): Promise<Config> {
  const path = resolve(file)
  const text = await readText(path)
  if (!inThread && text.length <= MAX_PARSED_IN_PLACE) return parseSections(text, path, options)
  try {
    const { section, env = process.env, ...others } = options
    return await parseInThread({ text, file: path, options: { ...others, env: { ...env } }, sectionModule: section?.module })
  } catch (err) {
    // a bundle has no file for the thread
    if (isMissingThread(err)) return parseSections(text, path, options)
    throw err
  }
}

async function readText (path: string): Promise<string> {
  let bytes: Buffer | undefined
  try {
    bytes = await within(readBoundedFile(path, MAX_CONFIG_BYTES), MAX_READ_MS)
  } catch (err) {
    const { code = 'unknown reason', message } = err as NodeJS.ErrnoException
    throw unreadable(path, {
      ENOENT: 'there is no such file; name one with --config, or run `polyvac init` to make one',
      NOT_A_FILE: `this is not a configuration file: ${message}`,
      FILE_TOO_LARGE: 'the file is larger than 4 MiB'
    }[code] ?? `cannot be read (${code})`)
  }
  if (bytes === undefined) throw unreadable(path, `cannot be read: the system did not deliver it within ${MAX_READ_MS / 1000} s`, LateConfigError)
  const encoding = foreignEncoding(bytes)
  if (encoding !== undefined) throw unreadable(path, `the file is ${encoding}; save it as UTF-8`)
  return bytes.toString('utf8')
}

/** The encoding of a file that is not in UTF-8, by its byte order mark, or by zero bytes, which text has none of. */
function foreignEncoding (bytes: Buffer): string | undefined {
  const [a, b, c, d] = bytes
  if ((a === 0xff && b === 0xfe && c === 0 && d === 0) || (a === 0 && b === 0 && c === 0xfe && d === 0xff) || (a === 0 && b === 0 && c === 0)) return 'in UTF-32'
  if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff) || (a === 0) !== (b === 0)) return 'in UTF-16'
  return isUtf8(bytes) ? undefined : 'not in UTF-8'
}

async function parseInThread (job: ConfigJob): Promise<Config> {
  const thread = new Worker(new URL('./thread.js', import.meta.url), {
    workerData: job, resourceLimits: { maxOldGenerationSizeMb: MAX_THREAD_MIB }
  })
  let result: ConfigResult
  try {
    const late = (): never => { throw unreadable(job.file, `checking the file took longer than ${MAX_READ_MS / 1000} s; it is too large or too deep`, LateConfigError) }
    ;[result] = await within(once(thread, 'message'), MAX_READ_MS, late) as [ConfigResult]
  } catch (err) {
    throw (err as { code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY'
      ? unreadable(job.file, `checking the file took more than ${MAX_THREAD_MIB} MiB of memory; it is too large or too deep`)
      : err
  } finally {
    await thread.terminate()
  }
  if ('config' in result) return result.config
  throw new ConfigError(result.problems, result.warnings, result.hasMore, result.refused)
}

function unreadable (file: string, message: string, Problem = ConfigError): ConfigError {
  return new Problem([{ file, line: 1, column: 1, message, text: `${file}  ${message}` }])
}
