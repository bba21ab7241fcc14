// Responses: a live stream and one that is kept, next to a bare stream of the same events; a late reader.
import OpenAI from 'openai'
import { asker } from './parts/asker.mjs'
import { awake } from './parts/awake.mjs'
import { figure } from './parts/figure.mjs'
import { inRounds, ratiosOf, summary } from './parts/rounds.mjs'
import { withServers } from './parts/server-process.mjs'
import { countChunks, post } from './parts/sockets.mjs'
import { max, median } from './parts/statistics.mjs'

const CHUNKS = 20_000
/** A response has its text in the events of its pieces, and in four at its end. */
const TIMES = 5
const STREAMS = 5
const ROUNDS = 7
const LATE_READS = 9
/** About those of a token. */
const TOKEN_CHARS = 5
const BARS = { polyvac: { atLeast: 80 }, runs: { atLeast: 60 } }

export const title = `Responses of ${CHUNKS.toLocaleString('en')} pieces, of 100 bytes where they are streamed`
export const longestMs = 600_000

export async function run () {
  return [...await withServers(['bare', 'polyvac', 'runs'], compareStreams), ...await withServers(['runs'], readLate)]
}

async function compareStreams (...servers) {
  const taken = await inRounds(servers, ROUNDS, streamAll)
  return Object.entries(BARS).flatMap(([kind, bar]) => {
    const what = kind === 'runs' ? 'a stream that is kept in a file' : 'a live stream'
    const ratios = ratiosOf(taken[kind], taken.bare)
    const cpus = taken[kind].cpus.map((cpu, i) => taken.bare.cpus[i] / cpu)
    return [
      figure(`pieces/s of ${what}, share of a bare stream of the same events`, median(ratios) * 100, '%', bar, { ...summary(taken[kind]), rss: taken[kind].rss, ratios, bare: summary(taken.bare) }),
      figure('the same by processor time', median(cpus) * 100, '%', bar)
    ]
  })
}

async function streamAll ({ port, kind }) {
  const start = performance.now()
  const times = []
  for (let i = 0; i < STREAMS; i++) {
    const { chunks, ms } = await countChunks(port, post('/openai/v1/responses', { model: 'counted', input: 'go', stream: true, chunks: CHUNKS }))
    if (chunks !== TIMES * CHUNKS) throw new Error(`${kind}: ${chunks} of ${TIMES * CHUNKS} pieces arrived`)
    times.push(ms)
  }
  const count = STREAMS * CHUNKS
  return { perSecond: count / (performance.now() - start) * 1000, times, count }
}

async function readLate ({ port }) {
  const ask = asker(port)
  const { id } = JSON.parse(await ask('POST', '/openai/v1/responses', { model: 'counted', input: 'go', background: true, chunks: CHUNKS, chars: TOKEN_CHARS }))
  while (JSON.parse(await ask('GET', `/openai/v1/responses/${id}`)).status !== 'completed');
  const client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/openai/v1`, apiKey: 'none', maxRetries: 0 })
  const times = []
  let events = 0
  for (let i = 0; i <= LATE_READS; i++) {
    const start = performance.now()
    events = 0
    await awake(async () => { for await (const { type } of await client.responses.retrieve(id, { stream: true })) if (type === 'response.output_text.delta') events++ })
    // the first only warms up
    if (i > 0) times.push(performance.now() - start)
  }
  return [figure(`a late reader of ${CHUNKS.toLocaleString('en')} tokens through the client of OpenAI: all events`, median(times), 'ms', { atMost: 100 }, { p50: median(times), p99: max(times), events })]
}
