// One task from its request to its end: A2A's blocking send next to the SDK of the protocol.
import autocannon from 'autocannon'
import { awake } from './parts/awake.mjs'
import { figure } from './parts/figure.mjs'
import { inRounds, ratiosOf, summary } from './parts/rounds.mjs'
import { withServers } from './parts/server-process.mjs'
import { median } from './parts/statistics.mjs'
import { WIRES } from './parts/wires.mjs'

const QUESTION = 'What is a VAC?'
const CONNECTIONS = 20
/** Many short rounds: other load of the machine affects neighbours alike. */
const SECONDS = 1
const ROUNDS = 8

export const title = 'A2A: tasks/send of an instant VAC, 20 connections'

export async function run () {
  return await withServers(['a2a-js', 'tasks-memory', 'tasks-file'], async (...servers) => {
    for (const server of servers) await check(server)
    const taken = await inRounds(servers, ROUNDS, load)
    const peer = taken['a2a-js']
    const summaryOf = kind => ({ ...summary(taken[kind]), rss: taken[kind].rss })
    return [['tasks-memory', 'in memory', 2.5], ['tasks-file', 'on a file', 1.2]].map(([kind, where, atLeast]) => {
      const ratios = ratiosOf(taken[kind], peer)
      const more = { ...summaryOf(kind), ratios, peer: summaryOf('a2a-js') }
      return figure(`tasks/s, multiple of @a2a-js/sdk: ${where}`, median(ratios), '×', { atLeast }, more)
    })
  })
}

/** One answer is validated in full; those under load only for the completed state. */
async function check ({ port, kind }) {
  const { path, headers, body } = WIRES[kind].send('instant', QUESTION)
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body })
  const received = await response.text()
  const { state, text } = read(received, kind)
  if (state !== 'completed' || text !== QUESTION) throw new Error(`${kind} answered ${response.status}: ${received.slice(0, 500)}`)
}

function read (text, kind) {
  try {
    return WIRES[kind].answer(JSON.parse(text))
  } catch {
    // a failure has no artifact
    return {}
  }
}

async function load ({ port, kind }) {
  const { completed, send } = WIRES[kind]
  const { path, headers, body } = send('instant', QUESTION)
  const { requests, non2xx, errors, mismatches, latency } = await awake(() => autocannon({
    url: `http://127.0.0.1:${port}${path}`,
    method: 'POST',
    headers,
    body,
    verifyBody: body => body.includes(completed),
    connections: CONNECTIONS,
    duration: SECONDS
  }))
  if (non2xx + errors + mismatches > 0) throw new Error(`${kind}: ${non2xx} answers were not 2xx, ${mismatches} not completed, ${errors} requests failed`)
  return { perSecond: requests.average, times: [latency.p50, latency.p99], count: requests.total }
}
