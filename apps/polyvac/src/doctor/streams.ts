import { ok, problem, unchecked, warning, type Finding } from './finding.js'
import { describeFailure, type HttpClient, type HttpRequest } from '../client/http-client.js'

/** Time for the head and the first event of a stream. A service sends both at once, and its end much later. */
const FIRST_EVENT_MS = 3_000
const BUFFERED = 'turn buffering off for text/event-stream: `proxy_buffering off` in nginx, `flush_interval -1` in Caddy'

/**
 * A stream of events that stays open. Its head, and the first event where the specification has one, must arrive while
 * it is open: a proxy that buffers holds them back until more bytes follow or the stream ends.
 */
export async function * checkEventStream (client: HttpClient, path: string, request: HttpRequest, hasFirstEvent: boolean): AsyncGenerator<Finding> {
  let headers: Headers
  let failure = ''
  let hasEvent = false
  try {
    const stream = await client.open(path, { ...request, maxMs: FIRST_EVENT_MS })
    headers = stream.headers
    if (headers.get('content-type')?.startsWith('text/event-stream') !== true) {
      await stream.pieces[Symbol.asyncIterator]().return?.()
      yield unchecked('streams', `the service answers ${stream.status} without a stream of events`)
      return
    }
    if (hasFirstEvent) {
      try {
        for await (const { text } of stream.pieces) if ((hasEvent = text.includes('data:'))) break
      } catch (err) {
        failure = describeFailure(err)
      }
    } else await stream.pieces[Symbol.asyncIterator]().return?.()
  } catch (err) {
    yield problem('streams', `a stream of events does not open (${describeFailure(err)}): a proxy may buffer it until its end`, BUFFERED)
    return
  }
  yield * checkHeaders(headers)
  if (!hasFirstEvent) yield ok('streams', 'a stream of events opens before it ends; when its events arrive is not checked')
  else if (hasEvent) yield ok('streams', 'the first event of a stream arrives while the stream is open')
  else yield problem('streams', `the head of a stream arrives, and its first event does not (${failure || 'the stream ended'}): a proxy may buffer it`, BUFFERED)
}

function * checkHeaders (headers: Headers): Generator<Finding> {
  const check = 'stream headers'
  const packed = headers.get('content-encoding')
  if (packed !== null && packed !== 'identity') yield warning(check, `events are compressed with ${packed}`, 'exclude text/event-stream from compression: compressors hold events back')
  if (!/no-transform|no-cache|no-store/.test(headers.get('cache-control') ?? '')) {
    yield warning(check, 'events have no Cache-Control: no-cache', 'let the proxy pass the response header Cache-Control')
  }
  if (headers.get('connection')?.toLowerCase() === 'close') {
    yield warning(check, 'each response closes its connection', 'keep connections alive between the proxy and its clients')
  }
  if (headers.get('x-accel-buffering') === 'no') yield ok(check, 'X-Accel-Buffering: no')
  else yield unchecked(check, 'X-Accel-Buffering is absent: nginx removes it, and buffers a service that does not send it')
}
