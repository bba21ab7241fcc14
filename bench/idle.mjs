// The memory of an open stream without events.
import { setTimeout as delay } from 'node:timers/promises'
import { figure, shareFigure } from './parts/figure.mjs'
import { withServers } from './parts/server-process.mjs'
import { open, streamRequest } from './parts/sockets.mjs'
import { median } from './parts/statistics.mjs'

const STREAMS = 2_000
const AT_ONCE = 100
/** Of each server, in turn: the memory of one process differs by a tenth. */
const PROCESSES = 4
const KB = 1024

export const title = 'Idle streams, 2,000 open at once'

export async function run () {
  const pairs = []
  for (let i = 0; i < PROCESSES; i++) pairs.push([await withServers(['bare'], hold), await withServers(['polyvac'], hold)])
  const each = pairs.map(([, { each }]) => each)
  return [
    figure('memory of an idle SSE stream', median(each) / KB, 'kB', { atMost: 40 }, { rss: pairs[0][1].rss }),
    shareFigure('memory of an idle SSE stream, share of a bare one', pairs.map(([bare, ours]) => ours.each / bare.each), { atMost: 105 })
  ]
}

async function hold (server) {
  // the first streams load code and fill pools, which the next ones do not need again
  await close(await openMany(server, 200))
  const before = await server.ask('rssAfterGc')
  const sockets = await openMany(server, STREAMS)
  const rss = await server.ask('rssAfterGc')
  await close(sockets)
  return { each: (rss - before) / STREAMS, rss }
}

async function openMany ({ port }, count) {
  const sockets = []
  while (sockets.length < count) {
    sockets.push(...await Promise.all(Array.from({ length: AT_ONCE }, () => open(port, streamRequest('waiting', 'sse')))))
  }
  return sockets
}

async function close (sockets) {
  for (const socket of sockets) socket.destroy()
  await delay(500)
}
