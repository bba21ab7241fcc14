// Durable answers: a streamed answer that is kept, next to one that is not; a late reader; and an owner with many runs.
import { asker } from './parts/asker.mjs'
import { awake } from './parts/awake.mjs'
import { figure } from './parts/figure.mjs'
import { inRounds, ratiosOf, summary } from './parts/rounds.mjs'
import { withServers } from './parts/server-process.mjs'
import { countChunks, streamRequest } from './parts/sockets.mjs'
import { max, median } from './parts/statistics.mjs'

const CHUNKS = 20_000
const STREAMS = 5
const ROUNDS = 7
const LATE_READS = 9
const REQUESTS = 100
const [FEW, MANY] = [1_000, 100_000]

export const title = `Durable answers on a file: ${CHUNKS.toLocaleString('en')} chunks, ${MANY.toLocaleString('en')} runs of one owner`
/** It makes 100,000 runs first. */
export const longestMs = 600_000

export async function run () {
  return [...await withServers(['polyvac', 'runs'], compareStreams), ...await withServers(['runs'], readLate), ...await withServers(['runs-few', 'runs-many'], compareCounts)]
}

async function compareStreams (...servers) {
  return [...await compareChunks(servers, 100), ...await compareChunks(servers, 20)]
}

async function compareChunks (servers, chars) {
  const taken = await inRounds(servers, ROUNDS, server => streamAll(server, chars))
  const { polyvac: direct, runs } = taken
  const ratios = ratiosOf(runs, direct)
  const cpus = runs.cpus.map((cpu, i) => direct.cpus[i] / cpu)
  const more = { ...summary(runs), rss: runs.rss, ratios, direct: summary(direct) }
  return [
    figure(`chunks/s of a streamed answer that is kept, share of one that is not: ${chars} characters each`, median(ratios) * 100, '%', { atLeast: 60 }, more),
    figure(`the same by processor time: ${chars} characters each`, median(cpus) * 100, '%', { atLeast: 60 })
  ]
}

let conversations = 0

async function streamAll ({ port, kind }, chars) {
  const start = performance.now()
  const times = []
  for (let i = 0; i < STREAMS; i++) {
    const kept = kind === 'runs' ? { conversation_id: `c${++conversations}` } : {}
    const { chunks, ms } = await countChunks(port, streamRequest('counted', 'sse', { chunks: CHUNKS, chars, ...kept }))
    if (chunks !== CHUNKS) throw new Error(`${kind}: ${chunks} of ${CHUNKS} chunks arrived`)
    times.push(ms)
  }
  const count = STREAMS * CHUNKS
  return { perSecond: count / (performance.now() - start) * 1000, times, count }
}

async function readLate ({ port }) {
  const ask = asker(port)
  const { run_id: id } = JSON.parse(await ask('POST', '/vac/counted', { user_input: 'go', background: true, chunks: CHUNKS }))
  while (JSON.parse(await ask('GET', `/vac/counted/runs/${id}`)).state !== 'completed');
  const times = []
  for (let i = 0; i <= LATE_READS; i++) {
    const start = performance.now()
    const text = await awake(() => ask('GET', `/vac/counted/runs/${id}/stream`))
    // the first only warms up
    if (i > 0) times.push(performance.now() - start)
    const chunks = text.split('@').length - 1
    if (chunks !== CHUNKS) throw new Error(`a late reader has ${chunks} of ${CHUNKS} chunks`)
  }
  return [figure(`a late reader of ${CHUNKS.toLocaleString('en')} chunks: all text`, median(times), 'ms', { atMost: 100 }, { p50: median(times), p99: max(times) })]
}

async function compareCounts (...servers) {
  const requests = {
    'a page of the list': ['GET', '/vac/instant/runs?limit=50'],
    'a start': ['POST', '/vac/instant', { user_input: 'What is a VAC?', background: true }],
    'a read': ['GET', '/vac/instant/runs/']
  }
  const figures = []
  for (const [what, [method, path, body]] of Object.entries(requests)) {
    const taken = await inRounds(servers, ROUNDS, async ({ port }) => {
      const ask = asker(port)
      const id = path.endsWith('/') ? JSON.parse(await ask('GET', '/vac/instant/runs?limit=1')).runs[0].run_id : ''
      const times = []
      const start = performance.now()
      for (let i = 0; i < REQUESTS; i++) {
        const at = performance.now()
        await ask(method, path + id, body)
        times.push(performance.now() - at)
      }
      return { perSecond: REQUESTS / (performance.now() - start) * 1000, times, count: REQUESTS }
    })
    const [few, many] = [taken['runs-few'], taken['runs-many']]
    const ratios = many.cpus.map((cpu, i) => cpu / few.cpus[i])
    figures.push(figure(`${what}, processor time with ${MANY.toLocaleString('en')} runs, multiple of ${FEW.toLocaleString('en')}`, median(ratios), '×', { atMost: 1.2 }, { ...summary(many), ratios, few: summary(few) }))
  }
  return figures
}
