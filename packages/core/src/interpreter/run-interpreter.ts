import { VacInvalidResultError } from '../basics/errors.js'
import { isAnswer } from '../vac/chunk.js'
import { InterpreterRun, type Run } from './interpreter-run.js'
import type { PlacedCall } from '../limits/call-place.js'
import type { Answer, Chunk } from '../vac/vac.js'

/**
 * Runs an interpreter of any of the five forms as one stream: text and progress as they come, the Answer last. An
 * answer that was not streamed is sent before it. A text of more than 256 Ki characters becomes several chunks. The
 * reader sets the pace: the next chunk is pulled when the last one was taken. Leaving the loop, the call's signal and
 * the timeout abort `extra.signal`; the run does not wait for an interpreter that ignores it.
 */
export function runInterpreter (run: Run, call: PlacedCall): AsyncIterableIterator<Chunk> {
  return new InterpreterRun(run, call)
}

/** Runs an interpreter to its end and returns only the Answer. */
export function askInterpreter (run: Run, call: PlacedCall): Promise<Answer> {
  return new InterpreterRun(run, call).answer()
}

/**
 * Reads a stream to its end and returns the Answer.
 * @example const { answer } = await collect(vacs.get('docs').stream({ question: 'How do I start?' }))
 */
export async function collect (stream: AsyncIterable<Chunk>): Promise<Answer> {
  for await (const chunk of stream) if (isAnswer(chunk)) return chunk
  throw new VacInvalidResultError('this stream', 'no answer at all')
}
