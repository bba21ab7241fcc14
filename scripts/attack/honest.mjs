// The thread of an honest client: it asks the agent every 25 ms over one connection, and measures.
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

/** An answer that takes longer than this counts as none. */
const MAX_MS = 120_000
const { url, headers } = workerData
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const body = '{"user_input":"hello"}'
const fresh = () => ({ times: [], busy: 0, failures: [] })
let seen = fresh()
let startedAt

const ask = () => new Promise(resolve => {
  const sent = request(`${url}/vac/demo`, { agent, method: 'POST', headers: { 'content-type': 'application/json', 'content-length': body.length, ...headers } })
  const timer = setTimeout(() => sent.destroy(new Error(`no answer for ${MAX_MS} ms`)), MAX_MS)
  const done = (status, retry, text) => { clearTimeout(timer); resolve({ status, retry, text }) }
  // the host may close an idle connection while the next request is on its way
  sent.on('error', err => done(err.code === 'ECONNRESET' && sent.reusedSocket ? 'again' : 0, undefined, `${err.code ?? ''} ${err.message}`))
  sent.on('response', response => {
    let text = ''
    response.setEncoding('utf8').on('data', chunk => { text += chunk }).on('close', () => done(response.statusCode, response.headers['retry-after'], text))
  })
  sent.end(body)
})

parentPort.on('message', () => {
  const { times, busy, failures } = seen
  const sorted = times.toSorted((a, b) => a - b)
  const pendingMs = startedAt === undefined ? 0 : Date.now() - startedAt
  parentPort.postMessage({
    answers: times.length, busy, failures, medianMs: sorted[sorted.length >> 1] ?? 0, maxMs: Math.max(sorted.at(-1) ?? 0, pendingMs), pendingMs
  })
  seen = fresh()
})

for (;;) {
  startedAt = Date.now()
  const { status, retry, text } = await ask()
  const took = Date.now() - startedAt
  startedAt = undefined
  if (status === 200 && text.includes('heard: hello')) seen.times.push(took)
  else if (status === 503 && retry !== undefined) seen.busy++
  else if (status !== 'again' && seen.failures.length < 20) seen.failures.push(`${status} ${text.slice(0, 200)}`)
  await delay(25)
}
