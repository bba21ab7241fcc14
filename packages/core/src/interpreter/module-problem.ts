import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { frameProblem } from '../config/problem.js'
import { quoteName } from '../basics/names.js'
import { isOfPackage, isOwnFile } from '../basics/own-files.js'

interface Place { readonly file: string, readonly line: number, readonly column: number, readonly message: string }

/** Most files that are searched for an error of syntax: the module and the relative imports below it. */
const MAX_FILES = 100

/** Longest check of one file, in ms. */
const CHECK_MS = 10_000

/**
 * Why a module does not load, with file, line, column and the line of code where they are known. Node.js leaves the
 * place of a syntax error out of the error of `import()`, so `node --check` finds it.
 * @param file the module; undefined for a package
 */
export async function moduleProblem (err: unknown, file: string | undefined): Promise<string> {
  const { message = String(err), stack = '', name, code } = (err ?? {}) as Partial<NodeJS.ErrnoException>
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION') {
    return 'this Node.js cannot load TypeScript; compile it to JavaScript, or use Node.js 22.18 or newer'
  }
  const missing = /^Cannot find package '([^']+)' imported from/.exec(message)?.[1]
  if (missing !== undefined && file !== undefined) {
    return `it imports the package ${quoteName(missing)}, which is not installed; run \`npm install\` in ${dirname(file)}`
  }
  const reason = `loading it failed: ${message.split('\n')[0]}`
  const place = placeInStack(stack, message) ?? (name === 'SyntaxError' && file !== undefined ? await syntaxError(file) : undefined)
  if (place === undefined) return reason
  const source = await readFile(place.file, 'utf8').catch(() => '')
  return `loading it failed\n${frameProblem(onCode(place, source), source, 1, place.message).text}`
}

/** An end that comes too early is an error after the last line of code, not on the empty line below it. */
function onCode (place: Place, source: string): Place {
  const lines = source.split(/\r?\n/)
  if (lines[place.line - 1]?.trim()) return place
  const last = lines.slice(0, place.line).findLastIndex(text => text.trim() !== '')
  return last === -1 ? place : { ...place, line: last + 1, column: lines[last]!.length + 1 }
}

/** The place before the first line of a stack, or the first frame in a file that is not of a package. */
function placeInStack (stack: string, message: string): Place | undefined {
  const head = /^(file:\S+?)(?:\?\S*)?:(\d+)\n.*\n(\s*)\^/.exec(stack)
  if (head !== null) return { file: fileURLToPath(head[1]!), line: Number(head[2]), column: head[3]!.length + 1, message: message.split('\n')[0]! }
  // the first frames may be those of a function of Polyvac that the module calls
  let isCalled = true
  for (const [, async, url, line, column] of stack.matchAll(/^ +at (async )?.*?((?:file|node):[^\s()]+?)(?:\?[^\s():]*)?:(\d+):(\d+)\)?$/gm)) {
    if (url!.includes('/node_modules/')) continue
    isCalled &&= async === undefined && url!.startsWith('file:')
    if (url!.startsWith('node:')) continue
    if (isOwnFile(url!) || isOfPackage(url!)) {
      if (isCalled) continue
      // the frames from here on are those of the caller of import(): a place in Polyvac does not help
      return undefined
    }
    return { file: fileURLToPath(url!), line: Number(line), column: Number(column), message: message.split('\n')[0]! }
  }
  return undefined
}

/** The first error of syntax in a module and its relative imports. */
async function syntaxError (module: string): Promise<Place | undefined> {
  const files = new Set([module])
  for (const file of files) {
    const output = await promisify(execFile)(process.execPath, ['--check', file], { timeout: CHECK_MS, env: {} }).then(() => '', (err: { stderr?: string }) => err.stderr ?? '')
    const [, path, line, marker, message] = /^(.+):(\d+)\n.*\n([ \t]*)\^*\n+(?:\w*Error: )(.*)/.exec(output) ?? []
    if (path !== undefined) return { file: path.startsWith('file:') ? fileURLToPath(path) : path, line: Number(line), column: marker!.length + 1, message: message! }
    const source = await readFile(file, 'utf8').catch(() => '')
    for (const [, from] of source.matchAll(/\b(?:from|import)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g)) {
      if (files.size < MAX_FILES) files.add(resolve(dirname(file), from!))
    }
  }
  return undefined
}
