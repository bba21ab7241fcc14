import { irregularForms } from './irregular-forms.js'
import { languageOf, stemOf, stopWordsOf, withoutMarks, type Language } from './languages.js'
import { INVISIBLE } from '../text/passages.js'
import { COMMON_WORDS } from './stop-words.js'

/** Scripts without spaces between words: their runs are split into words first. */
export const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const UNSPACED_RUN = new RegExp(`${UNSPACED.source}(?:${UNSPACED.source}|[ー\\p{M}])*`, 'gu')
const NOT_ASCII = /[^\0-\x7f]/
export const WORD = /[\p{L}\p{N}\p{M}_]+/gu
/** A name made of several words: `max_tasks`, `bodyLimit`, `HTTPServer`. */
const IS_COMPOUND = /_|[a-z0-9][A-Z]|[A-Z]{2}[a-z]/
/** A part that only such names have; a pattern for the whole name is ten times slower. */
const COMPOUND_SIGN = /_|[a-z0-9][A-Z]|[A-Z]{2}[a-z]/g
const NAME_REST = /[A-Za-z0-9_]*/y
const SEAM = /_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/

/** Longest word of a query or sentence, in characters; longer ones are base64 or minified code. */
const MAX_WORD = 64

/** A full stop between digits, and the "v" of a version: `v2.1` is one word, since "2" and "1" have no meaning. */
const IN_NUMBER = /(?<=\d)\.(?=\d)|(?<![\p{L}\p{N}_])v(?=\d+\.\d)/giu
const DIGIT = /\d/
/** Not "A" and "I", which are words. */
const LETTER_NAME = /^[B-HJ-Z]$/
const APOSTROPHE = /['’]/
const HAS_DOTTED = /\d\.\d/
/** A sign that is part of a name, and the name: "C++", "C#", ".NET", "R&D", "A/B"; but "S/M" is two sizes. */
const SIGNED = /(?<![\p{L}\p{N}_/&.#+-])(?:([CcGg])(\+\+)(?!\+)|([ACFGJQXcfj])(#)(?![\p{L}_#])|()(\.(?:NET|net|Net))(?![\p{L}\p{N}_])|([A-Z]{1,2})(&)([A-Z]{1,2})(?![\p{L}\p{N}_&])|([A-KN-RT-WYZ])(\/)([A-KN-RT-WYZ])(?![\p{L}\p{N}_/-]))/gu
const SIGNS: Readonly<Record<string, string>> = { '++': 'plusplus', '#': 'sharp', '&': 'ampersand', '/': 'slash' }
/** Letters that are words at the beginning of a question: "O której" is Polish. */
const FIRST_WORD = /^[OEYUWZVSK]/
/** Such a number, as `spaced` writes it. */
const NUMBER = /^\d+(?:_\d+)+$/

/** Not after the end of a sentence. */
const NAME = /(?<!^)(?<![.!?…:]\s)(?<![\p{L}\p{N}\p{M}_'’])\p{Lu}\p{Ll}[\p{L}\p{M}]+/gu

const GREEK = /\p{Script=Greek}+/gu
/** A particle at the end of a Korean word: "도서관은" is the topic of a sentence, "도서관" the library. */
const PARTICLE = /(?<=[가-힣])(?:[은는을를]|(?<=[가-힣]{2})(?:[이가에의로와과도만]|으로|에서|에게|까지|부터|보다|처럼|마다))(?![가-힣])/gu

let segmenter: Intl.Segmenter | undefined

/** A word of a question. */
export interface Word {
  /** In lower case. */
  readonly text: string
  /** Its stem in each language; equal for words of the same root. */
  readonly stems: readonly string[]
  /** Its other irregular forms, where the query is English. */
  readonly forms: readonly string[]
  /** The words of a compound name. */
  readonly parts: readonly Word[]
}

/**
 * A text for the term index, which stems English itself: words of other languages are replaced by their stems, the
 * parts of compound names are added (`max_tasks` is found by "max tasks"), and spaces in scripts without them.
 */
export function indexText (text: string, language: Language | undefined = 'en'): string {
  const ready = spaced(text)
  const parts = new Set<string>()
  COMPOUND_SIGN.lastIndex = 0
  for (let sign = COMPOUND_SIGN.exec(ready); sign !== null; sign = COMPOUND_SIGN.exec(ready)) {
    let start = sign.index
    while (start > 0 && isNameCharacter(ready.charCodeAt(start - 1))) start--
    NAME_REST.lastIndex = sign.index
    NAME_REST.test(ready)
    COMPOUND_SIGN.lastIndex = NAME_REST.lastIndex
    if (NAME_REST.lastIndex - start > MAX_WORD) continue
    for (const part of ready.slice(start, NAME_REST.lastIndex).split(SEAM)) if (part.length > 1) parts.add(part)
  }
  const stemmed = language === 'en'
    ? ready
    : ready.replace(WORD, word => word.length > MAX_WORD || IS_COMPOUND.test(word) ? word : stemOf(word, language))
  return parts.size === 0 ? stemmed : `${stemmed}\n${[...parts].join(' ')}`
}

/**
 * The distinct words of a query without stop words, unless it has no other words, with stems of these languages.
 * @param withCommon besides other words, also those stop words that get a small weight in a search
 */
export function queryWords (query: string, languages: readonly Language[] = ['en'], withCommon = false, language: Language = languageOf(query, languages) ?? 'en'): Word[] {
  const stopWords = stopWordsOf(language)
  const wordOf = (raw: string): Word => ({
    text: raw.toLowerCase(),
    stems: [...new Set(languages.map(one => stemOf(raw, one)))],
    forms: language === 'en' ? irregularForms(stemOf(raw, 'en')) : [],
    parts: []
  })
  const words = new Map<string, Word>()
  const stops = new Map<string, Word>()
  const common: Word[] = []
  for (const raw of rawWords(query)) {
    // 2.10 is not any 10
    const word = { ...wordOf(raw), parts: NUMBER.test(raw) ? [] : partsOf(raw).map(wordOf) }
    const group = stopWords.has(word.text) && !LETTER_NAME.test(raw) ? stops : words
    const key = stemOf(raw, language)
    if (!group.has(key)) group.set(key, word)
    if (withCommon && language === 'en' && COMMON_WORDS.has(word.text)) common.push(word)
  }
  return words.size > 0 ? [...words.values(), ...common] : [...stops.values()]
}

/**
 * Words with a capital letter that do not begin a sentence, in lower case; none where most words have one, as in a
 * title, nor in German, where each noun has one.
 */
export function namesOf (query: string, language: Language): ReadonlySet<string> {
  const names = language === 'de' ? [] : Array.from(query.matchAll(NAME), ([name]) => name.toLowerCase())
  const words = query.match(WORD)?.length ?? 0
  return new Set(names.length > 1 && names.length > words / 2 ? [] : names)
}

/** The stems of a word and of its irregular forms. */
export function stemsOf ({ stems, forms }: Word): string[] {
  return [...stems, ...forms.map(form => stemOf(form, 'en'))]
}

/** The words of a text, in order. */
export function * rawWords (text: string): Generator<string> {
  const ready = spaced(text)
  for (const { 0: word, index } of ready.matchAll(WORD)) {
    if (word.length > 1 ? word.length <= MAX_WORD : isShortWord(word, ready, index)) yield word
  }
}

/**
 * A digit, a character of a script without spaces, or a letter that is a name: "size M", but not the "O" of "O'Neill",
 * nor a first word: "O której" is Polish.
 */
function isShortWord (character: string, text: string, at: number): boolean {
  if (LETTER_NAME.test(character)) return !APOSTROPHE.test(text.slice(Math.max(0, at - 1), at + 2)) && !(at === 0 && text[1] === ' ' && FIRST_WORD.test(text))
  return DIGIT.test(character) || UNSPACED.test(character)
}

function isNameCharacter (code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95
}

export function partsOf (raw: string): string[] {
  return IS_COMPOUND.test(raw) ? raw.split(SEAM).filter(part => part.length > 1) : []
}

/**
 * Prepares a text for a tokenizer: joins numbers with full stops, makes words of names with signs, adds spaces to
 * scripts without them, and removes the accents of Greek letters and the particles of Korean words.
 */
export function spaced (raw: string): string {
  const signed = hasSign(raw) ? raw.replace(SIGNED, wordOfName) : raw
  const text = HAS_DOTTED.test(signed) ? signed.replace(IN_NUMBER, found => found === '.' ? '_' : '') : signed
  if (!NOT_ASCII.test(text)) return text
  const normal = text.normalize('NFKC').replace(INVISIBLE, '').replace(GREEK, withoutMarks).replace(PARTICLE, '')
  if (!UNSPACED.test(normal)) return normal
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'word' })
  const words = segmenter
  return normal.replace(UNSPACED_RUN, run => ` ${Array.from(words.segment(run), part => part.segment).join(' ')} `)
}

/** Whether a text may have such a name. To look for a character first takes a third of the time. */
function hasSign (text: string): boolean {
  return (text.includes('#') && /[A-Za-z]#/.test(text)) || (text.includes('&') && /[A-Z]&/.test(text)) || (text.includes('/') && /[A-Z]\/[A-Z]/.test(text)) ||
    text.includes('++') || text.includes('.NET') || text.includes('.net') || text.includes('.Net')
}

/** The letters and the sign of a name as one word of letters: "csharp". */
function wordOfName (...[, ...groups]: readonly (string | number | undefined)[]): string {
  const parts = groups.filter(part => typeof part === 'string').slice(0, -1).map(part => part.toLowerCase())
  return ` ${parts.map(part => part === '.net' ? 'dotnet' : SIGNS[part] ?? part).join('')} `
}

/** The names with signs in a text, in lower case. */
export function signedNamesIn (text: string): string[] {
  return hasSign(text) ? Array.from(text.matchAll(SIGNED), ([name]) => name.toLowerCase()) : []
}

/** Whether a word of letters is such a name, which is not corrected. */
export function isSignedName (word: string): boolean {
  return /^[a-z](?:plusplus|sharp|slash[a-z])$|^dotnet$|^[a-z]{1,2}ampersand[a-z]{1,2}$/.test(word)
}
