import { statSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { InterpreterModuleError } from '../basics/errors.js'
import type { Interpreter } from '../vac/interpreter.js'
import { moduleProblem } from './module-problem.js'
import { within } from '../basics/within.js'

/** What an interpreter module exports; a default export counts as `stream_interpreter`. */
export interface Interpreters {
  readonly stream_interpreter: Interpreter
  readonly vac_interpreter?: Interpreter | undefined
}

/** Default of the longest time for loading a module, in ms: a top-level `await` may never end. */
export const MAX_LOAD_MS = 30_000

/** Loads a module. @throws an error that names the time where it did not load within `ms` */
export async function importWithin (url: string, ms: number): Promise<Record<string, unknown>> {
  return await within(import(url) as Promise<Record<string, unknown>>, ms, (): never => {
    throw new Error(`it did not load within ${ms / 1000} s; a top-level await in it, or in a module that it imports, does not end`)
  })
}

/**
 * Loads an interpreter module.
 * @param path relative paths are relative to `folder`; a bare name is a package
 * @param options.timeoutMs longest time for loading it; default 30,000
 * @throws INTERPRETER_MODULE naming the path, what is wrong and the remedy
 * @example const { stream_interpreter: streamInterpreter } = await loadInterpreters('./agent.mjs', import.meta.dirname)
 */
export async function loadInterpreters (path: string, folder: string,
  { timeoutMs = MAX_LOAD_MS }: { readonly timeoutMs?: number | undefined } = {}): Promise<Interpreters> {
  const url = moduleUrl(path, folder)
  let loaded: Record<string, unknown>
  try {
    loaded = await importWithin(url, timeoutMs)
  } catch (err) {
    const file = url.startsWith('file:') ? fileURLToPath(url) : undefined
    const reason = await moduleProblem(err, file)
    throw Object.assign(new InterpreterModuleError(JSON.stringify(path), reason), { cause: err })
  }
  const { stream_interpreter: stream = loaded.default, vac_interpreter: once } = loaded
  const wrong = typeof stream !== 'function'
    ? `it exports ${Object.keys(loaded).join(', ') || 'nothing'}; export a function named stream_interpreter, or a default one`
    : once !== undefined && typeof once !== 'function' ? 'its vac_interpreter is not a function' : undefined
  if (wrong !== undefined) throw new InterpreterModuleError(JSON.stringify(path), wrong)
  return { stream_interpreter: stream as Interpreter, vac_interpreter: once as Interpreter | undefined }
}

/** The URL of an interpreter module. It changes with the file, so that a reload imports the new version. */
export function moduleUrl (path: string, folder: string): string {
  if (!/^\.{0,2}[/\\]|\.[cm]?[jt]s$/.test(path) && !isAbsolute(path)) return path
  const file = resolve(folder, path)
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats?.isFile() !== true) {
    throw new InterpreterModuleError(JSON.stringify(path), `there is no file ${file}; paths are relative to the configuration file`)
  }
  return `${pathToFileURL(file).href}?changed=${stats.mtimeMs}`
}
