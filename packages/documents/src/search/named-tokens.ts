import { isUsual } from '../language/common-stems.js'
import { stemOf, stopWordsOf, type Language } from '../language/languages.js'
import { FAMILIES, ID_NOUNS, KNOWN_ABBREVIATIONS, numberOf } from '../language/names.js'
import { signedNamesIn } from '../language/terms.js'

/** How a text relates to a number, code or variant that a question names. */
export type Naming = 'same' | 'maybe' | 'other' | 'none'

/** A number, code, letter, ordinal or the like that a question names: "error 1049", "P-30", "the third floor". */
interface Named {
  /** Compares a text, with its headings and the name of its file. */
  readonly read: (text: NamedText) => Naming
  /** Whether no text without it answers, also where nothing of its kind is named anywhere. */
  readonly isCertain: boolean
  /** Whether no text without it answers where another has it. */
  readonly isOnly?: boolean
}

interface Token {
  /** In lower case. */
  readonly text: string
  readonly raw: string
  /** Whether it begins a line, or a cell of a table. */
  readonly starts: boolean
  readonly isCell: boolean
}

/** A code, a word, or a mark; runs of scripts without spaces, and the Latin letters next to them, are separate. */
const TOKEN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー])[\p{L}\p{M}\p{N}])+(?:[-/._'’](?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー])[\p{L}\p{M}\p{N}])+)*\+?|[^\s]/gu
/** The same without such scripts, and in ASCII: several times as fast. */
const SPACED_TOKEN = /[\p{L}\p{M}\p{N}]+(?:[-/._'’][\p{L}\p{M}\p{N}]+)*\+?|[^\s]/gu
const ASCII_TOKEN = /[A-Za-z0-9]+(?:[-/._'][A-Za-z0-9]+)*\+?|\S/g
const NOT_ASCII = /[^\0-\x7f]/
const IDEOGRAPHS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u
const NUMBER = /^v?\d+(?:[._]\d+)*\+?$/
/** "10.20.0.11" */
const ADDRESS = /^\d+(?:\.\d+){3,}$/
const CODE = /^(?=.*\d)(?=.*[\p{L}\-/])[\p{L}\p{N}]+(?:[-/._][\p{L}\p{N}]+)*$/u
/** A quantity in one word, an ordinal, a time, a day or a range: "20mg", "3rd", "10pm", "2024-05-01", "5-10". */
const QUANTITY = /^\d+(?:[.,]\d+)*(?:[kmgt]i?b|[kmcnµ]?m|[kmµ]?g|m?l|ms|[shdxkva%°]|min|am|pm|°c|kw|w|ma|nm|[kmg]?hz|px|pt|r?em|st|nd|rd|th|er|ère|ème)s?$|^\d+-(?:year|day|hour|minute|month|week|person|mm|cm|m|kg|g|mg|ml|l|gb|mb|bit|byte|volt)s?$|^\d{4}-\d\d-\d\d$|^\d+[-–/]\d+$|^q[1-4]$/u
const ROMAN = /^(?:i{2,3}|iv|vi{0,3}|ix|xi{0,3}|xiv|xvi{0,3}|x{2,3})$/
const LETTER = /^(?:\p{Lu}|[X]{1,3}[SL])$/u
const DIGITS = /^v?\d/
/** What stands before the first word of a line, or of a cell of a table. */
const STARTS = /(?:^|\n|\|)[ \t]*(?:[-*|] ?)?["`*]*$/u
const LETTERS = /^\p{Lu}{1,3}(?:\/\p{Lu}{1,3})+$/u
/** In order. */
const SIZES = ['xxxs', 'xxs', 'xs', 's', 'm', 'l', 'xl', 'xxl', 'xxxl']
const TO = new Set(['to', '-', '–', 'bis', 'à', 'a', 'through', 'until', 'hasta', 'до'])
const SMALL_LETTER = /^(?:[b-hj-z]|x{1,3}[sl])$/
const YEAR = /^(?:1[5-9]|20)\d\d$/
const UNIT = /^(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|times?|people|persons?|percent|[kmgt]i?b|ms|s|min|h|km|cm|mm|m|kg|g|mg|l|ml|€|%|\$|£|euros?|dollars?|pounds?|uhr|jahren?|tagen?|stunden|minuten|personen|ans?|jours?|heures?|años|días|horas|personas)$/
const JOINS = new Set(['and', 'or', 'und', 'oder', 'et', 'ou', 'y', 'o', 'e', 'и', 'или', ',', '/', '&', '、', '和', 'и', 'to', 'bis', 'à', 'a', '-', '–'])
const BETWEEN = new Set(['no', 'nr', 'number', 'nummer', 'numéro', 'número', 'n°', '№', '#', '.', ':', '(', '"', '“', '„', '«', '`', '*', '[', 'v', 'version', '°', 'js', '='])
const RANGE_UP = /^(?:\+|(?:(?:or|and|oder|und|et|ou|o|y) )?(?:newer|later|above|higher|greater|up|more|neuer|höher|mehr|spätere?|plus|supérieure?s?|superior(?:es)?|ultérieure?|más|posterior(?:es)?))/u
const RANGE_DOWN = /^(?:(?:or|and|oder|und|et|ou|o|y) )?(?:older|earlier|below|lower|less|fewer|älter|früher|niedriger|inférieure?s?|anterior(?:es)?|inferior(?:es)?)/u
const FROM = /(?:at least|from|since|minimum|min\.?|>=?|≥|ab|mindestens|seit|à partir de|depuis|desde|a partir de(?: la)?) ?$/u
const UP_TO = /(?:at most|up to|until|before|<=?|≤|bis|höchstens|maximum|max\.?|jusqu['’]à|hasta) ?$/u
/** Chinese and Japanese: 第十一条, 三级, 3号楼. */
const COUNTED = /(第)?([〇零一二三四五六七八九十百千两\d]+)([条條章节節款项項级級号號层層階阶类類型期版番課课楼])/gu
/** Digits of a number that stands next to another noun by chance only. */
const LONG = 3
/** Most named tokens of a question that are compared. */
const MAX_NAMED = 4

/** A text whose tokens are read once. */
export class NamedText {
  readonly text: string
  readonly tokens: readonly Token[]
  // @keyed none: it lives for one search; the tokens of a passage
  #keys: ReadonlySet<string> | undefined

  constructor (...parts: readonly string[]) {
    this.text = parts.join('\n').normalize('NFKC')
    this.tokens = tokensOf(this.text)
  }

  get keys (): ReadonlySet<string> {
    this.#keys ??= new Set(this.tokens.map(({ text }) => keyOf(text)))
    return this.#keys
  }
}

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
    this.#named = [...namedOf(asked, tokens, language ?? 'en'), ...language === undefined ? [] : absentOf(tokens, language, isAbsent)].slice(0, MAX_NAMED)
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

function tokensOf (text: string): Token[] {
  const tokens: Token[] = []
  for (const { 0: raw, index } of text.matchAll(!NOT_ASCII.test(text) ? ASCII_TOKEN : IDEOGRAPHS.test(text) ? TOKEN : SPACED_TOKEN)) {
    // "S/M" is two sizes
    if (raw.includes('/') && LETTERS.test(raw)) {
      for (const one of raw.split(/(\/)/)) tokens.push({ text: one.toLowerCase(), raw: one, starts: false, isCell: false })
      continue
    }
    const before = DIGITS.test(raw) ? text.slice(Math.max(0, index - 6), index) : undefined
    tokens.push({
      text: raw.toLowerCase(),
      raw,
      starts: index === 0 || (before !== undefined && STARTS.test(index < 6 ? before : ` ${before}`)),
      isCell: before !== undefined && /\|[ \t]*["`*]*$/.test(before)
    })
  }
  return tokens
}

const JOINTS = /[-/._'’]/

/** Equal for "P-30" and "P30". */
function keyOf (text: string): string { return JOINTS.test(text) ? text.replaceAll(/[-/._'’]/g, '') : text }

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

function isNoun (token: Token | undefined, nouns: ReadonlySet<string>): boolean {
  if (token === undefined) return false
  const { text } = token
  if (nouns.has(text)) return true
  for (const noun of nouns) {
    const begins = noun.charCodeAt(0) === text.charCodeAt(0)
    // "Artikels" of "Artikel", "プラン" of "料金プラン"
    if (!begins ? noun.length >= 2 && noun.charCodeAt(0) > 0x2e80 && text.endsWith(noun) : noun.length >= 2 && text.startsWith(noun) && text.length <= noun.length + 2) return true
    if (begins && (nouns.has(stemOf(text, 'en')) || nouns.has(text.replace(/[.#]js$/, '')))) return true
  }
  return false
}

/** The numbers, letters or codes that follow a noun: 14 and 16 of "rooms 14 and 16". */
function * following (text: NamedText, nouns: ReadonlySet<string>, isValue: (token: Token) => boolean): Generator<[Token, number]> {
  const { tokens } = text
  for (let at = 0; at < tokens.length; at++) {
    if (!isNoun(tokens[at], nouns)) continue
    let next = at + 1
    while (next < at + 3 && BETWEEN.has(tokens[next]?.text ?? '')) next++
    while (next < tokens.length) {
      const token = tokens[next] as Token
      if (isValue(token)) yield [token, next]
      else if (!JOINS.has(token.text) && !isNoun(token, nouns)) break
      next++
    }
  }
}

function readNumber (text: NamedText, nouns: ReadonlySet<string>, asked: string, isId: boolean): Naming {
  let reading: Naming = 'none'
  const isNumber = (token: Token): boolean => NUMBER.test(token.text)
  const compare = (token: Token, at: number): boolean => {
    if (isSameNumber(token.text, asked) || isInRange(text, at, asked)) return true
    reading = 'other'
    return false
  }
  for (const [token, at] of following(text, nouns, isNumber)) if (compare(token, at)) return 'same'
  if (text.tokens.some(token => isNoun(token, nouns))) {
    for (const [at, token] of text.tokens.entries()) {
      if (token.starts && isNumber(token) && /^[|:,;]$/.test(text.tokens[at + 1]?.text ?? '') && compare(token, at)) return 'same'
    }
  }
  const same = text.tokens.filter((token, at) => isNumber(token) && isSameNumber(token.text, asked) && text.tokens[at + 1]?.text !== '.')
  const hasNoun = text.tokens.some(token => isNoun(token, nouns))
  if ((hasNoun && same.some(({ isCell }) => isCell)) || (same.length > 0 && asked.length >= LONG)) return 'same'
  // without another number of the noun, it may stand anywhere
  return reading !== 'none' || same.length === 0 ? reading : isId || !hasNoun ? 'maybe' : 'same'
}

/** Also 3.2 for 3, and 3 for 3.2. */
function isSameNumber (one: string, other: string): boolean {
  const [a, b] = [one, other].map(text => text.replace(/^v|\+$/g, '').replaceAll('_', '.')) as [string, string]
  return a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`)
}

function isInRange (text: NamedText, at: number, asked: string): boolean {
  const here = text.tokens[at]?.text ?? ''
  const after = text.tokens.slice(at + 1, at + 4).map(token => token.text)
  const before = text.tokens.slice(Math.max(0, at - 5), at).map(token => token.text).join(' ')
  const isRange = TO.has(after[0] ?? '')
  const to = isRange ? after.slice(1).find(word => NUMBER.test(word)) : undefined
  if (to !== undefined) return compareVersions(asked, here) >= 0 && compareVersions(asked, to) <= 0
  const rest = after.join(' ')
  // "from version 3", "from 3"
  const above = before.replace(/ ?[^ ]+ ?$/, '')
  if (RANGE_UP.test(rest) || here.endsWith('+') || FROM.test(before) || FROM.test(above)) return compareVersions(asked, here) >= 0
  return (RANGE_DOWN.test(rest) || UP_TO.test(before) || UP_TO.test(above)) && compareVersions(asked, here) <= 0
}

function compareVersions (one: string, other: string): number {
  const [a, b] = [one, other].map(text => text.replace(/^v|\+$/g, '').split(/[._]/).map(Number)) as [number[], number[]]
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function readCode (text: NamedText, asked: string): Naming {
  const key = keyOf(asked)
  if (text.keys.has(key)) return 'same'
  // "TX 2070" and "OAuth 2.0" for "TX-2070" and "OAuth2"; "X-200" for "X-200/C" is a family, not the part
  const letters = /^(\p{L}+)(\d+)$/u.exec(key)
  if (letters !== null && text.tokens.some(({ text: one }, at) => one === letters[1] && isSameNumber(text.tokens[at + 1]?.text ?? '', letters[2] as string))) return 'same'
  const parts = partsOf(asked)
  const shape = shapeOf(asked)
  const isSibling = ({ text: one }: Token): boolean => /\d/.test(one) && shapeOf(one) === shape && partsOf(one).some((part, at) => part === parts[at])
  // a longer code begins with it: "60068-2-11" for "60068-2"
  if (text.tokens.some(({ text: one }) => one.startsWith(asked) && /^[-/._]/.test(one.slice(asked.length)))) return 'same'
  return text.tokens.some(isSibling) ? 'other' : 'none'
}

function partsOf (code: string): string[] { return code.match(/\p{L}+|\d+/gu) ?? [] }

function shapeOf (code: string): string { return partsOf(code).map(part => /\d/.test(part) ? '9' : 'a').join('') }

function readLetter (text: NamedText, nouns: ReadonlySet<string>, asked: string): Naming {
  const isRoman = ROMAN.test(asked)
  const isValue = (token: Token): boolean => LETTER.test(token.raw) || (isRoman && (ROMAN.test(token.text) || /^[ivx]$/.test(token.text)))
  let reading: Naming = 'none'
  let last: string | undefined
  for (const [token, at] of following(text, nouns, isValue)) {
    const isRange = last !== undefined && TO.has(text.tokens[at - 1]?.text ?? '') && isWithin(asked, last, token.text)
    if (token.text === asked || isRange) return 'same'
    last = token.text
    reading = 'other'
  }
  return reading === 'none' && text.tokens.some(({ raw, text: one }) => one === asked && (raw !== one || isRoman)) ? 'same' : reading
}

/** M of S to XL, and C of A to D. */
function isWithin (asked: string, from: string, to: string): boolean {
  const all = [asked, from, to]
  const [at, first, last] = all.every(one => SIZES.includes(one)) ? all.map(one => SIZES.indexOf(one)) : all.map(one => one.length === 1 ? one.charCodeAt(0) : NaN)
  return (at as number) >= (first as number) && (at as number) <= (last as number)
}

function readCounted ({ text }: NamedText, asked: number, kind: string): Naming {
  let reading: Naming = 'none'
  for (const { 2: numeral = '', 3: other } of text.matchAll(COUNTED)) {
    if (other !== kind) continue
    if (numberOf(numeral) === asked) return 'same'
    reading = 'other'
  }
  return reading
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

function readVariant ({ tokens }: NamedText, valueOf: (word: string) => string | undefined, asked: string,
  nouns: ReadonlySet<string> | undefined, isBeside: boolean): Naming {
  let reading: Naming = 'none'
  const hasNoun = nouns === undefined || isBeside || tokens.some(token => isNoun(token, nouns))
  for (const [at, token] of tokens.entries()) {
    const value = valueOf(token.text)
    if (value === undefined || (isBeside && nouns !== undefined && ![1, 2, -1].some(step => isNoun(tokens[at + step], nouns)))) continue
    if (value === asked && hasNoun) return 'same'
    if (value !== asked) reading = 'other'
  }
  return reading
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
