import type { Hit, Memory, MemoryQuery } from '@polyvac/core'
import { languageOf, type Language } from './languages.js'
import { hasTerms, type QueryTerms } from './query-terms.js'
import type { Question } from './question.js'
import { shorten } from './search-arguments.js'
import { queryWords } from './terms.js'

/** The search result for a question. */
export interface Retrieval {
  /** Passages that answer, best first. */
  readonly hits: readonly Hit[]
  /** The best passage, also where it does not answer. */
  readonly nearest: Hit | undefined
  /** The words of the question with their weights. */
  readonly asked: QueryTerms
}

/** Searches for a question. In a follow-up, its own words weigh more than those of the turn before. */
export async function retrieve (memory: Memory, question: Question, k: number, threshold: number,
  signal: AbortSignal): Promise<Retrieval> {
  const { own, borrowed } = question
  const weighs = hasTerms(memory)
  const query: MemoryQuery & { context?: string | undefined } = weighs
    ? { query: own, context: borrowed, limit: k, threshold: 0, signal }
    : { query: question.query, limit: k, threshold: 0, signal }
  const [found, asked] = await Promise.all([
    memory.search(query), weighs ? memory.terms(own, borrowed, signal) : unweighted(question.query)
  ])
  return { hits: found.filter(hit => hit.score >= threshold), nearest: found[0], asked }
}

function unweighted (query: string): QueryTerms {
  const languages: Language[] = [...new Set(['en' as const, languageOf(query) ?? 'en'])]
  return { terms: queryWords(shorten(query), languages).map(({ stems }) => ({ stems, weight: 1, likeness: 1 })), languages }
}
