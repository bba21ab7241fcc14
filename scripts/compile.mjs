// Compiles one file of TypeScript, without a check of types.
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const { compilerOptions: { target, verbatimModuleSyntax } } = JSON.parse(readFileSync(new URL('../tsconfig.base.json', import.meta.url), 'utf8'))
const OWN_MTIME = statSync(fileURLToPath(import.meta.url)).mtimeMs

/**
 * Compiles `source` into `module` where that is older than the source, this file, or `since` (ms). `finish` changes the
 * code; other options are those of esbuild.
 */
export async function compile (source, module, { since = 0, finish = code => code, ...options } = {}) {
  if (existsSync(module) && statSync(module).mtimeMs > Math.max(statSync(source).mtimeMs, OWN_MTIME, since)) return
  const { transform } = await import('esbuild')
  const { code } = await transform(readFileSync(source, 'utf8'), {
    loader: source.endsWith('x') ? 'tsx' : 'ts',
    sourcefile: source,
    sourcemap: 'inline',
    target,
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax } },
    ...options
  })
  mkdirSync(dirname(module), { recursive: true })
  // another run may write the same file
  writeFileSync(`${module}.${process.pid}`, finish(code))
  renameSync(`${module}.${process.pid}`, module)
}
