// A reader on a raw socket: it must cost less than the server it measures, and it must be able to stop reading.
import { connect } from 'node:net'
import { once } from 'node:events'

const AT = '@'.charCodeAt(0)
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n')

const ACCEPT = { text: 'text/plain', sse: 'text/event-stream', ndjson: 'application/x-ndjson' }
export const FORMS = Object.keys(ACCEPT)
export const FORMS_AND_CHAT = [...FORMS, 'chat']

/** The bytes of a POST with a JSON body. */
export function post (path, body, headers = {}) {
  const text = JSON.stringify(body)
  const lines = Object.entries({
    host: '127.0.0.1', 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`
}

/** The bytes of a request for a stream in one of the forms. */
export function streamRequest (name, form, fields = {}) {
  if (form === 'chat') return post('/openai/v1/chat/completions', { model: name, messages: [{ role: 'user', content: 'go' }], stream: true, ...fields })
  return post(`/vac/streaming/${name}`, { user_input: 'go', form, ...fields }, { accept: ACCEPT[form] })
}

/** Connects and sends. The socket does not read before it has a listener. */
export async function send (port, request) {
  const socket = connect(port, '127.0.0.1')
  // the server or this reader destroys the socket on purpose
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(request)
  return socket
}

/** Sends, and resolves once the first bytes of the answer have arrived; the socket reads on. */
export async function open (port, request) {
  const socket = await send(port, request)
  const [first] = await once(socket.resume(), 'data')
  if (!first.toString('latin1', 0, 15).startsWith('HTTP/1.1 200')) throw new Error(`the server answered ${first.toString('latin1')}`)
  return socket
}

/** Reads a whole chunked answer and counts its `@`. Resolves to that count and the time in ms. */
export async function countChunks (port, request) {
  const start = performance.now()
  const socket = await send(port, request)
  let chunks = 0
  let tail = Buffer.alloc(0)
  for await (const data of socket) {
    for (let at = data.indexOf(AT); at !== -1; at = data.indexOf(AT, at + 1)) chunks++
    // the end may be spread over several packets
    tail = Buffer.concat([tail, data.subarray(-LAST_CHUNK.length)]).subarray(-LAST_CHUNK.length)
    if (tail.equals(LAST_CHUNK)) break
  }
  return { chunks, ms: performance.now() - start }
}
