import { isAnswer, type Chunk } from '@polyvac/core'
import { eventText, jsonText, type Text } from '@polyvac/core/plugin'

/** The three forms of a direct stream (contract section 2). */
export const STREAM_TYPES = { text: 'text/plain; charset=utf-8', sse: 'text/event-stream', ndjson: 'application/x-ndjson' } as const
export type StreamForm = keyof typeof STREAM_TYPES

/** The text of a stream's chunks, its end and a failure. `failure` takes the body of an ordinary error. */
export interface Frames {
  readonly chunk: (chunk: Chunk) => Text
  readonly end: string
  readonly failure: (failure: object) => string
}

const DONE = eventText({ data: '[DONE]' })

/** `{chunk}` events as text comes, `progress` events, the result object, `[DONE]`; a failure is an `error` event. */
export const eventFrames: Frames = {
  chunk: chunk => {
    if (typeof chunk === 'string') return `data: {"chunk":${JSON.stringify(chunk)}}\n\n`
    // a named event does not reach the onmessage handler of clients that expect chunks
    return isAnswer(chunk) ? jsonText('data: ', chunk, '\n\n') : eventText({ event: 'progress', data: chunk })
  },
  end: DONE,
  failure: failure => eventText({ event: 'error', data: failure }) + DONE
}

/** The objects of the event stream, one line each; a failure is the last line. */
export const lineFrames: Frames = {
  chunk: chunk => {
    if (typeof chunk === 'string') return `{"chunk":${JSON.stringify(chunk)}}\n`
    return jsonText('', chunk, '\n')
  },
  end: '',
  failure: failure => `${JSON.stringify(failure)}\n`
}

/** The text as it comes, without progress, then the result object on a separate line; a failure takes its place. */
export function textFrames (streamOnly: boolean): Frames {
  return {
    chunk: chunk => {
      if (typeof chunk === 'string') return chunk
      return isAnswer(chunk) && !streamOnly ? jsonText('\n', chunk, '\n') : ''
    },
    end: '',
    failure: failure => `\n${JSON.stringify(failure)}\n`
  }
}
