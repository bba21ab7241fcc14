// The time from a client's `socket.destroy()` to the abort of its interpreter's signal.
import { setTimeout as delay } from 'node:timers/promises'
import { figure } from './parts/figure.mjs'
import { withServers } from './parts/server-process.mjs'
import { FORMS, open, post, send, streamRequest } from './parts/sockets.mjs'
import { max, median, quantile } from './parts/statistics.mjs'

const CLIENTS = 200
const BETWEEN_MS = 3

export const title = 'Clients that disconnect, 200 of each kind'

export async function run () {
  return await withServers(['polyvac'], async server => {
    const figures = []
    for (const interpreter of ['waiting', 'ticking']) {
      for (const form of FORMS) {
        figures.push(await leave(server, `${form} stream, ${interpreter}`, id =>
          open(server.port, streamRequest(interpreter, form, { id }))))
      }
      figures.push(await leave(server, `whole answer, ${interpreter}`, id =>
        send(server.port, post(`/vac/${interpreter}`, { user_input: 'go', id }))))
    }
    return figures
  })
}

async function leave (server, what, enter) {
  const sockets = await Promise.all(Array.from({ length: CLIENTS }, (_, id) => enter(id)))
  // a whole answer has no first byte that shows that its interpreter has started
  await delay(300)
  const left = []
  for (const socket of sockets) {
    // all processes of a machine share the monotonic clock
    left.push(process.hrtime.bigint())
    socket.destroy()
    await delay(BETWEEN_MS)
  }
  await delay(500)
  const aborts = new Map(await server.ask('aborts'))
  if (aborts.size !== CLIENTS) throw new Error(`${what}: ${aborts.size} of ${CLIENTS} interpreters were aborted`)
  const times = left.map((at, id) => Number(BigInt(aborts.get(id)) - at) / 1e6)
  const [p50, p99] = [median(times), quantile(times, 0.99)]
  return figure(`slowest abort: ${what}`, max(times), 'ms', { atMost: 100 }, { p50, p99, rss: await server.ask('rss') })
}
