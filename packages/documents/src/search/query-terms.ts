import type { Memory } from '@polyvac/core'
import type { Language } from '../language/languages.js'
import { stemOf, stopWordsOf } from '../language/languages.js'
import { MIN_PART, MIN_REST, SYNONYM_SHARE } from './parameters.js'
import { partsOf, rawWords } from '../language/terms.js'

/** A word of a query, for comparison with the words of texts. */
export interface QueryTerm {
  /** The word itself, in lower case. */
  readonly word?: string
  /** Its stem in each language of the index, and those of words that it may be misspelled for. */
  readonly stems: readonly string[]
  /** Stems of other words that mean about the same. */
  readonly synonyms?: readonly string[]
  /** Its idf in the index and its background; half of it for a word of the turn before. */
  readonly weight: number
  /** The share of the weight that texts with the term have: below 1 where the word may be misspelled. */
  readonly likeness: number
  /** Whether it is a name that no text has. */
  readonly isAbsentName?: boolean
}

/** The terms of a query, and the languages of the texts. */
export interface QueryTerms {
  readonly terms: readonly QueryTerm[]
  readonly languages: readonly Language[]
  /** The language of the query, where it is known. */
  readonly language?: Language | undefined
}

/** A memory that returns the weights of the words of a query, so that sentences are weighed like passages. */
export interface WeightedMemory extends Memory {
  /** @param context the turn before, whose words weigh half */
  terms (query: string, context?: string, signal?: AbortSignal): Promise<QueryTerms>
}

export function hasTerms (memory: Memory): memory is WeightedMemory {
  return 'terms' in memory && typeof memory.terms === 'function'
}

const NONE: readonly number[] = []

/** Finds the terms of a query in texts. */
export class TermMatcher {
  // @keyed none: it lives for one search; MAX_TERMS, and the words of MAX_COMPARED passages
  readonly #terms = new Map<string, number>()
  readonly #languages: readonly Language[]
  readonly #compounds: Language | undefined
  readonly #initials: ReadonlySet<number>
  // @keyed none: it lives for one search; MAX_TERMS, and the words of MAX_COMPARED passages
  readonly #synonyms = new Set<string>()
  // @keyed none: it lives for one search; MAX_TERMS, and the words of MAX_COMPARED passages
  readonly #seen = new Map<string, number>()
  // @keyed none: it lives for one search; MAX_TERMS, and the words of MAX_COMPARED passages
  readonly #seenParts = new Map<string, readonly number[]>()
  // @keyed none: it lives for one search; MAX_TERMS, and the words of MAX_COMPARED passages
  readonly #shares = new Map<string, number>()

  constructor ({ terms, languages, language }: QueryTerms) {
    this.#languages = languages
    this.#compounds = language === 'en' ? undefined : language
    for (const [index, { stems }] of terms.entries()) for (const stem of stems) if (!this.#terms.has(stem)) this.#terms.set(stem, index)
    for (const [index, { synonyms = [] }] of terms.entries()) {
      for (const stem of synonyms.filter(stem => !this.#terms.has(stem))) {
        this.#terms.set(stem, index)
        this.#synonyms.add(stem)
      }
    }
    this.#initials = new Set([...this.#terms.keys()].map(stem => stem.charCodeAt(0)))
  }

  /**
   * The index of the term that a word of a text is equal to, in one of the languages; otherwise -1. Where the query is
   * not English, a word is also equal to a term that it is a part of, or that is a part of it.
   */
  termOf (word: string): number {
    // stemmers leave the first letter of a word of ASCII
    const initial = word.charCodeAt(0)
    if (this.#compounds === undefined && initial < 128 && !this.#initials.has(initial) && !this.#initials.has(initial | 32)) return -1
    let term = this.#seen.get(word)
    if (term === undefined) {
      term = -1
      for (const language of this.#languages) {
        if (term >= 0) break
        const stem = stemOf(word, language)
        // the index has stemmed it as English, too, and so has a corrected term
        term = this.#terms.get(stem) ?? this.#terms.get(stemOf(stem, 'en')) ?? -1
        if (this.#synonyms.has(stem)) this.#shares.set(word, SYNONYM_SHARE)
      }
      if (term < 0 && this.#compounds !== undefined) term = this.#compoundOf(word, this.#compounds)
      this.#seen.set(word, term)
    }
    return term
  }

  /** For "Hafen" that of "Hafenmeister", and the other way: one begins or ends with the other. */
  #compoundOf (word: string, language: Language): number {
    if (word.length < MIN_PART || stopWordsOf(language).has(word.toLowerCase())) return -1
    const stem = stemOf(word, language)
    for (const [other, term] of this.#terms) {
      const [part, whole] = stem.length < other.length ? [stem, other] : [other, stem]
      if (part.length >= MIN_PART && whole.length >= part.length + MIN_REST && (whole.startsWith(part) || whole.endsWith(part))) {
        this.#shares.set(word, part.length / whole.length)
        return term
      }
    }
    return -1
  }

  /** How much a word means its term: 1, less for a synonym or a part of it. */
  shareOf (word: string): number {
    return this.#shares.get(word) ?? 1
  }

  /** The terms of a word and of the parts of a compound name. */
  termsOf (word: string): readonly number[] {
    let terms = this.#seenParts.get(word)
    if (terms === undefined) {
      terms = [word, ...partsOf(word)].map(one => this.termOf(one)).filter(term => term >= 0)
      if (terms.length === 0) terms = NONE
      this.#seenParts.set(word, terms)
    }
    return terms
  }

  /** The indexes of the terms in a text, each with how much the nearest word means it. */
  termsIn (text: string): Map<number, number> {
    const found = new Map<number, number>()
    for (const word of rawWords(text)) {
      for (const term of this.termsOf(word)) found.set(term, Math.max(found.get(term) ?? 0, this.shareOf(word)))
    }
    return found
  }
}
