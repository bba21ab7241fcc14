import { isAnswer, type Chunk, type OutgoingEvent } from '@polyvac/core'

/** The three forms of a direct stream (contract section 2). */
export const STREAM_TYPES = { text: 'text/plain; charset=utf-8', sse: 'text/event-stream', ndjson: 'application/x-ndjson' } as const
export type StreamForm = keyof typeof STREAM_TYPES

/** How a failure is told inside a stream: the body of an ordinary error. */
export type ToFailure = (err: unknown) => object

/** `{chunk}` events as text is made, the result object, then `[DONE]`. */
export async function * toEvents (chunks: AsyncIterable<Chunk>): AsyncGenerator<OutgoingEvent> {
  for await (const chunk of chunks) {
    if (typeof chunk === 'string') yield { data: { chunk } }
    else if (isAnswer(chunk)) yield { data: chunk }
  }
  yield '[DONE]'
}

/** How an event stream ends that failed after its first byte. */
export function failureEvents (failure: object): OutgoingEvent[] {
  return [{ event: 'error', data: failure }, '[DONE]']
}

/** The objects of the event stream, a line each; a failure is a last line. */
export async function * toLines (chunks: AsyncIterable<Chunk>, toFailure: ToFailure): AsyncGenerator<string> {
  let begun = false
  try {
    for await (const chunk of chunks) {
      if (typeof chunk !== 'string' && !isAnswer(chunk)) continue
      begun = true
      yield `${JSON.stringify(typeof chunk === 'string' ? { chunk } : chunk)}\n`
    }
  } catch (err) {
    if (!begun) throw err
    yield `${JSON.stringify(toFailure(err))}\n`
  }
}

/** The text as it comes, then, on a line of its own, the result object; a failure takes its place. */
export async function * toText (chunks: AsyncIterable<Chunk>, streamOnly: boolean, toFailure: ToFailure): AsyncGenerator<string> {
  let begun = false
  try {
    for await (const chunk of chunks) {
      if (typeof chunk === 'string') {
        begun = true
        yield chunk
      } else if (isAnswer(chunk) && !streamOnly) {
        begun = true
        yield `\n${JSON.stringify(chunk)}\n`
      }
    }
  } catch (err) {
    if (!begun) throw err
    yield `\n${JSON.stringify(toFailure(err))}\n`
  }
}
