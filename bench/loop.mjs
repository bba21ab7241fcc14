// The longest steps that the event loop is kept for: those that tests measure with `watchLoop`, the turns of the
// servers that these tests start, and arguments that make a check of schemas explode, sent through a host. A step is
// measured in units of the fixed work of test/fixtures/reference-work.mjs, 10 ms, which the same process does before. A
// step above its bound runs twice more: what the product does takes its time in each run.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { modern, post } from '../scripts/attack/client.mjs'
import { configuration, startHost, upstream } from '../scripts/attack/host.mjs'
import { EXPLOSIVE } from '../scripts/attack/upstreams.mjs'
import { compiledTest, compileTests } from '../scripts/compile-tests.mjs'
import { testFiles } from '../scripts/test-files.mjs'
import { figure } from './parts/figure.mjs'

const RUNS = 3
const WATCHDOG = '--import=./test/fixtures/loop-watchdog.mjs'
/** Tests that measure no step themselves, whose servers get what takes long. */
const HOSTILE = ['test/hostile-schemas.test.ts', 'test/large-bodies.test.ts', 'test/mcp-floods.test.ts']
const ATTACK = 'schemas that explode, through a host'

export const title = 'Longest steps of the event loop'
/** A figure that does not meet its bar ends the run with exit code 1: in this scenario it is a defect. */
export const mustMeet = true
export const longestMs = 1_200_000

export async function run () {
  await compileTests()
  const works = [...testFiles().filter(file => HOSTILE.includes(file) || readFileSync(file, 'utf8').includes('/loop-watch.js')), ATTACK]
  const folder = mkdtempSync(join(tmpdir(), 'polyvac-loop-'))
  try {
    const figures = []
    for (const work of works) figures.push(await longestOf(work, join(folder, 'steps')))
    return figures
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The step of a test file, or of the attack, that is nearest to its bound. */
async function longestOf (work, file) {
  let least
  for (let run = 0; run < RUNS; run++) {
    writeFileSync(file, '')
    await (work === ATTACK ? attack(file) : runTest(work, file))
    const shares = sharesIn(file)
    // a step that this run did not report was within its bound
    least = least === undefined ? shares : new Map([...least].map(([what, share]) => [what, Math.min(share, shares.get(what) ?? 0)]))
    if ([...least.values()].every(share => share <= 1)) break
  }
  const [what = 'each step', share = 0] = [...least].sort(([, a], [, b]) => b - a)[0] ?? []
  return figure(`${work.replace(/^.*\/|\.test\.ts$/g, '')}: ${what}`, share * 100, '% of its bound', { atMost: 100 })
}

/** By what was measured: the largest share of its bound. */
function sharesIn (file) {
  const shares = new Map()
  for (const line of readFileSync(file, 'utf8').split('\n').slice(0, -1)) {
    const { what, value, most } = JSON.parse(line)
    shares.set(what, Math.max(shares.get(what) ?? 0, value / most))
  }
  return shares
}

/** Runs one test file by itself. */
async function runTest (test, steps) {
  const env = { ...process.env, POLYVAC_TEST_FILE: test, POLYVAC_STEPS: steps }
  const child = spawn(process.execPath, [WATCHDOG, compiledTest(test)], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const code = await new Promise(resolve => child.once('close', resolve))
  if (code !== 0) throw new Error(`${test} fails: node scripts/test.mjs ${test}`)
}

async function attack (steps) {
  const host = await startHost({ env: { POLYVAC_STEPS: steps }, config: configuration({ mcp_servers: [{ ...upstream(), timeout: 60 }] }) })
  try {
    for (const [tool, args] of EXPLOSIVE) {
      await post(host.url, '/mcp/call', { server: 'upstream', tool, arguments: args })
      const { body, headers } = modern('tools/call', { name: `upstream__${tool}`, arguments: args })
      await post(host.url, '/mcp', body, headers)
    }
  } finally {
    await host.stop()
  }
}
