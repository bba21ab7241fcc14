import { isUsual } from '../language/common-stems.js'
import { stemOf, stopWordsOf, type Language } from '../language/languages.js'
import { FAMILIES, ID_NOUNS, KNOWN_ABBREVIATIONS, numberOf } from '../language/names.js'
import { signedNamesIn } from '../language/terms.js'
import { BETWEEN, COUNTED, LETTER, NUMBER, readCode, readCounted, readLetter, readNumber, readVariant, ROMAN } from './named-readers.js'
import { siblingsOf } from './named-siblings.js'
import { isNoun, keyOf, NamedText, tokensOf, type Naming, type Token } from './named-text.js'

/** A number, code, letter, ordinal or the like that a question names: "error 1049", "P-30", "the third floor". */
interface Named {
  /** Compares a text, with its headings and the name of its file. */
  readonly read: (text: NamedText) => Naming
  /** Whether no text without it answers, also where nothing of its kind is named anywhere. */
  readonly isCertain: boolean
  /** Whether no text without it answers where another has it. */
  readonly isOnly?: boolean
}

/** "10.20.0.11" */
const ADDRESS = /^\d+(?:\.\d+){3,}$/
const CODE = /^(?=.*\d)(?=.*[\p{L}\-/])[\p{L}\p{N}]+(?:[-/._][\p{L}\p{N}]+)*$/u
/** A quantity in one word, an ordinal, a time, a day or a range: "20mg", "3rd", "10pm", "2024-05-01", "5-10". */
const QUANTITY = /^\d+(?:[.,]\d+)*(?:[kmgt]i?b|[kmcnµ]?m|[kmµ]?g|m?l|ms|[shdxkva%°]|min|am|pm|°c|kw|w|ma|nm|[kmg]?hz|px|pt|r?em|st|nd|rd|th|er|ère|ème)s?$|^\d+-(?:year|day|hour|minute|month|week|person|mm|cm|m|kg|g|mg|ml|l|gb|mb|bit|byte|volt)s?$|^\d{4}-\d\d-\d\d$|^\d+[-–/]\d+$|^q[1-4]$/u
const SMALL_LETTER = /^(?:[b-hj-z]|x{1,3}[sl])$/
const YEAR = /^(?:1[5-9]|20)\d\d$/
const UNIT = /^(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|times?|people|persons?|percent|[kmgt]i?b|ms|s|min|h|km|cm|mm|m|kg|g|mg|l|ml|€|%|\$|£|euros?|dollars?|pounds?|uhr|jahren?|tagen?|stunden|minuten|personen|ans?|jours?|heures?|años|días|horas|personas)$/
/** Most named tokens of a question that are compared. */
const MAX_NAMED = 4

/** What a question names that a text must have to answer it. */
export class NamedTokens {
  readonly #named: readonly Named[]

  /**
   * @param language that of the question; where it is not known, only numbers, codes and letters are names
   * @param isAbsent whether no text has a word
   */
  constructor (question: string, language: Language | undefined, isAbsent: (word: string) => boolean = () => false) {
    const asked = question.normalize('NFKC')
    const tokens = tokensOf(asked)
    this.#named = [...namedOf(asked, tokens, language ?? 'en'), ...language === undefined ? [] : absentOf(tokens, language, isAbsent),
      ...siblingsOf(asked, tokens, language ?? 'en', isAbsent).map(read => ({ isCertain: false, read }))].slice(0, MAX_NAMED)
  }

  /** Whether the question names nothing. */
  get isEmpty (): boolean { return this.#named.length === 0 }

  /** For each text, whether it is about another number, code or variant than the question, or about none. */
  others (texts: readonly NamedText[]): boolean[] {
    const others = texts.map(() => false)
    for (const { read, isCertain, isOnly } of this.#named) {
      const readings = texts.map(text => read(text))
      const isKnown = readings.includes('same')
      const hasOthers = readings.includes('other')
      const isOther = (reading: Naming): boolean => reading === 'other' || (reading === 'maybe' && (isKnown || hasOthers)) ||
        (reading === 'none' && isKnown && isOnly === true) || (reading === 'none' && !isKnown && (hasOthers || (isCertain && !readings.includes('maybe'))))
      for (const [at, reading] of readings.entries()) if (isOther(reading)) others[at] = true
    }
    return others
  }

  /** Whether a sentence or row is about another number, code or variant than the question. */
  isOther (text: string): boolean {
    if (this.isEmpty) return false
    const read = new NamedText(text)
    return this.#named.some(named => named.read(read) === 'other')
  }
}

