import type { Hit } from '@polyvac/core'
import { yieldToEventLoop } from '@polyvac/core/plugin'
import { languageOf, stemOf, stopWordsOf, type Language } from '../language/languages.js'
import { plainText, sentencesOf } from '../text/plain-text.js'
import { partsOf, rawWords } from '../language/terms.js'

/** Characters of an answer that are checked: models seldom write more. */
const MAX_CHECKED = 32_000
/** Sentences that are named. */
const MAX_NAMED = 20
/** Share of the words of a sentence that its passages have. Models paraphrase; less is another statement. */
const MIN_SHARE = 0.5
/** A sentence with fewer words, and without a fact, states nothing: "Yes." */
const MIN_WORDS = 3
/** Characters of sentences that one turn of the event loop compares, in a few ms with a hundred passages. */
const TURN_CHARS = 2_000
/** A longer line is read in parts of this many characters: one step finds the ends of all sentences of a part. */
const LINE_PART = /.{1,4000}(?:(?<=[\s。！？])|$)|.{1,4000}/gsu

/** The line that begins a block of code, and one that may end it. */
const FENCE = /^\s*(?:>\s*|[-*+]\s+|\d{1,3}[.)]\s+)*(`{3,}(?=[^`]*$)|~{3,})/
const HEADING = /^\s{0,3}#{1,6}(?:\s|$)/
/** Text of an answer that is removed before its sentences are compared: images, and the titles of links. */
const IMAGE = /!\[[^[\]]{0,400}\](?:\([^()]{0,1000}\)|\[[^\]]{0,200}\])?/g
const TITLE = /\]\([^()\s]{0,1000}\s+["'(][^)]{0,400}/g
const STATES = /[\p{L}\p{N}]/u
const CITATION = /\[(\d+)\]/g
/** Citations behind the marks that end a sentence. Each run of marks is tried once, not from each of its marks. */
const LATE_CITATIONS = /(?<![.!?…。！？])([.!?…。！？]+)((?:\s*\[\d+\])+)/g
const MARKUP = /^\s*(?:>\s*|[-*+]\s+|\d{1,3}[.)]\s+|\|)*/
const CODE = /`([^`\n]{1,100})`/g
const NUMBER = /\p{N}+(?:[.:]\p{N}+)*/gu
const THOUSANDS = /(?<=\p{N})[.,'\u00a0\u202f](?=\p{N}{3}(?!\p{N}))/gu
const DECIMAL_COMMA = /(?<=\p{N}),(?=\p{N})/gu
/** A word with a capital letter that does not begin the sentence. */
const NAME = /(?<=[\p{L}\p{N},;)"'”’]\s)\p{Lu}[\p{L}\p{N}]+/gu

/** A sentence that does not rest on the passages it cites. */
export interface Unsupported {
  readonly sentence: string
  /** Numbers of its citations; empty where neither it nor its paragraph cites a passage. */
  readonly citations: readonly number[]
  /** Numbers, names and code that are neither in its passages nor in the question. */
  readonly missing: readonly string[]
}

/** Parts of an answer that are not compared with passages. */
export type Unchecked =
  /** A heading, a block of code, an image, the title of a link. */
  | 'heading' | 'code' | 'image' | 'title'
  /** A question, a sentence that ends in a colon, a sentence of fewer than three words without a fact. */
  | 'question' | 'introduction' | 'short'
  /** A sentence whose passages are in other languages, and which has no fact that they lack. */
  | 'language'
  /** Lines after the first 32,000 characters. */
  | 'rest'

/** How much of an answer rests on the passages that it cites. */
export interface Grounding {
  /** Those that were compared. */
  readonly sentences: number
  readonly supported: number
  /** `supported` of `sentences`, from 0 to 1; absent where no sentence was compared. */
  readonly share?: number
  /** How many parts were not compared; `share` states nothing about them. */
  readonly unchecked: number
  /** The same by kind. */
  readonly unchecked_parts: Readonly<Partial<Record<Unchecked, number>>>
  /** At most 20. */
  readonly unsupported: readonly Unsupported[]
}

/**
 * Compares each sentence of a model's answer with the passages that it cites: numbers, names and code must be in them
 * or in the question, and so must half of the other words, where both are of one language. It finds what a model adds,
 * not whether it combines the words of a passage wrongly. Undefined for an answer without letters and digits.
 * @param cited the passages; `[n]` is the n-th
 */
export async function checkGrounding (answer: string, cited: readonly Hit[], question: string): Promise<Grounding | undefined> {
  const passages = cited.map(hit => new SearchedText(hit))
  const asked = new SearchedText({ content: question, metadata: {} })
  const unsupported: Unsupported[] = []
  // @keyed none: the nine kinds of parts, of one answer
  const parts: Partial<Record<Unchecked, number>> = {}
  const skip = (kind: Unchecked, count: number): void => { if (count > 0) parts[kind] = (parts[kind] ?? 0) + count }
  let sentences = 0
  let supported = 0
  let turnChars = 0
  for (const { sentence, citations } of sentencesIn(answer, skip)) {
    turnChars += sentence.length
    if (turnChars > TURN_CHARS) {
      await yieldToEventLoop()
      turnChars = 0
    }
    const from = citations.flatMap(number => passages[number - 1] ?? [])
    const statement = readStatement(sentence, from)
    if (typeof statement === 'string') {
      skip(statement, 1)
      continue
    }
    for (const text of [...from, asked]) await text.read(statement.language)
    const missing = missingFacts(statement, [...from, asked])
    const share = from.length === 0 || missing.length > 0 ? 0 : shareOf(statement, from)
    if (share === undefined) {
      skip('language', 1)
      continue
    }
    sentences++
    if (share >= MIN_SHARE) supported++
    else if (unsupported.length < MAX_NAMED) unsupported.push({ sentence, citations, missing })
  }
  const unchecked = Object.values(parts).reduce((sum, count) => sum + count, 0)
  if (sentences + unchecked === 0) return undefined
  return { sentences, supported, ...sentences > 0 && { share: supported / sentences }, unsupported, unchecked, unchecked_parts: parts }
}

/** What a sentence states. */
interface Statement {
  readonly language: Language
  readonly code: readonly string[]
  readonly numbers: readonly string[]
  readonly names: readonly string[]
  /** Its words without the stop words of the language. */
  readonly words: readonly string[]
}

/** Looks up code, numbers and words in a passage, or in the question, once `read` has ended. */
class SearchedText {
  readonly text: string
  readonly language: Language | undefined
  // @keyed none: it lives for the check of one answer; MAX_CHECKED
  numbers: ReadonlySet<string> = new Set()
  // @keyed none: it lives for the check of one answer; MAX_CHECKED
  readonly #stems = new Map<Language, ReadonlySet<string>>()

  constructor ({ content, metadata: { heading, source } }: Pick<Hit, 'content' | 'metadata'>) {
    this.text = [heading, source, content].filter(Boolean).join('\n').toLowerCase()
    this.language = languageOf(content)
  }

  /** Collects the numbers, and the words for sentences of this language, in its own turn of the event loop. */
  async read (language: Language): Promise<void> {
    if (this.#stems.has(language)) return
    await yieldToEventLoop()
    if (this.#stems.size === 0) this.numbers = new Set(numbersOf(this.text))
    this.#stems.set(language, new Set([...rawWords(this.text)].flatMap(one => [one, ...partsOf(one)]).map(one => stemOf(one, language))))
  }

  hasWord (word: string, language: Language): boolean {
    return this.#stems.get(language)?.has(stemOf(word, language)) === true
  }
}

function missingFacts ({ language, code, numbers, names }: Statement, texts: readonly SearchedText[]): string[] {
  return [...new Set([
    ...code.filter(one => !texts.some(({ text }) => text.includes(one.toLowerCase()))),
    ...numbers.filter(one => !texts.some(text => text.numbers.has(one))),
    ...names.filter(one => !texts.some(text => text.text.includes(one.toLowerCase()) || text.hasWord(one, language)))
  ])]
}

/** Its numbers, equal whether they are written 1,000.5, 1.000,5 or 1000.5. */
function numbersOf (text: string): string[] {
  return text.replace(THOUSANDS, '').replace(DECIMAL_COMMA, '.').match(NUMBER) ?? []
}

/** The share of the words that the passages have; undefined where none of them is of the sentence's language. */
function shareOf ({ language, words }: Statement, passages: readonly SearchedText[]): number | undefined {
  if (!passages.some(passage => (passage.language ?? language) === language)) return undefined
  const found = words.filter(word => passages.some(passage => [word, ...partsOf(word)].some(one => passage.hasWord(one, language))))
  return words.length === 0 ? 1 : found.length / words.length
}

type Skip = (kind: Unchecked, count: number) => void

/** The sentences outside of code, each with its citations: its own, or those of the next or last in its line. */
function * sentencesIn (answer: string, skip: Skip): Generator<{ sentence: string, citations: readonly number[] }> {
  let fence: string | undefined
  for (const line of answer.slice(0, MAX_CHECKED).split('\n')) {
    const [, mark] = FENCE.exec(line) ?? []
    if (fence !== undefined) {
      // a block ends with at least as many of its marks, and nothing behind them
      if (mark?.startsWith(fence) === true && line.trimEnd().endsWith(mark)) fence = undefined
    } else if (mark !== undefined) {
      fence = mark
      skip('code', 1)
    } else if (HEADING.test(line)) {
      skip('heading', 1)
    } else {
      for (const [part] of line.matchAll(LINE_PART)) {
        skip('image', part.match(IMAGE)?.length ?? 0)
        skip('title', part.match(TITLE)?.length ?? 0)
        yield * sentencesOfLine(part)
      }
    }
  }
  skip('rest', answer.slice(MAX_CHECKED).match(/^.*[\p{L}\p{N}]/gmu)?.length ?? 0)
}

function * sentencesOfLine (line: string): Generator<{ sentence: string, citations: readonly number[] }> {
  const all = sentencesOf(line.replace(MARKUP, '').replace(LATE_CITATIONS, '$2$1'))
  const next: Array<readonly number[] | undefined> = []
  for (const [i, raw] of [...all.entries()].reverse()) {
    const own = [...new Set(Array.from(raw.matchAll(CITATION), ([, number]) => Number(number)))]
    next[i] = own.length > 0 ? own : next[i + 1]
  }
  let citations: readonly number[] = []
  for (const [i, raw] of all.entries()) {
    citations = next[i] ?? citations
    const sentence = plainText(raw.replace(CITATION, '')).replace(/ (?=[.,;:!?]|$)/g, '')
    if (STATES.test(sentence)) yield { sentence, citations }
  }
}

/** What a sentence states, or why it is not compared. */
function readStatement (sentence: string, from: readonly SearchedText[]): Statement | Unchecked {
  if (/[?？\u037e؟]["'”’)\]]*$/.test(sentence)) return 'question'
  if (/[:：]$/.test(sentence)) return 'introduction'
  // a few words show no language
  const language = languageOf(sentence) ?? from.find(passage => passage.language !== undefined)?.language ?? 'en'
  const prose = sentence.replace(CODE, ' ')
  const stops = stopWordsOf(language)
  const statement = {
    language,
    code: Array.from(sentence.matchAll(CODE), ([, text]) => text as string),
    numbers: numbersOf(prose),
    // German has capital letters in all nouns
    names: language === 'de' ? [] : prose.match(NAME) ?? [],
    words: [...new Set(rawWords(sentence))].filter(word => !stops.has(word.toLowerCase()))
  }
  const { code, numbers, names, words } = statement
  return code.length + numbers.length + names.length > 0 || words.length >= MIN_WORDS ? statement : 'short'
}
