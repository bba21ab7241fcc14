import { encodeChunk, type ByKind } from '@polyvac/core/protocol'
import { AnswerText } from '../../chat/answer-text.js'
import { CUT, type StreamFormat } from '../../protocol.js'

const nothing = (): string => ''

/** The text of an answer and nothing else. A failure cuts the reader off: a proper end would be that of the answer. */
export function textFormat (): StreamFormat {
  const text = new AnswerText()
  const add = (more: string): string => {
    text.add(more)
    return more
  }
  const table: ByKind<string> = {
    text: add,
    answer: answer => add(text.rest(answer)),
    progress: nothing,
    tool_call: nothing,
    tool_result: nothing,
    span: nothing,
    reasoning: nothing,
    source: nothing,
    data: nothing,
    file: nothing
  }
  return {
    type: 'text/plain; charset=utf-8',
    encode: chunk => encodeChunk(table, chunk),
    restart: () => text.said === '' ? '' : CUT,
    toFailure: ({ body }) => body.error.code === 'RUN_CANCELLED' ? '' : CUT
  }
}
