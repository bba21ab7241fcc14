import type { QueryTerms, QueryTerm } from './query-terms.js'
import { TermMatcher } from './query-terms.js'
import {
  ABSENT_NAME, BM25, GENERAL_SHARE, HALF_PROXIMITY, HEADING, LOGISTIC, MEANING, MORE_PASSAGES, MORE_WORDS, MOST, NAME_SHARE, ORDER, UNKNOWN_LIKENESS
} from './parameters.js'
import { GENERAL_WORDS } from '../language/stop-words.js'
import { queryWords, spaced, WORD } from '../language/terms.js'
import type { Passage } from '../text/passages.js'
import { WordLikeness } from './word-likeness.js'

/** How well a passage matches a query, each 0 to 1 unless a comment states otherwise. */
export interface PassageFit {
  /** Weight of the terms that are in the passage, its headings or its file name; 0 and more. */
  readonly found: number
  /** The rest of the weight of all terms, which is above 0. */
  readonly missing: number
  /** How near to one another the terms are in the text. */
  readonly proximity: number
  /** BM25 over text, headings and name, as a share of the highest possible one. */
  readonly bm25: number
  /** How well a heading, or the file name, has the words of the query and no others; 0 to 0.75. */
  readonly heading: number
  /** The share of the weight of the terms in the sentence that has most of them, and in it and its neighbour. */
  readonly sentence: number
  readonly pair: number
  /** The share of the weight of the terms, with words near in meaning: in the text or heading, and in a sentence. */
  readonly meant: number
  readonly sentenceMeant: number
  /** The shares of the last heading and of the file name. */
  readonly last: number
  readonly name: number
  /** How many terms have a weight in `found`: a single one may be there by chance. */
  readonly terms: number
  /** Words of the text: a long one has some of the terms by chance. */
  readonly words: number
  /** Whether the query has a name that no passage of the index has. */
  readonly hasAbsentName: boolean
  /** How near the passage is in meaning; undefined where that is not known. */
  readonly likeness: number | undefined
}

/** Proximity is measured among the terms with the highest weights: the pairs grow with the square. */
const MAX_NEAR_TERMS = 16
/** The marks at the end of a sentence, and those that begin a line which is not part of the one before. */
const ENDS: ReadonlySet<number> = new Set(Array.from('.!?:;…。！？।؟۔', mark => mark.charCodeAt(0)))
const BLOCK: ReadonlySet<number> = new Set(Array.from('-*+|#>`0123456789', mark => mark.charCodeAt(0)))
/** Positions of a term that are compared, in a passage. */
const MAX_POSITIONS = 32

/**
 * The value that passages for one query are ordered by.
 * @param hasCode whether the query may ask for code, and the passage has a block of it
 * @param document the BM25 of the best passage of its document
 */
export function orderOf (fit: PassageFit, hasCode: boolean, document: number): number {
  return ORDER.bm25 * fit.bm25 + ORDER.coverage * coverageOf(fit) + ORDER.proximity * fit.proximity + ORDER.heading * fit.heading +
    ORDER.sentence * fit.sentence + ORDER.pair * fit.pair + ORDER.meant * fit.meant + ORDER.sentenceMeant * fit.sentenceMeant +
    ORDER.last * fit.last + ORDER.name * fit.name + ORDER.words * Math.log(fit.words + MORE_WORDS) +
    (hasCode ? ORDER.code : 0) + ORDER.document * document + ORDER.likeness * (fit.likeness ?? UNKNOWN_LIKENESS)
}

/**
 * The probability that a passage answers the query, where it is the best of an index with so many passages.
 * @param lack how far the best passages lack the kind of answer that is asked for, 0 to 1
 */
export function probabilityOf (fit: PassageFit, passages: number, lack: number): number {
  const sum = LOGISTIC.proximity * fit.proximity + LOGISTIC.heading * fit.heading + LOGISTIC.meant * fit.meant +
    LOGISTIC.sentenceMeant * fit.sentenceMeant + LOGISTIC.name * fit.name + LOGISTIC.found * fit.found +
    LOGISTIC.perTerm / Math.max(1, fit.terms) + LOGISTIC.passages * Math.log(passages + MORE_PASSAGES) + LOGISTIC.lack * lack + LOGISTIC.constant -
    (fit.hasAbsentName ? ABSENT_NAME : 0)
  const all = fit.likeness === undefined
    ? sum
    : MEANING.words * Math.max(MEANING.leastWords, sum) + MEANING.likeness * fit.likeness + MEANING.constant
  return MOST / (1 + Math.exp(-all))
}

