import type { Hit, Memory } from '@polyvac/core'
import { MEMORY_DEFAULTS } from '@polyvac/core/plugin'
import type { Question } from './question.js'
import { shorten } from './search-arguments.js'
import { GENERAL_WORDS } from './stop-words.js'
import { queryWords, stemsOf } from './terms.js'
import { hasWeights } from './term-weights.js'

/** The search result for a question. */
export interface Retrieval {
  /** Passages that answer, best first. */
  readonly hits: readonly Hit[]
  /** The best passage, also where it does not answer. */
  readonly nearest: Hit | undefined
  /** The weight of each word of the question, by stem. */
  readonly weights: ReadonlyMap<string, number>
}

/** Passages compared for each one used: many contain the words of a question, few are about it. */
const POOL = 5
/** Weights of words of the previous turn, and of general words, as shares of a word of the question. */
const BORROWED_SHARE = 0.5
const GENERAL_SHARE = 0.5
/** Added to the score of a passage whose heading, or file name, has exactly the words of the question. */
const HEADING_BONUS = 0.6
const NAME_BONUS = 0.15

/** Searches for a question. In a follow-up, its own words weigh more than those of the turn before. */
export async function retrieve (memory: Memory, question: Question, k: number, threshold: number,
  signal: AbortSignal): Promise<Retrieval> {
  const limit = Math.min(MEMORY_DEFAULTS.maxLimit, k * POOL)
  const [found, idf] = await Promise.all([
    memory.search({ query: question.query, limit, threshold: 0, signal }), weightsOf(memory, question.query, signal)
  ])
  const isFollowUp = question.borrowed !== undefined
  const own = isFollowUp ? wordStems(shorten(question.text.trim())) : undefined
  const scale = (stem: string, weight: number): number => own === undefined || own.has(stem) ? weight : weight * BORROWED_SHARE
  const shared = new Map([...idf].map(([stem, weight]) => [stem, scale(stem, weight)]))
  const scored = isFollowUp ? found.map(hit => ({ ...hit, score: share(shared, stemsOf(wholeText(hit))) })) : found
  const weights = new Map([...shared].map(([stem, weight]) => [stem, GENERAL_WORDS.has(stem) ? weight * GENERAL_SHARE : weight]))
  const ordered = scored.map(hit => ({ hit, rank: hit.score + aboutness(hit, weights) }))
    .sort((a, b) => b.rank - a.rank).map(({ hit }) => hit)
  return {
    hits: ordered.filter(hit => hit.score >= threshold).slice(0, k),
    nearest: scored.reduce<Hit | undefined>((best, hit) => best === undefined || hit.score > best.score ? hit : best, undefined),
    weights
  }
}

/** How well the headings and the file name of a passage match the question. */
function aboutness ({ metadata: { heading, source } }: Hit, weights: ReadonlyMap<string, number>): number {
  const headings = typeof heading === 'string' ? heading.split(' > ') : []
  let best = 0
  for (const [index, text] of headings.entries()) {
    // without the heading's function words, as for the question
    const stems = wordStems(text)
    if (stems.size === 0) continue
    const precision = [...stems].filter(stem => weights.has(stem)).length / stems.size
    const depth = index === headings.length - 1 ? 1 : 0.5
    best = Math.max(best, share(weights, stems) * (0.4 + 0.6 * precision) * depth)
  }
  return HEADING_BONUS * best + NAME_BONUS * share(weights, stemsOf(typeof source === 'string' ? source.replace(/\.[^./]*$/, '') : ''))
}

/** The stems of the words of a query, with those of the parts of compound names. */
function wordStems (query: string): Set<string> {
  return new Set(queryWords(query).flatMap(word => [word, ...word.parts]).map(word => word.stem))
}

function share (weights: ReadonlyMap<string, number>, stems: ReadonlySet<string>): number {
  let matched = 0
  let total = 0
  for (const [stem, weight] of weights) {
    total += weight
    if (stems.has(stem)) matched += weight
  }
  return total === 0 ? 0 : matched / total
}

function wholeText ({ content, metadata: { heading = '', source = '' } }: Hit): string {
  return `${content} ${String(heading)} ${String(source)}`
}

async function weightsOf (memory: Memory, query: string, signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
  if (hasWeights(memory)) return await memory.weights(query, signal)
  return new Map(queryWords(shorten(query)).map(word => [word.stem, 1]))
}
