// The start of the host: the time until it listens, and until its first answer.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { figure } from './parts/figure.mjs'
import { max, median, quantile } from './parts/statistics.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const CLI = fileURLToPath(new URL('../apps/polyvac/dist/cli.js', import.meta.url))
const EMPTY_APP = fileURLToPath(new URL('parts/empty-app.mjs', import.meta.url))
const STARTS = 9

export const title = 'Start of the host on this repository'

export async function run () {
  const starts = []
  // the first start builds the index for the later ones
  await startHost()
  // in turn, so that other load on the machine affects both of a pair alike
  for (let i = 0; i < STARTS; i++) {
    const { listeningMs: emptyMs } = await start([EMPTY_APP])
    starts.push({ ...await startHost(), emptyMs })
  }
  const listening = starts.map(start => start.listeningMs)
  const empty = starts.map(start => start.emptyMs)
  const answers = starts.map(start => start.answerMs)
  const multiples = starts.map(start => start.listeningMs / start.emptyMs)
  return [
    figure('from the command to a listening /health, multiple of an empty Fastify app', median(multiples), '×', { atMost: 2 }, { starts, spread: [quantile(multiples, 0.25), quantile(multiples, 0.75)] }),
    figure('from the command to a listening /health', median(listening), 'ms', { atMost: 1_000 }, timesOf(listening)),
    figure('an empty Fastify app, started alternately', median(empty), 'ms', {}, timesOf(empty)),
    figure('the first cited answer after that', median(answers), 'ms', { atMost: 50 }, timesOf(answers))
  ]
}

const timesOf = times => ({ p50: median(times), p99: max(times) })

const startHost = () => start([CLI, 'start', '--port', '0'], async url => {
  const asked = performance.now()
  const response = await fetch(`${url}/vac/docs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ user_input: 'What is a VAC?' })
  })
  const { answer, source_documents: sources } = await response.json()
  const answerMs = performance.now() - asked
  if (!answer || !(sources?.length > 0)) throw new Error('the first answer cites nothing')
  return { answerMs }
})

/** Starts a process, waits for its /health, then for `use`. */
async function start (args, use = async () => {}) {
  const began = performance.now()
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
  try {
    const url = await printedUrl(child)
    const health = await fetch(`${url}/health`)
    if (!health.ok) throw new Error(`/health answered ${health.status}`)
    await health.text()
    const listeningMs = performance.now() - began
    return { listeningMs, ...await use(url) }
  } finally {
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    await gone
  }
}

/** The address that the process prints once it listens. */
async function printedUrl (child) {
  let printed = ''
  const url = new Promise(resolve => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', text => {
        printed += text
        const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(printed) ?? []
        if (found !== undefined) resolve(found)
      })
    }
  })
  const exit = once(child, 'exit').then(([code]) => { throw new Error(`the process ended with exit code ${code}: ${printed.slice(-2_000)}`) })
  const late = delay(20_000, undefined, { ref: false }).then(() => { throw new Error(`no address within 20 s: ${printed.slice(-2_000)}`) })
  for (const failure of [exit, late]) failure.catch(() => {})
  return await Promise.race([url, exit, late])
}
