// Ready-made chunks of 100 bytes: POST /vac/streaming/<name> next to `reply.send(Readable.from(generator))`, by form.
import { figure } from './parts/figure.mjs'
import { inPairs } from './parts/rounds.mjs'
import { withServers } from './parts/server-process.mjs'
import { countChunks, FORMS, streamRequest } from './parts/sockets.mjs'

const CHUNKS = 200_000
const ROUNDS = 5

export const title = 'Streams of 100-byte chunks, 200,000 a round'

export async function run () {
  return await withServers(['bare', 'polyvac'], async (bare, polyvac) => {
    const figures = []
    for (const form of FORMS) {
      for (const readers of [1, 10]) {
        const { ratio, ...rest } = await inPairs(bare, polyvac, ROUNDS, server => read(server, form, readers))
        const { p50, p99, cpuUs } = rest.polyvac
        const what = `chunks/s, share of a bare stream: ${form}, ${readers === 1 ? 'one reader' : `${readers} readers`}`
        figures.push(figure(what, ratio * 100, '%', { atLeast: 70 }, { p50, p99, cpuUs, ...rest }))
      }
    }
    return figures
  })
}

async function read ({ port, kind }, form, readers) {
  const each = CHUNKS / readers
  const start = performance.now()
  const reads = await Promise.all(Array.from({ length: readers }, () =>
    countChunks(port, streamRequest('counted', form, { chunks: each }))))
  const seconds = (performance.now() - start) / 1000
  for (const { chunks } of reads) {
    if (chunks !== each) throw new Error(`${kind}, ${form}: ${chunks} of ${each} chunks arrived`)
  }
  return { perSecond: CHUNKS / seconds, times: reads.map(({ ms }) => ms), count: CHUNKS }
}
