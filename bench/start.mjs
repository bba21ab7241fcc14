// The start of the host: the time until it listens, and until its first answer.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { figure } from './parts/figure.mjs'
import { max, median } from './parts/statistics.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const CLI = fileURLToPath(new URL('../apps/polyvac/dist/cli.js', import.meta.url))
const STARTS = 5

export const title = 'Start of the host on this repository'

export async function run () {
  const starts = []
  // the first start builds the index for the later ones
  await startOnce()
  for (let i = 0; i < STARTS; i++) starts.push(await startOnce())
  const listening = starts.map(start => start.listeningMs)
  const answers = starts.map(start => start.answerMs)
  return [
    figure('from the command to a listening /health', median(listening), 'ms', { atMost: 1_000 }, { p50: median(listening), p99: max(listening), starts }),
    figure('the first cited answer after that', median(answers), 'ms', { atMost: 50 }, { p50: median(answers), p99: max(answers) })
  ]
}

async function startOnce () {
  const began = performance.now()
  const child = spawn(process.execPath, [CLI, 'start', '--port', '0'], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
  try {
    const url = await bannerUrl(child)
    const health = await fetch(`${url}/health`)
    if (!health.ok) throw new Error(`/health answered ${health.status}`)
    await health.text()
    const listeningMs = performance.now() - began
    const asked = performance.now()
    const response = await fetch(`${url}/vac/docs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ user_input: 'What is a VAC?' })
    })
    const { answer, source_documents: sources } = await response.json()
    const answerMs = performance.now() - asked
    if (!answer || !(sources?.length > 0)) throw new Error('the first answer cites nothing')
    return { listeningMs, answerMs }
  } finally {
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    await gone
  }
}

async function bannerUrl (child) {
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
  const exit = once(child, 'exit').then(([code]) => { throw new Error(`the host ended with exit code ${code}: ${printed.slice(-2_000)}`) })
  const late = delay(20_000, undefined, { ref: false }).then(() => { throw new Error(`no banner within 20 s: ${printed.slice(-2_000)}`) })
  for (const failure of [exit, late]) failure.catch(() => {})
  return await Promise.race([url, exit, late])
}