function namedOf (question: string, tokens: readonly Token[], language: Language): Named[] {
  const named: Named[] = []
  const stopWords = stopWordsOf(language)
  const isContent = (token: Token | undefined): boolean => token !== undefined && /^[\p{L}\p{M}'’.#+-]{2,}$/u.test(token.text) && !stopWords.has(token.text)
  for (const [at, token] of tokens.entries()) {
    const [before, after] = [tokens[at - 1], tokens[at + 1]]
    const noun = isContent(before) || before?.text === '§' ? before : BETWEEN.has(before?.text ?? '') && isContent(tokens[at - 2]) ? tokens[at - 2] : undefined
    const isId = noun !== undefined && (ID_NOUNS.has(stemOf(noun.text, 'en')) || ID_NOUNS.has(noun.text))
    if (NUMBER.test(token.text) && !ADDRESS.test(token.text)) {
      if (noun === undefined || isQuantity(token, noun, after, isId, language) || isExempt(question, noun)) continue
      named.push({ isCertain: isId, read: text => readNumber(text, stems(noun.text, language), token.text, isId) })
    } else if ((CODE.test(token.text) || ADDRESS.test(token.text)) && /\d/.test(token.text) && !QUANTITY.test(token.text) && !KNOWN_ABBREVIATIONS.has(keyOf(token.text))) {
      named.push({ isCertain: /[-/]|\d\d/.test(token.text), read: text => readCode(text, token.text) })
    } else if (noun !== undefined && (ROMAN.test(token.text) || LETTER.test(token.raw) || (SMALL_LETTER.test(token.text) && (after === undefined || !isContent(after))))) {
      named.push({ isCertain: false, read: text => readLetter(text, stems(noun.text, language), token.text) })
    }
  }
  // "What does C need?", "the C team", but not the first word: "W" begins questions in Polish
  for (const [at, { text, raw }] of tokens.entries()) {
    if (at > 0 && /^[B-HJ-Z]$/.test(raw) && !isContent(tokens[at - 1]) && !/^[&/'’.-]$/.test(tokens[at - 1]?.text ?? '') && !/^[&/+#'’.-]$/.test(tokens[at + 1]?.text ?? '')) {
      named.push({ isCertain: false, isOnly: true, read: ({ tokens: all }) => all.some((one, place) => one.text === text && one.raw !== text && !/^[&/+#'’]$/.test(all[place + 1]?.text ?? '')) ? 'same' : 'none' })
    }
  }
  for (const { 0: all, 1: first = '', 2: numeral = '', 3: kind = '' } of question.matchAll(COUNTED)) {
    const value = numberOf(numeral)
    if (value !== undefined) named.push({ isCertain: first !== '' && all !== '', read: text => readCounted(text, value, kind) })
  }
  for (const name of signedNamesIn(question)) {
    named.push({ isCertain: false, isOnly: true, read: ({ text }) => signedNamesIn(text).includes(name) ? 'same' : 'none' })
  }
  return [...named, ...variantsOf(tokens, language, isContent)]
}

function stems (word: string, language: Language): ReadonlySet<string> {
  return new Set([stemOf(word, language), stemOf(word, 'en'), word])
}

/** Whether a number counts what follows it: "wait 10 seconds", "upload 3 files"; or is a year. */
function isQuantity ({ text }: Token, noun: Token, after: Token | undefined, isId: boolean, language: Language): boolean {
  if (isId) return false
  if (YEAR.test(text) || noun.text === 'top' || UNIT.test(after?.text ?? '')) return true
  if (after === undefined || !/^\p{L}{3,}$/u.test(after.text)) return false
  return language === 'de' ? /^\p{Lu}/u.test(after.raw) && !/^\p{Lu}/u.test(noun.raw) : /[^s]s$/.test(after.text) && !stopWordsOf(language).has(after.text)
}

/** A port that is said to be in use, or is to be set, names nothing of the documents. */
function isExempt (question: string, { text }: Token): boolean {
  return text === 'port' && (/in use|busy|taken|blocked|belegt|occup/i.test(question) || /(?:\b(?:on|to|from|use|using|auf|sur|en)) (?:the )?port/i.test(question))
}

/** Ordinals, colours, numbers of parts, and units: another of the family next to a noun is another thing. */
function variantsOf (tokens: readonly Token[], language: Language, isContent: (token: Token | undefined) => boolean): Named[] {
  const named: Named[] = []
  for (const [at, token] of tokens.entries()) {
    for (const family of FAMILIES) {
      const value = family.valueOf(token.text)
      if (value === undefined || !family.isAsked(tokens.map(({ text }) => text), at)) continue
      const noun = [tokens[at + 1], tokens[at + 2], tokens[at - 1]].find(isContent)
      if (family.needsNoun && noun === undefined) continue
      const nouns = noun === undefined ? undefined : stems(noun.text, language)
      named.push({ isCertain: false, read: text => readVariant(text, family.valueOf, value, nouns, family.needsNoun) })
    }
  }
  return named
}

const OF = new Set(['de', 'des', 'du', 'del', 'd', 'della', 'dei', 'do', 'da', 'dos', 'das', 'of', 'la', 'los', 'las', 'le', 'les'])
const PREFIXED = /^(?:vice|deputy|co|sub|semi|ex|mini|non|half|vize)-(\p{L}{3,})$/u

/** Names that no text has, of things of which the texts name others: "the Enterprise plan" next to "the Team plan". */
function absentOf (tokens: readonly Token[], language: Language, isAbsent: (word: string) => boolean): Named[] {
  const named: Named[] = []
  const stopWords = stopWordsOf(language)
  const isWord = (token: Token | undefined): token is Token => token !== undefined && /^[\p{L}\p{M}'’-]{3,}$/u.test(token.text) && !stopWords.has(token.text)
  for (const [at, token] of tokens.entries()) {
    const rest = PREFIXED.exec(token.text)?.[1]
    if (rest !== undefined) {
      const key = keyOf(token.text)
      named.push({ isCertain: false, read: text => text.keys.has(key) ? 'same' : text.keys.has(rest) ? 'other' : 'none' })
    }
    if (!isWord(token) || !isAbsent(token.text)) continue
    const [before, after] = [tokens[at - 1], tokens[at + 1]]
    const isName = at > 0 && language !== 'de' && /^\p{Lu}/u.test(token.raw)
    if (isWord(after) && (isName || (language === 'en' && !isUsual(stemOf(token.text, 'en'))))) {
      const nouns = stems(after.text, language)
      named.push({ isCertain: false, read: ({ tokens: all }) => all.some((one, place) => isNoun(one, nouns) && place > 0 && /^\p{Lu}\p{Ll}/u.test(all[place - 1]?.raw ?? '') && isWord(all[place - 1])) ? 'other' : 'none' })
    }
    const of = OF.has(before?.text ?? '') ? (OF.has(tokens[at - 2]?.text ?? '') ? at - 3 : at - 2) : isName ? at - 1 : -1
    const noun = tokens[of]
    if (language !== 'en' && isWord(noun)) {
      const nouns = stems(noun.text, language)
      const joined = of === at - 1
      named.push({
        isCertain: false,
        read: ({ tokens: all }) => all.some((one, place) => {
          if (!isNoun(one, nouns)) return false
          const skipped = joined ? 0 : all.slice(place + 1, place + 3).findIndex(({ text }) => !OF.has(text))
          const next = place + 1 + (skipped < 0 ? 2 : skipped)
          return (joined || skipped !== 0) && isWord(all[next]) && (!joined || /^\p{Lu}/u.test(all[next]?.raw ?? ''))
        })
          ? 'other'
          : 'none'
      })
    } else if (isName && before?.text === 'the' && !isWord(after)) {
      named.push({ isCertain: false, read: ({ tokens: all }) => all.some((one, place) => one.text === 'the' && /^\p{Lu}\p{Ll}/u.test(all[place + 1]?.raw ?? '')) ? 'other' : 'none' })
    }
  }
  return named
}
