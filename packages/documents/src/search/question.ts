import type { ChatTurn } from '@polyvac/core'
import { refersBack } from './references.js'
import { shorten } from './search-arguments.js'

/** Turns that refer to the one before, each, until one that names its subject. */
const MAX_CHAIN = 8

const SMALL_TALK = new Set(`hi hello hey hallo moin good morning evening afternoon day thanks thank you very much ok okay
cool great bye goodbye test ping yo there help who are what can do is up how`.split(/\s+/))
/** Of other languages than English. In a question they are something else: "What is tack?" */
const FOREIGN_SMALL_TALK = new Set(`danke dankeschön vielen dank tschüss servus merci bonjour bonsoir salut hola gracias adiós ciao grazie
olá obrigado obrigada hoi dankjewel bedankt hej tack tak спасибо привет здравствуйте merhaba selam teşekkürler
مرحبا شكرا नमस्ते धन्यवाद 你好 谢谢 こんにちは ありがとう สวัสดี ขอบคุณ`.split(/\s+/))

const ASKS_FOR_CODE = /\bhow (?:do|can|to|would|should|does one)\b|\b(?:example|snippet|command|syntax|code|install|run|usage)\b/i

export interface Question {
  /** The text of the caller. */
  readonly text: string
  /** The search query: the question, followed by the turns that it refers to. */
  readonly query: string
  /** The question, cut to the longest query. */
  readonly own: string
  /** The turns that the question refers to, the last one first: those after it refer to the last of them. */
  readonly borrowed?: readonly [string, ...string[]] | undefined
  /** Not a question: a greeting, thanks, or a text without words. */
  readonly smallTalk: boolean
}

export function readQuestion (text: string, history: readonly ChatTurn[]): Question {
  const asked = shorten(text.trim())
  const plain = wordsOf(asked)
  const asks = /\?|what|how/i.test(asked)
  const smallTalk = isSmallTalk(plain, asks)
  const borrowed = plain.length > 0 && !(smallTalk && !asks) ? chainOf(text, history) : undefined
  if (borrowed === undefined) return { text, own: asked, query: asked, smallTalk }
  return { text, own: asked, query: [asked, ...borrowed].join('\n'), borrowed, smallTalk: false }
}

/** The turns of the user that a question refers to, down to one that names its subject. */
function chainOf (text: string, history: readonly ChatTurn[]): Question['borrowed'] {
  const turns = history.filter(({ role, content }) => role === 'user' && content !== text && !isSmallTalk(wordsOf(content), content.includes('?')))
    .slice(-MAX_CHAIN).map(({ content }) => shorten(content.trim()))
  const [last, ...earlier] = turns.reverse()
  if (last === undefined || !refersBack(text, last)) return undefined
  const borrowed: [string, ...string[]] = [last]
  for (const turn of earlier) {
    if (!refersBack(borrowed.at(-1) as string, turn)) break
    borrowed.push(turn)
  }
  return borrowed
}

function wordsOf (text: string): readonly string[] { return text.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu) ?? [] }

function isSmallTalk (words: readonly string[], asks: boolean): boolean {
  const isSmall = (word: string): boolean => SMALL_TALK.has(word) || (!asks && FOREIGN_SMALL_TALK.has(word))
  return words.length === 0 || (words.length <= 5 && words.every(isSmall))
}

/** Whether code may answer a question. */
export function asksForCode (question: string): boolean {
  return ASKS_FOR_CODE.test(question)
}
