// Compiles test files, and the modules of the playground's page, into `.tests`, where they use the built packages.
// A loader of TypeScript costs each test process seconds: Node.js 20 then loads all modules in another thread.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { compile } from './compile.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const COMPILER_MTIME = statSync(fileURLToPath(import.meta.url)).mtimeMs
const TIMEOUT = join(root, 'test/fixtures/timeout.mjs')
const FOLDERS = ['test', 'packages/playground/page', ...['apps', 'packages'].flatMap(group => readdirSync(join(root, group)).map(name => `${group}/${name}/test`))]

/** The JavaScript of a test file: paths are relative to the root. */
export const compiledTest = file => join('.tests', file.replace(/\.tsx?$/, '.js'))

/** Compiles what is newer than its JavaScript. */
export async function compileTests () {
  for (const folder of FOLDERS.filter(folder => existsSync(join(root, folder)))) {
    for (const name of readdirSync(join(root, folder), { recursive: true })) {
      if (!/(?<!\.d)\.tsx?$/.test(name)) continue
      const source = join(root, folder, name)
      const target = join(root, compiledTest(join(folder, name)))
      // in the first line, so that the numbers of the others stay
      const first = name.endsWith('.test.ts') ? `import "${moduleFor(source, target, relative(dirname(source), TIMEOUT))}"; ` : ''
      await compile(source, target, {
        since: COMPILER_MTIME,
        jsx: 'automatic',
        jsxImportSource: 'preact',
        // tests find their fixtures and the repository by it
        define: { 'import.meta.url': JSON.stringify(pathToFileURL(source).href) },
        finish: code => first + code.replace(/(^import |\bfrom |\bimport\()"(\.[^"]+)"/gm, (text, before, specifier) => `${before}"${moduleFor(source, target, specifier)}"`)
      })
    }
  }
}

/** The specifier in `target` of the module that `source` imports: built, compiled, or where it is. */
function moduleFor (source, target, specifier) {
  const path = resolve(dirname(source), specifier)
  const typescript = ['.ts', '.tsx'].map(ending => path.replace(/\.js$/, ending)).find(existsSync)
  const module = typescript === undefined || existsSync(path)
    ? path
    : /[\\/]src[\\/]/.test(path)
      ? path.replace(/([\\/])src([\\/])/, '$1dist$2')
      : join(root, compiledTest(relative(root, typescript)))
  const found = relative(dirname(target), module).split(sep).join('/')
  return found.startsWith('.') ? found : `./${found}`
}
