import { wordVectors, type WordVectors } from '../language/word-vectors.js'
import { LEAST_LIKENESS } from './parameters.js'
import type { QueryTerms } from './query-terms.js'

/** How near the words of texts are in meaning to the terms of an English query. */
export class WordLikeness {
  readonly #vectors: WordVectors
  /** The vector of each term; undefined where it has none. */
  readonly #terms: readonly (Int8Array | undefined)[]
  /** By word: its likeness to each term, undefined where it is like none. */
  // @keyed none: it lives for one search; the words of MAX_COMPARED passages
  readonly #seen = new Map<string, Float32Array | undefined>()

  private constructor (vectors: WordVectors, { terms }: QueryTerms) {
    this.#vectors = vectors
    this.#terms = terms.map(({ word = '' }) => this.#vectorOf(word))
  }

  /** Undefined where the query is not English, or the vectors are not installed. */
  static of (query: QueryTerms): WordLikeness | undefined {
    const vectors = query.language === undefined || query.language === 'en' ? wordVectors() : undefined
    return vectors === undefined ? undefined : new WordLikeness(vectors, query)
  }

  /** The likeness of a word to each term, LEAST_LIKENESS to 1, or 0 below that; undefined where it is like none. */
  of (raw: string): Float32Array | undefined {
    const word = raw.toLowerCase()
    if (this.#seen.has(word)) return this.#seen.get(word)
    const found = this.#compare(this.#vectorOf(word))
    this.#seen.set(word, found)
    return found
  }

  #vectorOf (word: string): Int8Array | undefined {
    const id = this.#vectors.idOf(word)
    const { dimensions, values } = this.#vectors
    return id === undefined ? undefined : values.subarray(id * dimensions, (id + 1) * dimensions)
  }

  #compare (vector: Int8Array | undefined): Float32Array | undefined {
    if (vector === undefined) return undefined
    const unit = this.#vectors.scale ** 2
    let found: Float32Array | undefined
    for (const [index, term] of this.#terms.entries()) {
      if (term === undefined) continue
      let product = 0
      for (let at = 0; at < vector.length; at++) product += (vector[at] as number) * (term[at] as number)
      if (product >= LEAST_LIKENESS * unit) (found ??= new Float32Array(this.#terms.length))[index] = product / unit
    }
    return found
  }
}
