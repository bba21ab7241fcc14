import type { Hit } from '@polyvac/core'
import { languageOf, stemOf, stopWordsOf, type Language } from './languages.js'
import { plainText, sentencesOf } from './prose.js'
import { partsOf, rawWords } from './terms.js'

/** Characters of an answer that are checked: models seldom write more. */
const MAX_CHECKED = 32_000
/** Sentences that are named. */
const MAX_NAMED = 20
/** Share of the words of a sentence that its passages have. Models paraphrase; less is another statement. */
const MIN_SHARE = 0.5
/** A sentence with fewer words, and without a fact, states nothing: "Yes." */
const MIN_WORDS = 3

const BLOCK = /^\s*(?:`{3,}|~{3,})/
const CITATION = /\[(\d+)\]/g
/** Citations behind the mark that ends a sentence. */
const LATE_CITATIONS = /([.!?…。！？]+)((?:\s*\[\d+\])+)/g
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

/** How much of an answer rests on the passages that it cites. */
export interface Grounding {
  readonly sentences: number
  readonly supported: number
  /** `supported` of `sentences`, from 0 to 1. */
  readonly share: number
  /** At most 20. */
  readonly unsupported: readonly Unsupported[]
}

/**
 * Compares each sentence of a model's answer with the passages that it cites: numbers, names and code must be in them
 * or in the question, and so must half of the other words, where both are of one language. It finds what a model adds,
 * not whether it combines the words of a passage wrongly. Undefined where the answer states nothing.
 * @param cited the passages; `[n]` is the n-th
 */
export function checkGrounding (answer: string, cited: readonly Hit[], question: string): Grounding | undefined {
  const passages = cited.map(hit => new Passage(hit))
  const asked = new Passage({ content: question, metadata: {} })
  const unsupported: Unsupported[] = []
  let sentences = 0
  let supported = 0
  for (const { sentence, citations } of statementsOf(answer)) {
    sentences++
    const from = citations.flatMap(number => passages[number - 1] ?? [])
    const missing = missingFacts(sentence, [...from, asked])
    if (from.length > 0 && missing.length === 0 && shareOf(sentence, from) >= MIN_SHARE) supported++
    else if (unsupported.length < MAX_NAMED) unsupported.push({ sentence, citations, missing })
  }
  return sentences === 0 ? undefined : { sentences, supported, share: supported / sentences, unsupported }
}

/** A text, and the stems of its words in a language. */
class Passage {
  readonly text: string
  readonly #numbers: ReadonlySet<string>
  readonly language: Language | undefined
  readonly #stems = new Map<Language, ReadonlySet<string>>()

  constructor ({ content, metadata: { heading, source } }: Pick<Hit, 'content' | 'metadata'>) {
    this.text = [heading, source, content].filter(Boolean).join('\n').toLowerCase()
    this.#numbers = new Set(numbersOf(this.text))
    this.language = languageOf(content)
  }

  hasNumber (number: string): boolean {
    return this.#numbers.has(number)
  }

  hasWord (word: string, language: Language): boolean {
    let stems = this.#stems.get(language)
    if (stems === undefined) {
      stems = new Set([...rawWords(this.text)].flatMap(one => [one, ...partsOf(one)]).map(one => stemOf(one, language)))
      this.#stems.set(language, stems)
    }
    return stems.has(stemOf(word, language))
  }
}

function missingFacts (sentence: string, texts: readonly Passage[]): string[] {
  const language = languageOf(sentence) ?? 'en'
  const code = Array.from(sentence.matchAll(CODE), ([, text]) => text as string)
  const prose = sentence.replace(CODE, ' ')
  // German has capital letters in all nouns
  const names = language === 'de' ? [] : prose.match(NAME) ?? []
  return [...new Set([
    ...code.filter(one => !texts.some(({ text }) => text.includes(one.toLowerCase()))),
    ...numbersOf(prose).filter(one => !texts.some(text => text.hasNumber(one))),
    ...names.filter(one => !texts.some(text => text.text.includes(one.toLowerCase()) || text.hasWord(one, language)))
  ])]
}

/** Its numbers, equal whether they are written 1,000.5, 1.000,5 or 1000.5. */
function numbersOf (text: string): string[] {
  return text.replace(THOUSANDS, '').replace(DECIMAL_COMMA, '.').match(NUMBER) ?? []
}

/** The share of the words that the passages have; 1 where none of them is of the sentence's language. */
function shareOf (sentence: string, passages: readonly Passage[]): number {
  const language = languageOf(sentence) ?? 'en'
  if (!passages.some(passage => (passage.language ?? language) === language)) return 1
  const words = contentWords(sentence)
  const found = words.filter(word => passages.some(passage => [word, ...partsOf(word)].some(one => passage.hasWord(one, language))))
  return words.length === 0 ? 1 : found.length / words.length
}

function contentWords (sentence: string): string[] {
  const stops = stopWordsOf(languageOf(sentence) ?? 'en')
  return [...new Set(rawWords(sentence))].filter(word => !stops.has(word.toLowerCase()))
}

/** The sentences that state something, each with its citations: its own, or those of the next or last in its line. */
function * statementsOf (answer: string): Generator<{ sentence: string, citations: readonly number[] }> {
  let isCode = false
  for (const line of answer.slice(0, MAX_CHECKED).split('\n')) {
    if (BLOCK.test(line)) isCode = !isCode
    else if (!isCode && !/^\s*#/.test(line)) yield * statementsOfLine(line)
  }
}

function * statementsOfLine (line: string): Generator<{ sentence: string, citations: readonly number[] }> {
  const text = line.replace(MARKUP, '').replace(LATE_CITATIONS, '$2$1')
  const all = sentencesOf(text).map(raw => ({
    sentence: plainText(raw.replace(CITATION, '')).replace(/\s+(?=[.,;:!?]|$)/g, ''),
    citations: [...new Set(Array.from(raw.matchAll(CITATION), ([, number]) => Number(number)))]
  }))
  for (const [i, { sentence, citations }] of all.entries()) {
    const hasFact = missingFacts(sentence, []).length > 0
    if (/[:?]$/.test(sentence) || (!hasFact && contentWords(sentence).length < MIN_WORDS)) continue
    const near = [...all.slice(i), ...all.slice(0, i).reverse()].find(other => other.citations.length > 0)
    yield { sentence, citations: citations.length > 0 ? citations : near?.citations ?? [] }
  }
}
