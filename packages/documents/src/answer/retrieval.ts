import type { Hit, Memory, MemoryQuery } from '@polyvac/core'
import { FURTHER_SHARE } from './parameters.js'
import { languageOf, type Language } from '../language/languages.js'
import { hasTerms, type QueryTerms } from '../search/query-terms.js'
import type { Question } from '../search/question.js'
import { shorten } from '../search/search-arguments.js'
import { queryWords, stemsOf } from '../language/terms.js'

/** The search result for a question. */
export interface Retrieval {
  /** Passages that answer, or add to those that do, best first. */
  readonly hits: readonly Hit[]
  /** The best passage, also where it does not answer. */
  readonly nearest: Hit | undefined
  /** The words of the question with their weights. */
  readonly asked: QueryTerms
  /** Why a part of the memory did not help. */
  readonly degraded: string | undefined
}

/** Searches for a question. In a follow-up, its own words weigh more than those of the turn before. */
export async function retrieve (memory: Memory, question: Question, k: number, threshold: number,
  signal: AbortSignal, owner?: string): Promise<Retrieval> {
  const { own, borrowed } = question
  const weighs = hasTerms(memory)
  let degraded: string | undefined
  const options = { limit: k, threshold: 0, signal, owner, onDegraded (reason: string) { degraded = reason } }
  const query: MemoryQuery & { context?: string | undefined } = weighs
    ? { ...options, query: own, context: borrowed }
    : { ...options, query: question.query }
  const [found, asked] = await Promise.all([
    memory.search(query), weighs ? memory.terms(own, borrowed, signal) : unweighted(question.query)
  ])
  const least = found.some(hit => hit.score >= threshold) ? threshold * FURTHER_SHARE : threshold
  return { hits: found.filter(hit => hit.score >= least), nearest: found[0], asked, degraded }
}

function unweighted (query: string): QueryTerms {
  const languages: Language[] = [...new Set(['en' as const, languageOf(query) ?? 'en'])]
  return { terms: queryWords(shorten(query), languages).map(word => ({ stems: stemsOf(word), weight: 1, likeness: 1 })), languages }
}
