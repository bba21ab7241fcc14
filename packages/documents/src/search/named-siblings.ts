import { isUsual } from '../language/common-stems.js'
import { stemOf, stopWordsOf, type Language } from '../language/languages.js'
import { DESCRIBES, INSTANCE_NOUNS, SUFFIXES, UNSPACED_BEFORE, UNSPACED_DESCRIBES, UNSPACED_NOUNS } from '../language/names.js'
import { isNoun, type NamedText, type Naming, type Token } from './named-text.js'

/** How a text relates to a thing of which the question names another one. */
type Reader = (text: NamedText) => Naming

const WORD = /^[\p{L}\p{M}'’-]{2,}$/u
/** Suffixes that may describe the word after them. */
const DESCRIBING_SUFFIX = /^(?:max|plus|light|air|classic|prime|premium)$/
/** Verbs of questions about a thing: "How long does the Orbix max last?" */
const VERB = /^(?:last|weigh|cost|have|run|work|come|take|need|support|use|hold|record|make|fit|mean|include|offer|get)s?$/
const NAMING = /[\p{Script=Han}\p{Script=Katakana}ー]+/gu
const NAMING_END = /[\p{Script=Han}\p{Script=Katakana}ー]$/u

/** Readers of the things that a question names and that texts have others of: "Orbix Max" and "Orbix". */
export function siblingsOf (question: string, tokens: readonly Token[], language: Language, isAbsent: (word: string) => boolean): Reader[] {
  return [...suffixedOf(tokens, language, isAbsent), ...instancesOf(tokens, language, isAbsent), ...unspacedOf(question)]
}

/** "the Orbix Max" where texts have only "the Orbix". */
function suffixedOf (tokens: readonly Token[], language: Language, isAbsent: (word: string) => boolean): Reader[] {
  const stopWords = stopWordsOf(language)
  const isContent = (token: Token | undefined): token is Token => token !== undefined && WORD.test(token.text) && !stopWords.has(token.text)
  return tokens.flatMap((token, at) => {
    const [name, after] = [tokens[at - 1], tokens[at + 1]]
    if (!SUFFIXES.has(token.text) || !isContent(name) || isUsual(stemOf(name.text, 'en')) || isAbsent(name.text)) return []
    // "the Orbix max weight" is not about another Orbix, nor is "the Orbix plus shipping"
    const isCapital = /^\p{Lu}/u.test(token.raw)
    const describesNext = DESCRIBING_SUFFIX.test(token.text) && (token.text === 'plus' ? after !== undefined && WORD.test(after.text) : isContent(after) && !VERB.test(after.text) && !isAbsent(after.text))
    if (!isCapital && (language !== 'en' || describesNext)) return []
    const read: Reader = ({ tokens: all }) => {
      const places = [...all.keys()].filter(place => all[place]?.text === name.text)
      return places.some(place => all[place + 1]?.text === token.text) ? 'same' : places.length > 0 ? 'other' : 'none'
    }
    return [read]
  })
}

/** "the business plan" where texts have other plans, in a table as well. */
function instancesOf (tokens: readonly Token[], language: Language, isAbsent: (word: string) => boolean): Reader[] {
  if (language !== 'en') return []
  const stopWords = stopWordsOf(language)
  return tokens.flatMap(({ text }, at) => {
    const noun = tokens[at + 1]
    if (noun === undefined || !INSTANCE_NOUNS.has(stemOf(noun.text, 'en')) || !WORD.test(text) || stopWords.has(text) || DESCRIBES.test(text) || !isAbsent(text)) return []
    const nouns = new Set([stemOf(noun.text, 'en')])
    const isOther = (token: Token | undefined): boolean => token !== undefined && WORD.test(token.text) && !stopWords.has(token.text) && !DESCRIBES.test(token.text)
    const read: Reader = ({ tokens: all }) => all.some((one, place) => isNoun(one, nouns) && (isOther(all[place - 1]) || all[place + 1]?.text === '|')) ? 'other' : 'none'
    return [read]
  })
}

/** Chinese and Japanese: 名古屋支店 where texts have 大阪支店. */
function unspacedOf (question: string): Reader[] {
  return Array.from(question.matchAll(NAMING)).flatMap(([run]) => {
    const found = UNSPACED_NOUNS.map(noun => ({ noun, at: run.indexOf(noun) })).filter(({ at }) => at > 0).sort((a, b) => a.at - b.at || b.noun.length - a.noun.length)[0]
    if (found === undefined) return []
    const name = run.slice(0, found.at).replace(UNSPACED_BEFORE, '')
    if (name === '' || UNSPACED_DESCRIBES.test(name)) return []
    const named = name + found.noun
    const read: Reader = ({ text }) => {
      if (text.includes(named)) return 'same'
      for (let at = text.indexOf(found.noun); at >= 0; at = text.indexOf(found.noun, at + 1)) if (NAMING_END.test(text.slice(0, at))) return text.includes(name) ? 'same' : 'other'
      return 'none'
    }
    return [read]
  })
}
