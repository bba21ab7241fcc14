// Readers that never read: their interpreters must stall with them instead of filling the memory.
import { setTimeout as delay } from 'node:timers/promises'
import { figure, toMb } from './parts/figure.mjs'
import { withServers } from './parts/server-process.mjs'
import { countChunks, FORMS, send, streamRequest } from './parts/sockets.mjs'

const READERS = 50

export const title = 'Stalled readers, 50 of an endless stream'

export async function run () {
  const figures = []
  for (const form of FORMS) figures.push(await withServers(['polyvac'], server => stall(server, form)))
  return figures
}

async function stall (server, form) {
  // the code and the young generation of V8, up to 33 MB, that as many streams bring are not a cost of the stalled ones
  await Promise.all(Array.from({ length: READERS }, () => countChunks(server.port, streamRequest('counted', form, { chunks: 20_000 }))))
  const before = await server.ask('rssAfterGc')
  const sockets = await Promise.all(Array.from({ length: READERS }, () => send(server.port, streamRequest('endless', form))))
  await delay(4_000)
  const made = await server.ask('made')
  await delay(1_000)
  const rss = await server.ask('rss')
  // what the sockets' own buffers in the system hold is made at once; after that nothing more may be
  const stillMade = await server.ask('made') - made
  for (const socket of sockets) socket.destroy()
  const what = `memory of ${READERS} stalled readers after 5 s: ${form}`
  return figure(what, toMb(rss - before), 'MB', { atMost: 30 }, { rss, made, madeInFifthSecond: stillMade })
}