/** The share of the weight of all terms that the passage has. */
function coverageOf ({ found, missing }: PassageFit): number { return found / (found + missing) }

/** Compares passages with one query. */
export class PassageScorer {
  readonly #terms: readonly QueryTerm[]
  readonly #matcher: TermMatcher
  readonly #total: number
  readonly #hasAbsentName: boolean
  readonly #likeness: WordLikeness | undefined
  readonly #near: readonly number[]
  readonly #general: readonly number[]
  // @keyed none: it lives for one search; MAX_COMPARED passages
  readonly #headings = new Map<string, number>()
  // @keyed none: it lives for one search; MAX_COMPARED passages
  readonly #names = new Map<string, number>()

  constructor (query: QueryTerms) {
    this.#terms = query.terms
    this.#matcher = new TermMatcher(query)
    this.#likeness = WordLikeness.of(query)
    this.#total = query.terms.reduce((sum, { weight }) => sum + weight, 0) || 1
    this.#hasAbsentName = query.terms.some(({ isAbsentName }) => isAbsentName === true)
    this.#near = [...query.terms.keys()].sort((a, b) => this.#weight(b) - this.#weight(a)).slice(0, MAX_NEAR_TERMS)
    this.#general = query.terms.map(({ stems, weight }) => stems.some(stem => GENERAL_WORDS.has(stem)) ? weight * GENERAL_SHARE : weight)
  }

  fit ({ source, heading, content }: Pick<Passage, 'heading' | 'content'> & { readonly source: string }, likeness?: number): PassageFit {
    const headings = heading.split(' > ')
    const last = this.#matcher.termsIn(headings.at(-1) as string)
    const { positions, shares, words, ...sentences } = this.#read(content, last)
    const name = this.#matcher.termsIn(source.replace(/\.[^./]*$/, ''))
    const above = this.#matcher.termsIn(headings.slice(0, -1).join(' '))
    let found = 0
    let terms = 0
    let bm25 = 0
    const length = BM25.k1 * (1 - BM25.b + BM25.b * words / BM25.averageWords)
    for (const term of this.#terms.keys()) {
      const tf = (positions[term]?.length ?? 0) + (last.has(term) ? BM25.lastHeading : 0) + (above.has(term) || name.has(term) ? 1 : 0)
      if (tf === 0) continue
      const share = Math.max(shares[term] as number, last.get(term) ?? 0, above.get(term) ?? 0, name.get(term) ?? 0)
      const weight = this.#weight(term) * share
      found += weight
      terms += share
      bm25 += weight * tf / (tf + length)
    }
    return {
      found,
      missing: this.#total - found,
      proximity: this.#proximity(positions),
      bm25: bm25 / this.#total,
      heading: this.#headingFit(heading, source),
      ...sentences,
      last: this.#weightOf(last),
      name: this.#weightOf(name),
      terms,
      words,
      hasAbsentName: this.#hasAbsentName,
      likeness
    }
  }

