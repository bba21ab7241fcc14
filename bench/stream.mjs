// Ready-made chunks of 100 bytes next to `reply.send(Readable.from(generator))`: each form of `/vac/streaming/<name>`,
// chat completions, and tasks of A2A 1.0 on a file.
import { shareFigure } from './parts/figure.mjs'
import { cpuSharesOf, inRounds, ratiosOf, summary } from './parts/rounds.mjs'
import { withServers } from './parts/server-process.mjs'
import { countChunks, FORMS_AND_CHAT, post, streamRequest } from './parts/sockets.mjs'
import { median } from './parts/statistics.mjs'
import { WIRES } from './parts/wires.mjs'

const CHUNKS = 200_000
const ROUNDS = 5

/** By what is streamed: the server, its bar, and the bytes of a request. */
const STREAMS = {
  ...Object.fromEntries(FORMS_AND_CHAT.map(form => [form, {
    kind: 'polyvac', atLeast: { text: 150, sse: 130, ndjson: 130, chat: 100 }[form], request: chunks => streamRequest('counted', form, { chunks })
  }])),
  'A2A 1.0, on a file': { kind: 'tasks-file', atLeast: 60, request: taskRequest }
}

export const title = 'Streams of 100-byte chunks, 200,000 a round'
export const longestMs = 300_000

export async function run () {
  return await withServers(['bare', 'polyvac', 'tasks-file'], async (bare, ...servers) => {
    const figures = []
    for (const [name, stream] of Object.entries(STREAMS)) {
      const server = servers.find(({ kind }) => kind === stream.kind)
      for (const readers of [1, 10]) figures.push(await compare(name, stream, readers, bare, server))
    }
    return figures
  })
}

async function compare (name, { kind, atLeast, request }, readers, bare, server) {
  const { bare: beside, [kind]: taken } = await inRounds([bare, server], ROUNDS, async at => await read(at, request, readers))
  const what = `CPU of a bare stream for a chunk, share of: ${name}, ${readers === 1 ? 'one reader' : `${readers} readers`}`
  // the rate is that of the reader, too
  const ratePercent = median(ratiosOf(taken, beside)) * 100
  return shareFigure(what, cpuSharesOf(taken, beside), { atLeast }, { ...summary(taken), ratePercent, bare: summary(beside), rss: taken.rss })
}

async function read ({ port, kind }, request, readers) {
  const each = CHUNKS / readers
  const start = performance.now()
  const reads = await Promise.all(Array.from({ length: readers }, () => countChunks(port, request(each))))
  const seconds = (performance.now() - start) / 1000
  for (const { chunks } of reads) {
    if (chunks !== each) throw new Error(`${kind}: ${chunks} of ${each} chunks arrived`)
  }
  return { perSecond: CHUNKS / seconds, times: reads.map(({ ms }) => ms), count: CHUNKS }
}

function taskRequest (chunks) {
  const { path, body, headers } = WIRES.v1.subscribe('chunks', String(chunks))
  return post(path, JSON.parse(body), headers)
}
