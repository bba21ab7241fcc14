import type { Memory } from '@polyvac/core'
import type { Language } from './languages.js'
import { stemOf } from './languages.js'
import { partsOf, rawWords } from './terms.js'

/** A word of a query, for comparison with the words of texts. */
export interface QueryTerm {
  /** Its stem in each language of the index, and those of words that it may be misspelled for. */
  readonly stems: readonly string[]
  /** Its idf in the index and its background; half of it for a word of the turn before. */
  readonly weight: number
  /** The share of the weight that texts with the term have: below 1 where the word may be misspelled. */
  readonly likeness: number
}

/** The terms of a query, and the languages of the texts. */
export interface QueryTerms {
  readonly terms: readonly QueryTerm[]
  readonly languages: readonly Language[]
}

/** A memory that returns the weights of the words of a query, so that sentences are weighed like passages. */
export interface WeightedMemory extends Memory {
  /** @param context the turn before, whose words weigh half */
  terms (query: string, context?: string, signal?: AbortSignal): Promise<QueryTerms>
}

export function hasTerms (memory: Memory): memory is WeightedMemory {
  return 'terms' in memory && typeof memory.terms === 'function'
}

/** Finds the terms of a query in texts. */
export class TermMatcher {
  readonly #terms = new Map<string, number>()
  readonly #languages: readonly Language[]
  readonly #seen = new Map<string, number>()

  constructor ({ terms, languages }: QueryTerms) {
    this.#languages = languages
    for (const [index, { stems }] of terms.entries()) for (const stem of stems) if (!this.#terms.has(stem)) this.#terms.set(stem, index)
  }

  /** The index of the term that a word of a text is equal to, in one of the languages; otherwise -1. */
  termOf (word: string): number {
    let term = this.#seen.get(word)
    if (term === undefined) {
      term = -1
      for (const language of this.#languages) {
        if (term >= 0) break
        const stem = stemOf(word, language)
        // the index has stemmed it as English, too, and so has a corrected term
        term = this.#terms.get(stem) ?? this.#terms.get(stemOf(stem, 'en')) ?? -1
      }
      this.#seen.set(word, term)
    }
    return term
  }

  /** The indexes of the terms in a text, also as parts of compound names. */
  termsIn (text: string): Set<number> {
    const found = new Set<number>()
    for (const word of rawWords(text)) {
      for (const one of [word, ...partsOf(word)]) {
        const term = this.termOf(one)
        if (term >= 0) found.add(term)
      }
    }
    return found
  }
}
