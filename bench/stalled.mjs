// Readers that never read: back-pressure must stop their interpreters before the memory fills.
import { setTimeout as delay } from 'node:timers/promises'
import { figure, toMb } from './parts/figure.mjs'
import { withServers } from './parts/server-process.mjs'
import { countChunks, FORMS_AND_CHAT, send, streamRequest } from './parts/sockets.mjs'

const READERS = 50

export const title = 'Stalled readers, 50 of an endless stream'

export async function run () {
  const figures = []
  for (const form of FORMS_AND_CHAT) figures.push(await withServers(['polyvac'], server => stall(server, form)))
  return figures
}

async function stall (server, form) {
  // streams load code and grow the young generation of V8, up to 33 MB: not a cost of stalled readers
  await Promise.all(Array.from({ length: READERS }, () => countChunks(server.port, streamRequest('counted', form, { chunks: 20_000 }))))
  const before = await server.ask('rssAfterGc')
  const sockets = await Promise.all(Array.from({ length: READERS }, () => send(server.port, streamRequest('endless', form))))
  await delay(4_000)
  const made = await server.ask('made')
  await delay(1_000)
  const rss = await server.ask('rss')
  // the socket buffers of the system take chunks at first; after that the interpreter may yield no more
  const stillMade = await server.ask('made') - made
  for (const socket of sockets) socket.destroy()
  const what = `memory of ${READERS} stalled readers after 5 s: ${form}`
  return figure(what, toMb(rss - before), 'MB', { atMost: 20 }, { rss, made, madeInFifthSecond: stillMade })
}
