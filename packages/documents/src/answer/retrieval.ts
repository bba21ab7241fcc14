import type { Hit, Memory, MemoryQuery } from '@polyvac/core'
import { isPriceWord } from '../search/answer-kind.js'
import { FURTHER_SHARE, SAME_FILE, SAME_SECTION } from './parameters.js'
import { languageOf, stopWordsOf, type Language } from '../language/languages.js'
import { hasTerms, TermMatcher, type QueryTerms } from '../search/query-terms.js'
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

/** Searches for a question; one that refers to a turn before is also searched with the words of that turn. */
export async function retrieve (memory: Memory, question: Question, k: number, threshold: number,
  signal: AbortSignal, owner?: string): Promise<Retrieval> {
  const { own, borrowed } = question
  let degraded: string | undefined
  const options = { limit: k, threshold: 0, signal, owner, onDegraded (reason: string) { degraded = reason } }
  const search = async (text: string, turns: readonly string[] = []): Promise<Found> => {
    const context = turns.length === 0 ? undefined : turns.join('\n')
    const query: MemoryQuery & { context?: string | undefined } = hasTerms(memory)
      ? { ...options, query: text, context }
      : { ...options, query: [text, ...turns].join('\n') }
    const [hits, asked] = await Promise.all([
      memory.search(query), hasTerms(memory) ? memory.terms(text, context, signal) : unweighted(query.query)
    ])
    return { hits, asked }
  }
  const { hits, asked } = borrowed === undefined
    ? await search(own)
    : resolve(...await Promise.all([search(own), search(own, borrowed), search(borrowed[0], borrowed.slice(1))]), own, threshold)
  const least = hits.some(hit => hit.score >= threshold) ? threshold * FURTHER_SHARE : threshold
  return { hits: hits.filter(hit => hit.score >= least), nearest: hits[0], asked, degraded }
}

interface Found {
  readonly hits: readonly Hit[]
  readonly asked: QueryTerms
}

/**
 * The result for a question that refers to the turn before: where a passage has words of both, the result for both,
 * first what the turn before was answered from. Otherwise the question has its own subject.
 */
function resolve (alone: Found, both: Found, before: Found, own: string, threshold: number): Found {
  const words = contentWords(own)
  // "Price?" asks for a kind of answer, and no text need have the word
  if (words.length > 0 && words.every(isPriceWord) && alone.hits.length === 0) return before
  const [ownTerms, allTerms] = [new TermMatcher(alone.asked), new TermMatcher(both.asked)]
  const [home] = before.hits.filter(({ score }) => score >= threshold)
  const nearness = ({ metadata: { source, heading } }: Hit): number => home === undefined || source !== home.metadata['source']
    ? 0
    : heading === home.metadata['heading'] ? SAME_SECTION : SAME_FILE
  const fits = (hit: Hit): boolean => {
    if (words.length === 0) return true
    const text = `${String(hit.metadata['heading'] ?? '')}\n${hit.content}`
    const mine = ownTerms.termsIn(text).size
    return mine > 0 && (nearness(hit) === SAME_SECTION || allTerms.termsIn(text).size > mine)
  }
  const hits = both.hits.filter(fits).map(hit => ({ hit, order: hit.score + nearness(hit) })).sort((a, b) => b.order - a.order).map(({ hit }) => hit)
  const answers = (hits[0]?.score ?? 0) >= threshold
  if (answers) return { hits, asked: both.asked }
  return (alone.hits[0]?.score ?? 0) >= threshold ? alone : both
}

function contentWords (text: string): string[] {
  const stopWords = stopWordsOf(languageOf(text) ?? 'en')
  return queryWords(text).map(word => word.text).filter(word => !stopWords.has(word))
}

function unweighted (query: string): QueryTerms {
  const languages: Language[] = [...new Set(['en' as const, languageOf(query) ?? 'en'])]
  return { terms: queryWords(shorten(query), languages).map(word => ({ stems: stemsOf(word), weight: 1, likeness: 1 })), languages }
}
