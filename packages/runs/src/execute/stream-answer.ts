import { isAnswer, type Answer } from '@polyvac/core'
import type { PlacedCall } from '@polyvac/core/plugin'
import { AnswerWriter } from './answer-writer.js'
import type { Run } from './run.js'

/** Ends a task with its answer. What `writer` holds comes before: flush it first. Resolves to the state. */
export type EndAnswer = (answer: Answer, writer: AnswerWriter) => Promise<string>

/** Writes the text and the progress of a stream into the log of its task; `end` writes the end. */
export async function streamAnswer (run: Run, call: PlacedCall, end: EndAnswer): Promise<string> {
  const { skill, task, context, record } = run
  const streamed: PlacedCall = { ...call, streamedOnly: true }
  const writer = new AnswerWriter(context, task.progress)
  try {
    for await (const chunk of skill.vac.stream(streamed)) {
      record.chunk(chunk)
      if (typeof chunk !== 'string' && isAnswer(chunk)) return await end(chunk, writer)
      await writer.write(chunk)
    }
    return 'ended'
  } finally {
    writer.end()
  }
}
