import { isStep, type Chunk, type Step } from '@polyvac/core'
import { encodeChunk, eventText, joinTexts, jsonString, jsonText, type ByKind, type Failure, type Text } from '@polyvac/core/protocol'
import { EVENT_STREAM, type StreamFormat } from '../../protocol.js'

const DONE = eventText({ data: '[DONE]' })

/**
 * `{chunk}` events as text comes, `progress` events, the result object, `[DONE]`; a failure is an `error` event.
 * @param keepAliveMs longest silence; 0 for none, undefined for the default
 */
export function eventFrames (keepAliveMs: number | undefined): StreamFormat {
  return { type: EVENT_STREAM, encode: toEvent, restart: toRestart, end: DONE, toFailure: toErrorEvent, keepAliveMs }
}

function toEvent (chunk: Chunk, seq?: number): Text {
  const event = encodeChunk(EVENTS, chunk)
  return seq === undefined ? event : joinTexts([`id: ${seq}\n`, event])
}

/** The same text for each kind of step. */
function forSteps (encode: (step: Step) => Text): Omit<ByKind<Text>, 'text' | 'progress' | 'answer'> {
  return { tool_call: encode, tool_result: encode, span: encode, reasoning: encode, source: encode, data: encode, file: encode }
}

// a named event does not reach the onmessage handler of clients that expect chunks
const EVENTS: ByKind<Text> = {
  text: chunk => `data: {"chunk":${jsonString(chunk)}}\n\n`,
  progress: chunk => eventText({ event: 'progress', data: chunk }),
  answer: chunk => jsonText('data: ', chunk, '\n\n'),
  ...forSteps(step => jsonText('event: step\ndata: ', step, '\n\n'))
}

function toRestart (seq?: number): string {
  return eventText({ ...seq !== undefined && { id: String(seq) }, event: 'restart', data: { restart: true } })
}

function toErrorEvent ({ body }: Failure): string {
  return eventText({ event: 'error', data: body }) + DONE
}

const LINES: ByKind<Text> = {
  text: chunk => `{"chunk":${jsonString(chunk)}}\n`,
  progress: chunk => jsonText('', chunk, '\n'),
  answer: chunk => jsonText('', chunk, '\n'),
  ...forSteps(step => jsonText('', { step }, '\n'))
}

/** The objects of the event stream, one line each; a failure is the last line. */
export const lineFrames: StreamFormat = {
  type: 'application/x-ndjson',
  encode: (chunk, seq) => {
    if (seq === undefined) return encodeChunk(LINES, chunk)
    return jsonText('', { ...typeof chunk === 'string' ? { chunk } : isStep(chunk) ? { step: chunk } : chunk, seq }, '\n')
  },
  restart: seq => `${JSON.stringify({ restart: true, seq })}\n`,
  toFailure: ({ body }) => `${JSON.stringify(body)}\n`
}

const nothing = (): string => ''

const TEXT: ByKind<Text> = {
  text: chunk => chunk,
  progress: nothing,
  answer: chunk => jsonText('\n', chunk, '\n'),
  ...forSteps(nothing)
}

/** The text as it comes, and nothing else until the result object on a separate line; a failure takes its place. */
export const textFrames: StreamFormat = {
  type: 'text/plain; charset=utf-8',
  encode: chunk => encodeChunk(TEXT, chunk),
  toFailure: ({ body }) => `\n${JSON.stringify(body)}\n`
}

/** The text as it comes, and nothing else. */
export const bareTextFrames: StreamFormat = { ...textFrames, encode: chunk => typeof chunk === 'string' ? chunk : '' }
