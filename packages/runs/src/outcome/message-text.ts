import type { Answer } from '@polyvac/core'
import { askedBack } from '@polyvac/core/plugin'

/** Whether an answer ends as a message: a question, a refusal, small talk. */
export function isMessage (answer: Answer): boolean {
  return askedBack(answer) !== undefined || answer.rejected === true || answer.as_message === true
}

/** The text of an answer that ends as a message. */
export function messageText (answer: Answer): string {
  const request = askedBack(answer)
  return request === undefined ? answer.answer : questionWith(answer.answer, request)
}

/** The question, or the answer where the question is its end or has no text. */
function questionWith (answer: string, { kind, text }: NonNullable<ReturnType<typeof askedBack>>): string {
  const [before, question] = [answer.trim(), text.trim()]
  if (question === '' && before === '') return kind === 'input' ? 'the VAC asks for input' : 'the VAC asks for an authorization'
  return question === '' || (before !== question && endsWith(before, question)) ? answer : text
}

/** The text of a message, unless it was streamed or is the end of what was. */
export function unsaid (text: string, streamed: string | undefined): string {
  if (streamed === undefined) return text
  if (text.trim() === '') return ''
  return endsWith(streamed.trimEnd(), text.trim()) ? '' : text
}

/** Whether a text ends with another one, and not within a word. */
function endsWith (text: string, end: string): boolean {
  return text.endsWith(end) && !/[\p{L}\p{N}]$/u.test(text.slice(Math.max(0, text.length - end.length - 2), -end.length || undefined))
}
