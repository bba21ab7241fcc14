// How long `app.close()` takes while streams are open and half of their readers have stopped reading.
import { setTimeout as delay } from 'node:timers/promises'
import { figure } from './parts/figure.mjs'
import { withServers } from './parts/server-process.mjs'
import { FORMS, open, send, streamRequest } from './parts/sockets.mjs'

const STREAMS = 100

export const title = 'Closing with 100 open streams'

export async function run () {
  return [await withServers(['polyvac'], async server => {
    const sockets = await Promise.all(Array.from({ length: STREAMS }, (_, i) => {
      const form = FORMS[i % FORMS.length]
      return i % 2 === 0 ? open(server.port, streamRequest('waiting', form)) : send(server.port, streamRequest('endless', form))
    }))
    // until the stalled ones have filled their sockets
    await delay(2_000)
    const ms = await server.ask('close')
    for (const socket of sockets) socket.destroy()
    return figure('app.close(), half of the readers stalled', ms, 'ms', { atMost: 1_000 })
  })]
}
