import { fastifySSE } from '@fastify/sse'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { isDestroyed, needsDrain } from './client-disconnect.js'
import { OpenStreams } from './open-streams.js'
import { commentText, type Text, type TextPieces } from './stream-text.js'
import { readEach } from '../interpreter/read-each.js'
import { yieldToEventLoop } from '../basics/turns.js'
import type { AbortSignalLike } from '../basics/light-abort.js'

/** How the items of a stream become text. */
export interface Encoding<T> {
  /** The text of one item, a large one in pieces; an empty text skips it. */
  readonly encode: (item: T) => Text
  /** The text after the last item. */
  readonly end?: string | undefined
  /** The text for a failure after the first byte. A failure before it is thrown and becomes an ordinary error. */
  readonly onFailure: (err: unknown) => string
  /** Fires when the client disconnects or the application closes; see OpenStreams. */
  readonly signal: AbortSignalLike
  /**
   * Longest time in ms that a reader may take nothing; then it is disconnected, since stalled readers would hold all
   * slots for answers. Default 60,000.
   */
  readonly stallMs?: number | undefined
}

/** Encoding of an event stream. */
export interface EventEncoding<T> extends Encoding<T> {
  /** Longest silence in ms; then a keep-alive is sent (`stream_wait_time` of the contract). Default: none. */
  readonly keepAliveMs?: number | undefined
  /** The keep-alive, whole events. Default: a comment, which some readers do not count. */
  readonly keepAlive?: (() => string) | undefined
  /** The text before the first item, whole events. It goes out with the first item, or after `openAfterMs`. */
  readonly open?: (() => string) | undefined
  /** Default 0: at once, so that a failure before the first item is one after the first byte. */
  readonly openAfterMs?: number | undefined
}

/** Longest time in ms that a reader may take nothing, where the application sets none. */
export const MAX_STALL_MS = 60_000

/** Items that are ready at once are written together, up to about so many characters. */
const BATCH_CHARS = 16 * 1024

/**
 * Options of every route that may stream: the handler decides whether it does, the SSE plugin sends no heartbeat, and
 * HEAD requests do not run it. The serializer is set here because a host with the same SSE plugin may set another one.
 */
export const streamRoute = {
  sse: { kind: 'manual', heartbeat: false, serializer: JSON.stringify },
  exposeHeadRoute: false
} as const

/**
 * Options of a route whose calls have their own timeout, which may be longer than the host's `handlerTimeout`. Where
 * the host sets none, none is set: it costs every request an AbortController and a timer.
 */
export function ownTime (app: FastifyInstance): { handlerTimeout?: number } {
  const { handlerTimeout = 0 } = app.initialConfig as { handlerTimeout?: number }
  return handlerTimeout > 0 ? { handlerTimeout: 2 ** 31 - 1 } : {}
}

/** Prepares a plugin's scope for `sendEvents` and streaming routes. It adds the SSE plugin where the host has none. */
export async function registerStreams (app: FastifyInstance): Promise<void> {
  app.addHook('onRoute', route => { if (route.sse === streamRoute.sse) Object.assign(route, ownTime(app)) })
  if (!app.hasPlugin('@fastify/sse')) await app.register(fastifySSE)
}

const KEEP_ALIVE = commentText('keep-alive')

/**
 * Sends items as server-sent events as they come, at the reader's pace. Headers are sent with the first event, so that
 * a failure before it is an ordinary error.
 */
export async function sendEvents<T> (reply: FastifyReply, items: AsyncIterable<T>,
  { keepAliveMs, keepAlive: keepAliveText, open, openAfterMs = 0, ...encoding }: EventEncoding<T>): Promise<void> {
  const { raw } = reply
  let isBetween = true
  let opening = open
  const timer = keepAliveMs === undefined ? undefined : setTimeout(keepAlive, keepAliveMs)
  const opener = open === undefined || openAfterMs === 0 ? undefined : setTimeout(sendOpening, openAfterMs)
  function takeOpening (): string {
    const text = opening?.() ?? ''
    opening = undefined
    return text
  }
  function sendOpening (): void {
    if (opening === undefined || isDestroyed(raw)) return
    reply.sse.sendHeaders()
    raw.write(takeOpening())
  }
  function keepAlive (): void {
    sendOpening()
    reply.sse.sendHeaders()
    // they must not pile up for a stalled reader, nor stand within the data of a large event
    if (isBetween && !needsDrain(raw) && !raw.writableEnded) raw.write(keepAliveText?.() ?? KEEP_ALIVE)
    timer?.refresh()
  }
  if (openAfterMs === 0) sendOpening()
  try {
    await pump(items, encoding, {
      begun: () => raw.headersSent,
      gone: () => isDestroyed(raw),
      write (text) {
        reply.sse.sendHeaders()
        timer?.refresh()
        isBetween = text.endsWith('\n')
        if (raw.write(opening === undefined ? text : takeOpening() + text)) return undefined
        return waitFor(reply, encoding, done => {
          raw.on('drain', done)
          return () => { raw.off('drain', done) }
        })
      }
    })
  } finally {
    clearTimeout(timer)
    clearTimeout(opener)
  }
}

