import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '../../../test/fixtures/until.js'

/** A test, or the root of a test file. */
type Teardown = { teardown: (end: () => unknown) => void }

export const root = fileURLToPath(new URL('../../..', import.meta.url))
// the built command line, as people run it; `npm test` builds first
const cli = join(root, 'apps/host/dist/command/cli.js')
const endWithParent = new URL('../../../test/fixtures/end-with-parent.mjs', import.meta.url).href
const require = createRequire(import.meta.url)

/** The command of a published MCP server. */
export const published = (name: string, ...args: string[]): [string, ...string[]] =>
  [process.execPath, join(require.resolve(`@modelcontextprotocol/server-${name}/package.json`), '..', 'dist', 'index.js'), ...args]

/** `polyvac` with these arguments, on a free port; it is ended with the test. */
export function polyvac (t: Teardown, args: readonly string[], cwd: string, env: Record<string, string> = {}) {
  const { NODE_OPTIONS, ...rest } = process.env
  const child = spawn(process.execPath, ['--import', endWithParent, cli, ...args], {
    cwd, env: { ...rest, PORT: '0', ...env }, stdio: ['pipe', 'pipe', 'pipe']
  })
  t.teardown(() => { child.kill('SIGKILL') })
  const out = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => { out.stdout += text })
  child.stderr.setEncoding('utf8').on('data', (text: string) => { out.stderr += text })
  const ended = new Promise<number | null>(resolve => { child.on('close', resolve) })
  const url = (): Promise<string> => until(() => /http:\/\/127\.0\.0\.1:\d+/.exec(out.stdout)?.[0], 'the banner shows the address', { ms: 60_000 })
  return { child, out, ended, url }
}

/** An empty folder, removed after the test. */
export async function emptyFolder (t: Teardown): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-'))
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/** JSON of a route; with a body, of a POST. */
export async function json (url: string, body?: unknown): Promise<any> {
  const headers = { connection: 'close', 'content-type': 'application/json' }
  return await (await fetch(url, body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) })).json()
}

/** NODE_OPTIONS of a process that cannot import a package, as if it were not installed. */
export function withoutPackage (name: string): string {
  const hooks = `export async function resolve (name, context, next) {
    if (name !== "${name}") return await next(name, context)
    throw Object.assign(new Error("Cannot find package ${name}"), { code: "ERR_MODULE_NOT_FOUND" })
  }`
  // the text stands in single quotes, which encodeURIComponent keeps
  const register = `import { register } from 'node:module'; register('data:text/javascript,${encodeURIComponent(hooks)}')`
  return `--import=data:text/javascript,${encodeURIComponent(register)}`
}
