// A reader of event streams. It parses everything, so that it counts only complete events.
import { request } from 'node:http'
import { once } from 'node:events'

/**
 * Sends a request and passes every event to `onEvent` as `(data, id)`, parsed, until the server ends the stream or
 * `onEvent` returns true.
 * @param hold a promise: the answer is not read before it resolves
 */
export async function readEvents (port, { path, headers, body }, onEvent, hold) {
  const asked = request({ host: '127.0.0.1', port, path, method: 'POST', headers, agent: false })
  // the response reports a cut connection
  asked.on('error', () => {}).end(body)
  const [response] = await once(asked, 'response')
  const type = response.headers['content-type'] ?? ''
  await hold
  response.setEncoding('utf8')
  let rest = ''
  let seen = 0
  const onData = data => {
    rest += data
    let from = 0
    for (let end; (end = rest.indexOf('\n\n', Math.max(from, seen - 1))) !== -1; from = seen = end + 2) {
      if (take(rest.slice(from, end), onEvent) === true) return true
    }
    rest = rest.slice(from)
    seen = rest.length
  }
  if (response.statusCode !== 200 || !type.startsWith('text/event-stream')) {
    for await (const data of response) rest += data
    throw new Error(`the server answered ${response.statusCode} ${type}: ${rest.slice(0, 500)}`)
  }
  await new Promise((resolve, reject) => {
    response.on('data', data => {
      try {
        if (onData(data) !== true) return
        resolve()
      } catch (err) {
        reject(err)
      }
      response.removeAllListeners('data')
      asked.destroy()
    }).on('end', resolve).on('error', reject)
  })
}

function take (frame, onEvent) {
  let id
  let data
  for (const line of frame.split('\n')) {
    if (line.startsWith('id: ')) id = line.slice(4)
    else if (line.startsWith('data: ')) data = line.slice(6)
  }
  return data === undefined ? undefined : onEvent(JSON.parse(data), id)
}

/**
 * Reads one task's stream to its end, or until `onDelta` returns true. Resolves to its number of events and when the
 * first and the last came, in ms since the request.
 */
export async function followTask (port, wire, request, onDelta, hold) {
  const sent = performance.now()
  let events = 0
  let first
  let last
  let state
  let left = false
  await readEvents(port, request, (data, id) => {
    last = performance.now()
    first ??= last
    events++
    if (id !== undefined && Number(id) !== events) throw new Error(`event ${events} has the number ${id}`)
    const event = wire.event(data)
    state = event.state ?? state
    left = event.delta !== '' && onDelta(event.delta) === true
    return left
  }, hold)
  if (!left && state !== 'completed') throw new Error(`the stream ended in state ${state} after ${events} events`)
  return { events, firstMs: first - sent, ms: last - sent }
}
