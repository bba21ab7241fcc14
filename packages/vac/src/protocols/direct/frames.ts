import { isAnswer, type Chunk } from '@polyvac/core'
import { eventText, joinTexts, jsonText, type Failure } from '@polyvac/core/protocol'
import { EVENT_STREAM, type StreamFormat } from '../../protocol.js'

const DONE = eventText({ data: '[DONE]' })

/**
 * `{chunk}` events as text comes, `progress` events, the result object, `[DONE]`; a failure is an `error` event.
 * @param keepAliveMs longest silence; 0 for none, undefined for the default
 */
export function eventFrames (keepAliveMs: number | undefined): StreamFormat {
  return { type: EVENT_STREAM, encode: toEvent, restart: toRestart, end: DONE, toFailure: toErrorEvent, keepAliveMs }
}

function toEvent (chunk: Chunk, seq?: number): ReturnType<typeof jsonText> {
  if (seq !== undefined) return joinTexts([`id: ${seq}\n`, toEvent(chunk)])
  if (typeof chunk === 'string') return `data: {"chunk":${JSON.stringify(chunk)}}\n\n`
  // a named event does not reach the onmessage handler of clients that expect chunks
  return isAnswer(chunk) ? jsonText('data: ', chunk, '\n\n') : eventText({ event: 'progress', data: chunk })
}

function toRestart (seq?: number): string {
  return eventText({ ...seq !== undefined && { id: String(seq) }, event: 'restart', data: { restart: true } })
}

function toErrorEvent ({ body }: Failure): string {
  return eventText({ event: 'error', data: body }) + DONE
}

/** The objects of the event stream, one line each; a failure is the last line. */
export const lineFrames: StreamFormat = {
  type: 'application/x-ndjson',
  encode: (chunk, seq) => {
    if (typeof chunk === 'string') return `{"chunk":${JSON.stringify(chunk)}${seq === undefined ? '' : `,"seq":${seq}`}}\n`
    return jsonText('', seq === undefined ? chunk : { ...chunk, seq }, '\n')
  },
  restart: seq => `${JSON.stringify({ restart: true, seq })}\n`,
  toFailure: ({ body }) => `${JSON.stringify(body)}\n`
}

/** The text as it comes, without progress, then the result object on a separate line; a failure takes its place. */
export const textFrames: StreamFormat = {
  type: 'text/plain; charset=utf-8',
  encode: chunk => {
    if (typeof chunk === 'string') return chunk
    return isAnswer(chunk) ? jsonText('\n', chunk, '\n') : ''
  },
  toFailure: ({ body }) => `\n${JSON.stringify(body)}\n`
}

/** The text as it comes, and nothing else. */
export const bareTextFrames: StreamFormat = { ...textFrames, encode: chunk => typeof chunk === 'string' ? chunk : '' }
