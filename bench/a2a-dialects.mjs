// The public versions of A2A, next to the Express server of the SDK of the protocol: sends, cards and long streams.
import autocannon from 'autocannon'
import { awake } from './parts/awake.mjs'
import { readEvents } from './parts/events.mjs'
import { figure } from './parts/figure.mjs'
import { inRounds, ratiosOf, summary } from './parts/rounds.mjs'
import { withServers } from './parts/server-process.mjs'
import { max, median } from './parts/statistics.mjs'
import { text } from './parts/task-interpreters.mjs'
import { WIRES } from './parts/wires.mjs'

const QUESTION = 'What is a VAC?'
const CHUNKS = 4_000
const CONNECTIONS = 20
const SECONDS = 1
const ROUNDS = 8
const CARD = { path: '/.well-known/agent-card.json', headers: { 'a2a-version': '1.0' }, method: 'GET', completed: '"supportedInterfaces"' }

export const title = 'A2A 1.0 and 0.3: one server for both, 20 connections'

export async function run () {
  return await withServers(['a2a-js', 'tasks-memory'], async (peer, ours) => {
    const dialects = ['v1', 'v0_3'].map(kind => ({ ...ours, kind }))
    for (const server of [peer, ...dialects]) await check(server)
    const sent = await inRounds([peer, ...dialects], ROUNDS, load)
    const cards = await inRounds([peer, { ...ours, kind: 'v1' }], ROUNDS, server => fire(server, CARD))
    const figures = [['v1', 'SendMessage of 1.0'], ['v0_3', 'message/send of 0.3']].map(([kind, what]) => multiple(`${what}: tasks/s, multiple of @a2a-js/sdk`, sent, kind, 2.5))
    figures.push(multiple('Agent card: requests/s, multiple of @a2a-js/sdk', cards, 'v1', 3))
    for (const server of dialects) {
      const times = []
      for (let round = 0; round <= 5; round++) {
        const ms = await stream(server)
        if (round > 0) times.push(ms)
      }
      figures.push(figure(`${CHUNKS.toLocaleString('en')} chunks in ${server.kind === 'v1' ? '1.0' : '0.3'}, request to last event`, median(times), 'ms', { atMost: 300 }, { p50: median(times), p99: max(times), times }))
    }
    return figures
  })
}

function multiple (what, taken, kind, atLeast) {
  const ratios = ratiosOf(taken[kind], taken['a2a-js'])
  return figure(what, median(ratios), '×', { atLeast }, { ...summary(taken[kind]), rss: taken[kind].rss, ratios, peer: summary(taken['a2a-js']) })
}

/** One answer is validated in full; those under load only for the completed state. */
async function check ({ port, kind }) {
  const { path, headers, body } = WIRES[kind].send('instant', QUESTION)
  const response = await (await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body })).json()
  const { state, text } = WIRES[kind].answer(response)
  if (state !== 'completed' || text !== QUESTION) throw new Error(`${kind} answered ${JSON.stringify(response).slice(0, 500)}`)
}

function load (server) {
  const { completed, send } = WIRES[server.kind]
  return fire(server, { ...send('instant', QUESTION), method: 'POST', completed })
}

async function fire ({ port, kind }, { path, headers, body, method, completed }) {
  const { requests, non2xx, errors, mismatches, latency } = await awake(() => autocannon({
    url: `http://127.0.0.1:${port}${path}`,
    method,
    headers,
    body,
    verifyBody: body => body.includes(completed),
    connections: CONNECTIONS,
    duration: SECONDS
  }))
  if (non2xx + errors + mismatches > 0) throw new Error(`${kind}: ${non2xx} answers were not 2xx, ${mismatches} of another body, ${errors} requests failed`)
  return { perSecond: requests.average, times: [latency.p50, latency.p99], count: requests.total }
}

async function stream ({ port, kind }) {
  const wire = WIRES[kind]
  const sent = performance.now()
  let received = ''
  let state
  let last
  await awake(() => readEvents(port, wire.subscribe('words', String(CHUNKS)), data => {
    last = performance.now()
    const event = wire.event(data)
    received += event.delta
    state = event.state ?? state
  }))
  if (state !== 'completed' || received !== text(CHUNKS)) throw new Error(`${kind}: ended ${state} with ${received.length} characters`)
  return last - sent
}
