import { sendEvents, sendText, type AbortSignalLike, type Text } from '@polyvac/core/plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { CUT, EVENT_STREAM, type StreamFormat } from '../protocol.js'
import { loggedFailure } from './failures.js'
import type { Served } from './served.js'

/** The shortest silence before a keep-alive, in ms. */
const MIN_KEEP_ALIVE_MS = 100

interface Frames<Item> {
  readonly format: StreamFormat
  readonly signal: AbortSignalLike
  readonly encode: (item: Item) => Text
  /** Silence in ms before the text before the first item is sent without it. Default 0. */
  readonly openAfterMs?: number | undefined
  /** Called with a failure before it is sent. */
  readonly onFailure?: (err: unknown) => void
}

/** Sends items as events or as text, in the format of a question. */
export async function sendFrames<Item> ({ stallMs, keepAliveMs: usual }: Served, request: FastifyRequest, reply: FastifyReply, items: AsyncIterable<Item>,
  { format, signal, encode, openAfterMs, onFailure: noteFailure }: Frames<Item>): Promise<void> {
  const { type, headers, end, open, keepAlive, keepAliveMs: silence = usual } = format
  const onFailure = (err: unknown): string => {
    noteFailure?.(err)
    const text = format.toFailure(loggedFailure(err, request))
    return text === CUT ? cut(reply.raw) : text
  }
  if (headers !== undefined) reply.headers(headers)
  if (type !== EVENT_STREAM) return await sendText(reply, type, items, { encode, end, onFailure, signal, stallMs })
  const keepAliveMs = silence === 0 ? undefined : Math.max(MIN_KEEP_ALIVE_MS, silence)
  await sendEvents(reply, items, { encode, end, onFailure, signal, stallMs, keepAliveMs, keepAlive, open, openAfterMs })
}

/** Disconnects a reader, to whom a proper end would be that of the answer. */
export function cut (raw: FastifyReply['raw']): '' {
  raw.destroy()
  return ''
}
