// A long answer in small pieces: the time from the request to the last event, and how it grows with the length.
import { setTimeout as delay } from 'node:timers/promises'
import { awake } from './parts/awake.mjs'
import { followTask } from './parts/events.mjs'
import { figure } from './parts/figure.mjs'
import { withServers } from './parts/server-process.mjs'
import { max, median } from './parts/statistics.mjs'
import { text, WORD_CHARS } from './parts/task-interpreters.mjs'
import { WIRES } from './parts/wires.mjs'

const SHORT = 4_000
const LONG = 20_000
const ROUNDS = 5
/** The peer's cost grows with the square of the length; a quarter of it is measured as well. */
const PEER = [1_000, SHORT]
const LONGEST_PEER_MS = 60_000

export const title = `A2A: streams of ${WORD_CHARS}-character chunks`

export async function run () {
  const figures = []
  for (const [kind, where] of [['tasks-memory', 'in memory'], ['tasks-file', 'on a file']]) {
    const { short, long, rss } = await withServers([kind], measure)
    figures.push(
      streamFigure(`${SHORT.toLocaleString('en')} chunks, request to last event: ${where}`, short, 300, rss),
      streamFigure(`${LONG.toLocaleString('en')} chunks: ${where}`, long, 1_500, rss),
      // proportional to the length it would be 5
      figure(`${LONG.toLocaleString('en')} chunks, multiple of ${SHORT.toLocaleString('en')}: ${where}`,
        median(long.times) / median(short.times), '×', { atMost: 7.5 })
    )
  }
  const peer = await withServers(['a2a-js'], measurePeer)
  const share = figures[0].value / peer.at(-1).ms * 100
  figures.push(figure(`${SHORT.toLocaleString('en')} chunks, share of the time of @a2a-js/sdk`, share, '%', { atMost: 10 }, { peer }))
  return figures
}

function streamFigure (what, { times, events }, atMost, rss) {
  return figure(what, median(times), 'ms', { atMost }, { p50: median(times), p99: max(times), rss, times, events })
}

async function measure (server) {
  const [short, long] = [{ times: [] }, { times: [] }]
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [into, chunks] of [[short, SHORT], [long, LONG]]) {
      const { ms, events } = await follow(server, chunks)
      // the first only warms up
      if (round > 0) into.times.push(ms)
      into.events = events
    }
  }
  return { short, long, rss: await server.ask('rss') }
}

async function measurePeer (server) {
  const taken = []
  await follow(server, 100)
  for (const chunks of PEER) {
    const late = delay(LONGEST_PEER_MS, { ms: LONGEST_PEER_MS, late: true }, { ref: false })
    const followed = follow(server, chunks)
    // an abandoned reader fails when its server ends
    followed.catch(() => {})
    taken.push({ chunks, ...await Promise.race([followed, late]) })
  }
  return taken
}

async function follow ({ port, kind }, chunks) {
  let received = ''
  const wire = WIRES[kind]
  const followed = await awake(() => followTask(port, wire, wire.subscribe('words', String(chunks)), delta => { received += delta }))
  if (received !== text(chunks)) throw new Error(`${kind}: ${received.length} of ${chunks * WORD_CHARS} characters arrived, or in another order`)
  return followed
}
