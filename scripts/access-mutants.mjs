// Shows that each binding needs its call of the one function of access: for each file that decides about access, it
// runs the matrix of access with that file's decisions replaced by "yes", and expects cells to fail. Arguments are
// parts of paths; default: all files. Ends with `N passed, N failed`, where a file has failed whose decisions no test
// misses.
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { compileTests } from './compile-tests.mjs'

const root = new URL('..', import.meta.url)
const MATRIX = '.tests/test/access/matrix.test.js'
/** A call of a function of access, and what it returns where everything is allowed. */
const CALLS = [
  [/(?<![.#\w])(?:mayUse|mayUseThing)\((?!_?kind\b)/g, '(() => true)('],
  [/(?<![.#\w])mayUseAll\(/g, '(() => true)('],
  [/(?<![.#\w])usableVacs\(/g, '(() => undefined)('],
  [/(?<![.#\w])vacsFor\(/g, '(vacs => vacs)(']
]
/** Files whose decisions are about details of a failure, or about work that the matrix does not leave in a queue. */
const ELSEWHERE = {
  'packages/mcp-gateway/dist/tool-source/call.js': 'packages/mcp-gateway/test/rights.test.ts',
  'packages/mcp-gateway/dist/sign-in/sign-ins.js': 'packages/mcp-gateway/test/sign-in.test.ts',
  'packages/runs/dist/execute/task-runner.js': 'test/access/revocation.test.ts',
  'packages/runs/dist/runs/run-vac.js': 'test/access/revocation.test.ts',
  'packages/mcp-server/dist/sessions/session-ids.js': 'test/access/replicas.test.ts'
}

const files = ['packages', 'apps'].flatMap(folder => readdirSync(new URL(`${folder}/`, root), { recursive: true })
  .filter(name => /^[^/]+\/dist\/.*\.js$/.test(name)).map(name => `${folder}/${name}`))
  .filter(file => !file.startsWith('packages/core/') && mutated(readFileSync(new URL(file, root), 'utf8')) !== undefined)
  .filter(file => process.argv.length === 2 || process.argv.slice(2).some(part => file.includes(part)))

/** The source with every decision replaced; undefined where it has none. */
function mutated (source) {
  const text = CALLS.reduce((text, [call, yes]) => text.replace(call, yes), source)
  return text === source ? undefined : text
}

/** Runs a compiled test with one file replaced as it is loaded. Resolves to the number of assertions that failed. */
async function failuresWith (file, test) {
  const source = mutated(readFileSync(new URL(file, root), 'utf8'))
  const hooks = `const url = ${JSON.stringify(new URL(file, root).href)}, source = ${JSON.stringify(source)}
    export const load = async (name, context, next) => name === url ? { format: 'module', shortCircuit: true, source } : await next(name, context)`
  const register = `import { register } from 'node:module'; register('data:text/javascript,${encodeURIComponent(hooks).replaceAll("'", '%27')}')`
  const child = spawn(process.execPath, [`--import=data:text/javascript,${encodeURIComponent(register)}`, test], { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', text => { out += text })
  await new Promise(resolve => child.on('close', resolve))
  return out.match(/^ *not ok/gm)?.length ?? 0
}

await compileTests()
let [passed, failed] = [0, 0]
const waiting = [...files]
await Promise.all(Array.from({ length: availableParallelism() }, async () => {
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    const elsewhere = ELSEWHERE[file]
    const failures = await failuresWith(file, elsewhere === undefined ? MATRIX : `.tests/${elsewhere.replace(/\.ts$/, '.js')}`)
    if (failures > 0) passed++
    else failed++
    process.stdout.write(`${file}: ${failures} assertions of ${elsewhere ?? 'the matrix'} fail without its decisions\n`)
  }
}))
process.stdout.write(`${passed} passed, ${failed} failed\n`)
if (failed > 0) process.exitCode = 1