/**
 * Sends items as text as they come, at the reader's pace, through the ordinary reply, so that every hook of the host
 * applies. A failure before the first text is an ordinary error. Resolves when the reader has everything, or
 * disconnects.
 */
export async function sendText<T> (reply: FastifyReply, type: string, items: AsyncIterable<T>, encoding: Encoding<T>): Promise<void> {
  let room: (() => void) | undefined
  let begun = false
  const body = new Readable({ read: () => room?.(), destroy (err, done) { room?.(); done(err) } })
  function begin (): void {
    begun = true
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-cache')
    reply.type(type).header('x-accel-buffering', 'no').send(body)
  }
  await pump(items, encoding, {
    begun: () => begun,
    gone: () => body.destroyed || isDestroyed(reply.raw),
    write (text) {
      if (!begun) begin()
      if (body.push(text)) return undefined
      return waitFor(reply, encoding, done => {
        room = done
        return () => { room = undefined }
      })
    }
  })
  if (isDestroyed(reply.raw)) {
    body.destroy()
    return
  }
  if (!begun) begin()
  body.push(null)
  await waitFor(reply, encoding, done => {
    reply.raw.once('finish', done)
    return () => { reply.raw.off('finish', done) }
  })
}

/** The receiver of batches. */
interface Sink {
  /** Whether anything has been sent. */
  begun (): boolean
  /** Whether the reader has disconnected. */
  gone (): boolean
  /** Takes a batch. A promise means that the buffer is full until it resolves. */
  write (text: string): Promise<void> | undefined
}

/**
 * Reads, encodes and writes. Items that are ready at once are written together; as soon as the source has to be
 * awaited, the batch is written (`nextTick` runs after the last ready promise). Batches therefore do not delay text.
 */
async function pump<T> (items: AsyncIterable<T>, { encode, end = '', onFailure }: Encoding<T>, sink: Sink): Promise<void> {
  let batch = ''
  let scheduled = false
  let room: Promise<void> | undefined
  OpenStreams.count++
  const flush = (): void => {
    scheduled = false
    if (batch === '' || room !== undefined || sink.gone()) return
    const text = batch
    batch = ''
    room = sink.write(text)
  }
  /** Whether the reader still is there, once there is room. */
  const untilRoom = async (): Promise<boolean> => {
    while (room !== undefined) {
      await room
      room = undefined
      flush()
    }
    return !sink.gone()
  }
  const takePieces = async (pieces: TextPieces): Promise<boolean> => {
    for (const piece of pieces) {
      await yieldToEventLoop()
      batch += piece
      flush()
      if (!await untilRoom()) return false
    }
    return true
  }
  const take = (item: T): boolean | Promise<boolean> => {
    const text = encode(item)
    if (typeof text !== 'string') return takePieces(text)
    batch += text
    if (batch.length >= BATCH_CHARS) flush()
    else if (!scheduled && batch !== '') {
      scheduled = true
      process.nextTick(flush)
    }
    return room === undefined ? !sink.gone() : untilRoom()
  }
  try {
    await readEach(items, take)
    batch += end
  } catch (err) {
    if (sink.gone()) return
    if (!sink.begun() && batch === '') throw err
    batch += onFailure(err)
  } finally {
    OpenStreams.count--
  }
  flush()
  await untilRoom()
}

/** Waits for the event of `listen`, or for the reader to disconnect; after `stallMs` it disconnects the reader. */
function waitFor ({ raw }: FastifyReply, { signal, stallMs = MAX_STALL_MS }: Encoding<never>,
  listen: (done: () => void) => () => void): Promise<void> {
  return new Promise(resolve => {
    const done = (): void => {
      clearTimeout(timer)
      unlisten()
      raw.off('close', done)
      signal.removeEventListener('abort', leave)
      resolve()
    }
    const leave = (): void => { if (isDestroyed(raw)) done() }
    const timer = setTimeout(() => {
      raw.destroy()
      done()
    }, stallMs)
    const unlisten = listen(done)
    raw.on('close', done)
    signal.addEventListener('abort', leave)
    leave()
  })
}
