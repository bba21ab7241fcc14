// Compiles test files, and the modules of the playground's page, into `.tests`, where they use the built packages.
// A loader of TypeScript costs each test process seconds: Node.js 20 then loads all modules in another thread.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const COMPILER_MTIME = statSync(fileURLToPath(import.meta.url)).mtimeMs
const TIMEOUT = join(root, 'test/fixtures/timeout.mjs')
const FOLDERS = ['test', 'packages/playground/page', ...['apps', 'packages'].flatMap(group => readdirSync(join(root, group)).map(name => `${group}/${name}/test`))]

/** The JavaScript of a test file: paths are relative to the root. */
export const compiledTest = file => join('.tests', file.replace(/\.tsx?$/, '.js'))

/** Compiles what is newer than its JavaScript. */
export async function compileTests () {
  const { transform } = await import('esbuild')
  for (const folder of FOLDERS.filter(folder => existsSync(join(root, folder)))) {
    for (const name of readdirSync(join(root, folder), { recursive: true })) {
      if (!/(?<!\.d)\.tsx?$/.test(name)) continue
      const source = join(root, folder, name)
      const target = join(root, compiledTest(join(folder, name)))
      if (existsSync(target) && statSync(target).mtimeMs > Math.max(statSync(source).mtimeMs, COMPILER_MTIME)) continue
      const { code } = await transform(readFileSync(source, 'utf8'), {
        loader: name.endsWith('x') ? 'tsx' : 'ts',
        sourcefile: source,
        sourcemap: 'inline',
        target: 'node20',
        jsx: 'automatic',
        jsxImportSource: 'preact',
        tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
        // tests find their fixtures and the repository by it
        define: { 'import.meta.url': JSON.stringify(pathToFileURL(source).href) }
      })
      // in the first line, so that the numbers of the others stay
      const first = name.endsWith('.test.ts') ? `import "${moduleFor(source, target, relative(dirname(source), TIMEOUT))}"; ` : ''
      mkdirSync(dirname(target), { recursive: true })
      // another run may write the same file
      writeFileSync(`${target}.${process.pid}`, first + code.replace(/(^import |\bfrom |\bimport\()"(\.[^"]+)"/gm, (text, before, specifier) => `${before}"${moduleFor(source, target, specifier)}"`))
      renameSync(`${target}.${process.pid}`, target)
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
