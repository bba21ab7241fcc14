import type { Answer, Vac } from '@polyvac/core'
import { isAnswer } from '@polyvac/core'
import { Type, type Static } from '@sinclair/typebox'
import type { Asked, ChatRequest } from '../../protocol.js'

/** The address of a source of an answer. */
export const SourceAddress = Type.Object({
  index: Type.Integer({ minimum: 0, description: 'place of the source in `source_documents`' }),
  title: Type.String(),
  url: Type.String({ description: 'of the source, or of this service, where it shows the passage' })
}, { title: 'SourceAddress' })

/** The addresses of the sources that have one, each once. */
export function addressesOf (cite: ChatRequest['cite'], vac: Vac, answer: Pick<Answer, 'answer' | 'source_documents'>): Array<Static<typeof SourceAddress>> {
  return cite(vac, { ...answer, answer: '' }).map(({ index, title, url }) => ({ index, title, url }))
}

/** Whether the body asks for citations. It takes the field out, as interpreters get the other ones. */
export function takeCitations (fields: Record<string, unknown>): boolean {
  if (fields.citations !== true) return false
  delete fields.citations
  return true
}

/** The same with the addresses of the sources in the result object. */
export function withCitations (asked: Asked, cite: ChatRequest['cite']): Asked {
  const { format, vac } = asked
  const cited = <Result extends Answer>(answer: Result): Result => {
    const citations = addressesOf(cite, vac, answer)
    return citations.length === 0 ? answer : { ...answer, citations }
  }
  return {
    ...asked,
    format: 'toBody' in format
      ? { ...format, toBody: (answer, steps) => format.toBody(cited(answer), steps) }
      : { ...format, encode: (chunk, seq) => format.encode(typeof chunk !== 'string' && isAnswer(chunk) ? cited(chunk) : chunk, seq) }
  }
}
