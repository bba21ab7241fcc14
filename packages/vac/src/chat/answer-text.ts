import type { Answer } from '@polyvac/core'
import { askedBack } from '@polyvac/core/protocol'

/** The text of an answer as its readers have it, who cannot take text back. */
export class AnswerText {
  said = ''

  add (text: string): void { this.said += text }

  /**
   * What readers have not of the whole answer, and of the question that it ends with. An answer that does not continue
   * the text leaves it unchanged.
   */
  rest (answer: Answer): string {
    const { said } = this
    const rest = answer.answer.startsWith(said) ? answer.answer.slice(said.length) : ''
    const question = askedBack(answer)?.text ?? ''
    const whole = said + rest
    if (whole.includes(question)) return rest
    return `${rest}${whole === '' ? '' : '\n\n'}${question}`
  }
}