  /**
   * The positions of each term in a text, its number of words, and what its best sentences have.
   * @param heading the terms of the heading above it
   */
  #read (content: string, heading: ReadonlyMap<number, number>): Pick<PassageFit, 'words' | 'sentence' | 'pair' | 'meant' | 'sentenceMeant'> &
    { positions: readonly (number[] | undefined)[], shares: Float64Array } {
    const text = spaced(content)
    const positions: (number[] | undefined)[] = []
    const shares = new Float64Array(this.#terms.length)
    const nearInText = new Float64Array(this.#terms.length)
    const inSentence = new Float64Array(this.#terms.length)
    const nearInSentence = new Float64Array(this.#terms.length)
    const all = [shares, nearInText, inSentence, nearInSentence]
    let words = 0
    let end = 0
    let [sentence, pair, sentenceMeant, before] = [0, 0, 0, 0]
    const endSentence = (): void => {
      const share = this.#weightOf(inSentence)
      sentence = Math.max(sentence, share)
      pair = Math.max(pair, share + before / 2, before + share / 2)
      before = share
      sentenceMeant = Math.max(sentenceMeant, this.#weightOf(nearInSentence))
      inSentence.fill(0)
      nearInSentence.fill(0)
    }
    for (const { 0: word, index } of text.matchAll(WORD)) {
      if (words > 0 && endsSentence(text, end, index)) endSentence()
      end = index + word.length
      words++
      const found = this.#matcher.termsOf(word)
      for (const term of found) {
        const places = positions[term] ??= []
        const share = this.#matcher.shareOf(word)
        for (const values of all) raise(values, term, share)
        if (places.length < MAX_POSITIONS) places.push(words)
      }
      const likenesses = found.length > 0 ? undefined : this.#likeness?.of(word)
      if (likenesses === undefined) continue
      for (let term = 0; term < likenesses.length; term++) {
        const likeness = likenesses[term] as number
        if (likeness === 0) continue
        raise(nearInText, term, likeness)
        raise(nearInSentence, term, likeness)
      }
    }
    endSentence()
    for (const [term, share] of heading) raise(nearInText, term, share)
    return { positions, shares, words, sentence, pair, meant: this.#weightOf(nearInText), sentenceMeant }
  }

  /** The share of the weight of all terms that these have. */
  #weightOf (found: ReadonlyMap<number, number> | Float64Array): number {
    let sum = 0
    // for each sentence: an iterator of a typed array takes much longer
    found.forEach((share, term) => { sum += this.#weight(term) * share })
    return sum / this.#total
  }

  /** The sum over the pairs of found terms of the lower weight, less with the distance, as a share of all pairs. */
  #proximity (positions: readonly (readonly number[] | undefined)[]): number {
    let near = 0
    let all = 0
    for (const [index, a] of this.#near.entries()) {
      for (const b of this.#near.slice(index + 1)) {
        const weight = this.#weight(b)
        all += weight
        const [first, second] = [positions[a], positions[b]]
        if (first !== undefined && second !== undefined) near += weight / (1 + (distance(first, second) - 1) / HALF_PROXIMITY)
      }
    }
    return all === 0 ? (positions.some(places => places !== undefined) ? 1 : 0) : near / all
  }

  #headingFit (heading: string, source: string): number {
    const key = `${heading}\0${source}`
    let fit = this.#headings.get(key)
    if (fit === undefined) this.#headings.set(key, fit = this.#compareHeadings(heading, source))
    return fit
  }

  #compareHeadings (heading: string, source: string): number {
    const headings = heading === '' ? [] : heading.split(' > ')
    let best = 0
    for (const [index, text] of headings.entries()) {
      // without the heading's function words, as for the question
      const words = queryWords(text).flatMap(word => [word, ...word.parts])
      if (words.length === 0) continue
      const found = words.flatMap(({ text }) => [...this.#matcher.termsIn(text)])
      const depth = index === headings.length - 1 ? 1 : HEADING.upper
      best = Math.max(best, this.#share(new Map(found)) * (HEADING.withOthers + (1 - HEADING.withOthers) * found.length / words.length) * depth)
    }
    let name = this.#names.get(source)
    if (name === undefined) this.#names.set(source, name = this.#share(this.#matcher.termsIn(source.replace(/\.[^./]*$/, ''))))
    return HEADING.share * best + NAME_SHARE * name
  }

  #share (found: ReadonlyMap<number, number>): number {
    let matched = 0
    let total = 0
    for (const [term, weight] of this.#general.entries()) {
      total += weight
      matched += weight * (found.get(term) ?? 0)
    }
    return total === 0 ? 0 : matched / total
  }

  /** Of a text that has the term. */
  #weight (term: number): number {
    const { weight, likeness } = this.#terms[term] as QueryTerm
    return weight * likeness
  }
}

function raise (values: Float64Array, at: number, value: number): void {
  if ((values[at] as number) < value) values[at] = value
}

/** Whether a sentence, an item or a separate line ends between two words of a text. */
function endsSentence (text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    // a line break within a paragraph ends none
    if (code === 10 && (text.charCodeAt(at + 1) === 10 || BLOCK.has(text.charCodeAt(at + 1)))) return true
    if (ENDS.has(code) && (code > 127 || isBlank(text.charCodeAt(at + 1)))) return true
  }
  return false
}

function isBlank (code: number): boolean { return code === 32 || code === 10 }

/** The least distance between two places of two sorted lists, 1 and more. */
function distance (first: readonly number[], second: readonly number[]): number {
  let least = Infinity
  for (let i = 0, j = 0; i < first.length && j < second.length;) {
    const [a, b] = [first[i] as number, second[j] as number]
    least = Math.min(least, Math.abs(a - b))
    if (a < b) i++
    else j++
  }
  return Math.max(1, least)
}
