import { fastifySSE } from '@fastify/sse'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** One server-sent event. `data` leaves as JSON; a plain string, such as `[DONE]`, leaves as it is. */
export type OutgoingEvent = string | { readonly id?: string, readonly event?: string, readonly data: unknown }

/** What a stream helper needs beside its source. */
export interface StreamOptions {
  /** Fires when the client left or the application closes; see OpenStreams. */
  readonly signal: AbortSignal
  /** How a failure after the first byte is told. Before it, the failure is thrown and becomes an ordinary error. */
  readonly onFailure: (err: unknown) => readonly OutgoingEvent[]
  /** Longest silence in ms; then a comment goes out (`stream_wait_time` of the contract). Default: none. */
  readonly keepAliveMs?: number | undefined
}

/**
 * Options of every route that may stream: the handler decides, no heartbeat of its own, no timeout of a host's cuts it,
 * and a HEAD request does not run it. The serializer is named, since a host with the same SSE plugin would bring its own.
 */
export const streamRoute = {
  sse: { kind: 'manual', heartbeat: false, serializer: JSON.stringify },
  handlerTimeout: 2 ** 31 - 1,
  exposeHeadRoute: false
} as const

/** Makes `sendEvents` work in a plugin's scope. Nothing is added where the host has the SSE plugin already. */
export async function registerStreams (app: FastifyInstance): Promise<void> {
  if (!app.hasPlugin('@fastify/sse')) await app.register(fastifySSE)
}

/**
 * Sends events as they are made, at the reader's pace: the next one is asked for when the socket has room. Headers
 * leave with the first event, so a failure before it is still an ordinary error.
 * Format: WHATWG HTML, section 9.2, server-sent events.
 */
export async function sendEvents (reply: FastifyReply, events: AsyncIterable<OutgoingEvent>, options: StreamOptions): Promise<void> {
  const { signal, onFailure, keepAliveMs } = options
  const { raw } = reply
  // @fastify/sse waits for `drain` alone, which never comes once the socket is closed (fastify/sse#54)
  const onClose = (): void => { raw.emit('drain') }
  raw.once('close', onClose)
  const timer = keepAliveMs === undefined ? undefined : setTimeout(keepAlive, keepAliveMs)
  function keepAlive (): void {
    reply.sse.sendHeaders()
    // a stalled reader gets no pile of comments
    if (!raw.writableNeedDrain && !raw.writableEnded) raw.write(': keep-alive\n\n')
    timer?.refresh()
  }
  try {
    for await (const event of events) {
      if (raw.destroyed) return
      await reply.sse.send(clean(event))
      timer?.refresh()
    }
  } catch (err) {
    if (raw.destroyed) return
    if (!raw.headersSent) throw err
    if (!signal.aborted || reply.sse.isConnected) for (const event of onFailure(err)) await reply.sse.send(clean(event))
  } finally {
    clearTimeout(timer)
    raw.off('close', onClose)
  }
}

/**
 * Sends text as it is made, at the reader's pace, through the ordinary reply, so that every hook of the host applies.
 * The first piece is made before the headers leave, so a failure before it is still an ordinary error. A failure after
 * it must have become text in the source. Resolves when the reader has all, or left.
 */
export async function sendText (reply: FastifyReply, type: string, pieces: AsyncGenerator<string>): Promise<void> {
  const first = await pieces.next()
  // a client that left meanwhile has had its `close`; waiting for it would be for ever
  if (reply.raw.destroyed) {
    await pieces.return(undefined)
    return
  }
  const body = Readable.from(whole(first, pieces))
  const ended = once(reply.raw, 'close')
  reply.type(type).header('cache-control', 'no-cache').header('x-accel-buffering', 'no').send(body)
  await ended
}

async function * whole (first: IteratorResult<string>, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  if (first.done === true) return
  yield first.value
  yield * rest
}

function clean (event: OutgoingEvent): string | { id?: string, event?: string, data: unknown } {
  if (typeof event === 'string') return event
  const { id, event: name, data } = event
  if (id === undefined && name === undefined) return { data }
  return { ...(id === undefined ? {} : { id: oneLine(id) }), ...(name === undefined ? {} : { event: oneLine(name) }), data }
}

/** A line break would end the field and let a value forge others. */
function oneLine (value: string): string {
  return value.replace(/[\r\n\0]+/g, ' ')
}
