// Requests to the server of this process, without a socket: other load hardly changes their least time.
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'

const ROUNDS = 40
const REQUESTS = 250
const AT_ONCE = 50

/** The least time of a request in µs: the mean of each round, the smallest of all rounds. */
export async function leastTime (server, request) {
  const socket = socketOf()
  let least = Infinity
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now()
    for (let i = 0; i < REQUESTS; i++) await send(server, socket, request)
    least = Math.min(least, (performance.now() - start) * 1000 / REQUESTS)
  }
  return least
}

/** Sends a request so often, some at once, and waits for the answers. */
export async function sendMany (server, { request, count }) {
  const socket = socketOf()
  for (let sent = 0; sent < count; sent += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - sent) }, () => send(server, socket, request)))
  }
}

/** Sends requests whose answers do not end. */
export async function openStreams (server, { request, count }) {
  for (let sent = 0; sent < count; sent += AT_ONCE) {
    for (let i = sent; i < Math.min(count, sent + AT_ONCE); i++) send(server, socketOf(), request).catch(() => {})
    await turn()
  }
}

function socketOf () {
  const socket = new Socket()
  socket.setMaxListeners(0)
  Object.defineProperties(socket, { remoteAddress: { value: '127.0.0.1' }, localAddress: { value: '127.0.0.1' } })
  return socket
}

function send (server, socket, { path, headers, body }) {
  return new Promise((resolve, reject) => {
    const bytes = Buffer.from(body)
    const request = new IncomingMessage(socket)
    Object.assign(request, { method: 'POST', url: path, httpVersionMajor: 1, httpVersionMinor: 1, httpVersion: '1.1', complete: true })
    request.headers = { host: 'localhost', 'content-length': String(bytes.length), connection: 'keep-alive', ...headers }
    request.rawHeaders = Object.entries(request.headers).flat()
    request.push(bytes)
    request.push(null)
    const response = new ServerResponse(request)
    response.end = sent => {
      if (response.statusCode !== 200) reject(new Error(`${path} answered ${response.statusCode}: ${String(sent).slice(0, 500)}`))
      response.finished = true
      response.emit('finish')
      response.emit('close')
      resolve()
      return response
    }
    server.emit('request', request, response)
  })
}
