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
/** Short rounds: other load of the machine affects neighbours alike. */
const ROUNDS = 6
/** A server compiles its code for about 10,000 tasks: before that, a side with more code has up to twice the time. */
const WARM_UP_ROUNDS = 10
/** Processes of one server differ by up to 20 %, since they compile the same code differently. */
const GENERATIONS = 4
/** No further processes begin after this time for one load: a slow machine has fewer of them. */
const LOAD_MS = 50_000
const CONNECTIONS = 20
/** Of a round. A number instead of a time: a store that has more tasks is larger, and a round of it slower. */
const REQUESTS = 1_000
/** autocannon ends with its next sample. */
const SAMPLE_MS = 20
const CHUNKS = 50_000
const READERS = 10

const LOADS = [
  ['a direct call', '', server => post(server, '/vac/instant', { 'content-type': 'application/json' }, JSON.stringify({ user_input: QUESTION }))],
  ['a chunk of a stream', '', readStreams],
  ['a task', 'tasks-', server => {
    const { path, headers, body } = WIRES['tasks-memory'].send('instant', QUESTION)
    return post(server, path, headers, body)
  }]
]
const SIDES = [
  ['api', 'without an SDK', { atMost: 3 }],
  ['sampled', 'with 1 % of the traces and all metrics', { atMost: 15 }]
]

/** One generation of each load takes half of it on a machine of a quarter of the speed. */
export const longestMs = 480_000
export const title = 'Telemetry: CPU time of the server, more than without the package'

export async function run () {
  const figures = []
  for (const [what, prefix, load] of LOADS) {
    const kinds = SIDES.map(([side]) => `${prefix}telemetry-${side}`)
    figures.push(...await compare(`${prefix}telemetry-only`, kinds, load, SIDES.map(([, text, bar]) => [`${what}, ${text}`, bar])))
  }
  return figures
}

/** The CPU time of servers, more than that of another one, in percent. */
async function compare (base, kinds, load, texts) {
  const generations = []
  const last = performance.now() + LOAD_MS
  while (generations.length === 0 || (generations.length < GENERATIONS && performance.now() < last)) generations.push(await withServers([base, ...kinds], (...servers) => inRounds(servers, ROUNDS, load, WARM_UP_ROUNDS)))
  return kinds.map((kind, i) => {
    const ratios = generations.flatMap(taken => taken[kind].cpus.map((cpu, round) => cpu / taken[base].cpus[round]))
    const [text, bar] = texts[i]
    const all = of => generations.flatMap(taken => taken[kind][of])
    const { p50, p99, cpuUs } = summary({ rates: all('rates'), times: all('times'), cpus: all('cpus') })
    return figure(text, (median(ratios) - 1) * 100, '%', bar, { p50, p99, cpuUs, ratios })
  })
}

async function post ({ port, kind }, path, headers, body) {
  const { requests, non2xx, errors, latency } = await awake(() => autocannon({
    url: `http://127.0.0.1:${port}${path}`, method: 'POST', headers, body, connections: CONNECTIONS, amount: REQUESTS, sampleInt: SAMPLE_MS
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
