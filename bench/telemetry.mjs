// What telemetry costs: CPU time of the server for the same requests without the package of OpenTelemetry, with it but
// without an SDK, and with an SDK that keeps one trace in a hundred.
import autocannon from 'autocannon'
import { awake } from './parts/awake.mjs'
import { shareFigure } from './parts/figure.mjs'
import { inGenerations } from './parts/rounds.mjs'
import { countChunks, streamRequest } from './parts/sockets.mjs'
import { WIRES } from './parts/wires.mjs'

const QUESTION = 'What is a VAC?'
/** Short rounds: other load of the machine affects neighbours alike. */
const ROUNDS = 6
/** A server compiles its code for about 10,000 tasks: before that, a side with more code has up to twice the time. */
const WARM_UP_ROUNDS = 10
const CONNECTIONS = 20
/** Of a round. A number instead of a time: a store that has more tasks is larger, and a round of it slower. */
const REQUESTS = 1_000
/** autocannon ends with its next sample. */
const SAMPLE_MS = 20
const CHUNKS = 50_000
const READERS = 10

const askDirectly = server => post(server, '/vac/instant', { 'content-type': 'application/json' }, JSON.stringify({ user_input: QUESTION }))

const LOADS = [
  ['a direct call', '', askDirectly],
  ['a direct call of the host', 'host-', askDirectly],
  ['a chunk of a stream', '', readStreams],
  ['a task', 'tasks-', server => {
    const { path, headers, body } = WIRES['tasks-memory'].send('instant', QUESTION)
    return post(server, path, headers, body)
  }]
]
const SIDES = [
  ['api', 'without an SDK', { atMost: 3 }],
  ['sampled', 'with 1 % of the traces and all metrics', { atMost: 10 }]
]

/** One generation of each load takes half of it on a machine of a quarter of the speed. */
export const longestMs = 600_000
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
  const taken = await inGenerations([base, ...kinds], load, { rounds: ROUNDS, warmUps: WARM_UP_ROUNDS })
  return kinds.map((kind, i) => {
    const { ratios, p50, p99, cpuUs } = taken[kind]
    const [text, bar] = texts[i]
    return shareFigure(text, ratios.map(ratio => 1 / ratio - 1), bar, { p50, p99, cpuUs })
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
