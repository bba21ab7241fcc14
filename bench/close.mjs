// How long `app.close()` takes with open streams (also stalled ones), calls that do not end, and sessions.
import { setTimeout as delay } from 'node:timers/promises'
import { figure } from './parts/figure.mjs'
import { withServers } from './parts/server-process.mjs'
import { FORMS, open, post, send, streamRequest } from './parts/sockets.mjs'

const OPEN = 100
const ATMOST_MS = 1_000

/** Until stalled readers have filled their sockets, and calls have reached the server. */
const SETTLE_MS = 2_000

/** Time for the gateway's servers to start. */
const START_MS = 4_000

export const title = 'Closing with 100 open streams, calls or sessions'

export async function run () {
  return [
    await closing('polyvac', 'app.close(), half of the readers stalled', (port, i) => {
      const form = FORMS[i % FORMS.length]
      return i % 2 === 0 ? open(port, streamRequest('waiting', form)) : send(port, streamRequest('endless', form))
    }),
    await closing('tasks-memory', 'with A2A streams of tasks at work', (port, i) =>
      open(port, post('/a2a/tasks/sendSubscribe', { jsonrpc: '2.0', id: i, method: 'tasks/sendSubscribe', params: { skillName: 'vac_stream_ticking', input: { query: '100000' } } }))),
    await closing('gateway', 'with calls of servers that do not answer', async (port, i) => {
      if (i === 0) await delay(START_MS)
      return await send(port, post('/mcp/call', { server: 'large', tool: 'hang', arguments: {} }))
    }),
    await closing('mcp', 'with MCP sessions and their streams', async port => {
      const id = await sessionAt(port)
      return await open(port, `GET /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\nmcp-session-id: ${id}\r\n\r\n`)
    })
  ]
}

async function closing (kind, name, begin) {
  return await withServers([kind], async server => {
    const sockets = []
    for (let i = 0; i < OPEN; i++) sockets.push(await begin(server.port, i))
    await delay(SETTLE_MS)
    const ms = await server.ask('close')
    for (const socket of sockets) socket.destroy()
    return figure(name, ms, 'ms', { atMost: ATMOST_MS })
  })
}

async function sessionAt (port) {
  const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } } }
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }, body: JSON.stringify(body) })
  await response.text()
  return response.headers.get('mcp-session-id')
}
