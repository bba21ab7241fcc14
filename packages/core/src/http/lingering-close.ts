import type { IncomingMessage } from 'node:http'
import type { FastifyReply } from 'fastify'

/** The rest of a refused body is read up to this many bytes, for this time; then the connection closes. */
const MAX_REST_BYTES = 32 * 1024 * 1024
const MAX_REST_MS = 5_000
/** How often it is checked whether the application closes. */
const TICK_MS = 50

/**
 * Lets the client of a refused body read the response. Fastify answers 413 before the body has arrived and closes the
 * connection; unread bytes would turn that into a reset, and clients that write first would see EPIPE instead of 413.
 * The response is sent at once, but ends, and with it the connection, after the rest of the body.
 */
export function lingerOnClose ({ raw, request, server: app }: FastifyReply): void {
  const { server } = app
  const { end } = raw
  raw.end = function (...args: unknown[]) {
    raw.end = end
    const [body] = args
    if (typeof body === 'string' || body instanceof Uint8Array) raw.write(body)
    readRest(request.raw, () => !server.listening, () => { raw.end() })
    return raw
  } as typeof end
}

/** Reads and drops the rest of a body; calls `onEnd` at its end, at a limit, or once `isClosing`. */
function readRest (body: IncomingMessage, isClosing: () => boolean, onEnd: () => void): void {
  const before = Date.now() + MAX_REST_MS
  let bytes = 0
  const count = (chunk: Buffer): void => {
    bytes += chunk.length
    if (bytes > MAX_REST_BYTES) done()
  }
  const timer = setInterval(() => { if (Date.now() > before || isClosing()) done() }, TICK_MS)
  const done = (): void => {
    clearInterval(timer)
    body.off('data', count).off('end', done).off('close', done)
    onEnd()
  }
  body.on('end', done).on('close', done).on('data', count)
  if (body.complete || body.destroyed) done()
}
