// What telemetry costs: CPU time of the server for the same requests without the package of OpenTelemetry, with it but
// without an SDK, and with an SDK that keeps one trace in a hundred.
import autocannon from 'autocannon'
import { awake } from './parts/awake.mjs'
import { figure } from './parts/figure.mjs'
import { inRounds, summary } from './parts/rounds.mjs'
import { withServers } from './parts/server-process.mjs'
import { countChunks, streamRequest } from './parts/sockets.mjs'
import { median } from './parts/statistics.mjs'
import { WIRES } from './parts/wires.mjs'

const QUESTION = 'What is a VAC?'
const SECONDS = 1
/** Many short rounds: other load of the machine affects neighbours alike. */
const ROUNDS = 10
const CONNECTIONS = 20
const CHUNKS = 100_000
const READERS = 10

const LOADS = [
  ['a direct call', '', server => post(server, '/vac/instant', { 'content-type': 'application/json' }, JSON.stringify({ user_input: QUESTION }))],
  ['a chunk of a stream', '', readStreams],
  ['a task', 'tasks-', server => {
    const { path, headers, body } = WIRES['tasks-memory'].send('instant', QUESTION)
    return post(server, path, headers, body)
  }]
]
const SIDES = [['api', 'without an SDK', 3], ['sampled', 'with 1 % of the traces and all metrics', 15]]

export const title = 'Telemetry: CPU time of the server, more than without the package'

export async function run () {
  const figures = []
  for (const [what, prefix, load] of LOADS) {
    const kinds = ['alone', 'api', 'sampled'].map(side => `${prefix}telemetry-${side}`)
    const taken = await withServers(kinds, (...servers) => inRounds(servers, ROUNDS, load))
    const { cpus: alone } = taken[kinds[0]]
    for (const [side, text, atMost] of SIDES) {
      const { [`${prefix}telemetry-${side}`]: own } = taken
      const ratios = own.cpus.map((cpu, i) => cpu / alone[i])
      const { p50, p99, cpuUs } = summary(own)
      figures.push(figure(`${what}, ${text}`, (median(ratios) - 1) * 100, '%', { atMost }, { p50, p99, cpuUs, ratios }))
    }
  }
  return figures
}

async function post ({ port, kind }, path, headers, body) {
  const { requests, non2xx, errors, latency } = await awake(() => autocannon({
    url: `http://127.0.0.1:${port}${path}`, method: 'POST', headers, body, connections: CONNECTIONS, duration: SECONDS
  }))
  if (non2xx + errors > 0) throw new Error(`${kind}: ${non2xx} answers were not 2xx, ${errors} requests failed`)
  return { perSecond: requests.average, times: [latency.p50, latency.p99], count: requests.total }
}

async function readStreams ({ port, kind }) {
  const each = CHUNKS / READERS
  const start = performance.now()
  const reads = await Promise.all(Array.from({ length: READERS }, () => countChunks(port, streamRequest('counted', 'sse', { chunks: each }))))
  const missing = reads.find(({ chunks }) => chunks !== each)
  if (missing !== undefined) throw new Error(`${kind}: ${missing.chunks} of ${each} chunks arrived`)
  return { perSecond: CHUNKS / (performance.now() - start) * 1000, times: reads.map(({ ms }) => ms), count: CHUNKS }
}
