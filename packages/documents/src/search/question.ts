import type { ChatTurn } from '@polyvac/core'
import { queryWords } from '../language/terms.js'
import { shorten } from './search-arguments.js'
import { languageOf, stopWordsOf } from '../language/languages.js'

/** A question with fewer informative words than this uses those of the last question, too. */
const MIN_CONTENT_WORDS = 3

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
  /** The search query: the question, followed by the last user turn where it is a follow-up. */
  readonly query: string
  /** The question, cut to the longest query. */
  readonly own: string
  /** The last user turn, where its words are part of the query. */
  readonly borrowed?: string | undefined
  /** Not a question: a greeting, thanks, or a text without words. */
  readonly smallTalk: boolean
}

export function readQuestion (text: string, history: readonly ChatTurn[]): Question {
  const asked = shorten(text.trim())
  const plain = asked.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  const last = history.findLast(turn => turn.role === 'user' && turn.content.trim() !== '' && turn.content !== text)
  const asks = /\?|what|how/i.test(asked)
  const isSmall = (word: string): boolean => SMALL_TALK.has(word) || (!asks && FOREIGN_SMALL_TALK.has(word))
  const smallTalk = plain.length === 0 || (plain.length <= 5 && plain.every(isSmall))
  const isReply = last !== undefined && plain.length > 0 && !(smallTalk && !asks)
  if (isReply && countContentWords(asked) < MIN_CONTENT_WORDS) {
    const borrowed = shorten(last.content.trim())
    return { text, own: asked, query: `${asked}\n${borrowed}`, borrowed, smallTalk: false }
  }
  return { text, own: asked, query: asked, smallTalk }
}

/** Whether code may answer a question. */
export function asksForCode (question: string): boolean {
  return ASKS_FOR_CODE.test(question)
}

function countContentWords (text: string): number {
  const stopWords = stopWordsOf(languageOf(text) ?? 'en')
  return queryWords(text).filter(word => !stopWords.has(word.text)).length
}
