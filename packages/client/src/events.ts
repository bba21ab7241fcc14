import { createParser } from 'eventsource-parser'
import { cutError, ServiceError } from './errors.js'

/** Bytes of one event, and of a response that is not a stream. */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024

/** A server-sent event. */
export interface ServerEvent {
  readonly id?: string | undefined
  /** Its type; undefined for `message`. */
  readonly event?: string | undefined
  readonly data: string
}

/**
 * The events of a response as they arrive, without comments; a body of another type is one event. What follows the last
 * empty line of a stream is left out, as the specification demands: its event may be cut.
 * @throws STREAM_CUT, RESPONSE_TOO_LARGE; the reason of the signal
 */
export async function * readEvents (response: Response, signal?: AbortSignal): AsyncGenerator<ServerEvent, void> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    yield { data: await readText(response, signal) }
    return
  }
  // @keyed none: a list in order, of the events in one piece of one stream
  const events: ServerEvent[] = []
  let bytes = 0
  const parser = createParser({
    onEvent: event => {
      events.push(event)
      bytes = 0
    },
    onComment: () => { bytes = 0 }
  })
  const decoder = new TextDecoder()
  for await (const piece of piecesOf(response, signal)) {
    bytes += piece.byteLength
    parser.feed(decoder.decode(piece, { stream: true }))
    yield * events.splice(0)
    checkLength(bytes)
  }
}

/** The events of a whole body; the last one needs no end. */
export function parseEvents (body: string): ServerEvent[] {
  // @keyed none: a list in order, of the events of one body
  const events: ServerEvent[] = []
  createParser({ onEvent: event => { events.push(event) } }).feed(`${body}\n\n`)
  return events
}

/** The whole body of a response. @throws STREAM_CUT, RESPONSE_TOO_LARGE; the reason of the signal */
export async function readText (response: Response, signal?: AbortSignal): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const piece of piecesOf(response, signal)) {
    checkLength(bytes += piece.byteLength)
    text += decoder.decode(piece, { stream: true })
  }
  return text + decoder.decode()
}

function checkLength (bytes: number): void {
  if (bytes > MAX_EVENT_BYTES) {
    throw new ServiceError(`an event of the service is longer than ${MAX_EVENT_BYTES} bytes; ask for a shorter answer`, { code: 'RESPONSE_TOO_LARGE' })
  }
}

async function * piecesOf ({ body }: Response, signal?: AbortSignal): AsyncGenerator<Uint8Array, void> {
  if (body === null) return
  // not `for await`: older browsers cannot iterate over a body
  const reader = body.getReader()
  // fetch may forget the signal of a response whose body goes on
  const cancel = (): void => { reader.cancel().catch(() => {}) }
  signal?.addEventListener('abort', cancel)
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((err: unknown) => {
        signal?.throwIfAborted()
        throw cutError(err)
      })
      signal?.throwIfAborted()
      if (done) return
      yield value
    }
  } finally {
    signal?.removeEventListener('abort', cancel)
    cancel()
  }
}
