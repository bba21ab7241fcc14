import type { Hit, Memory } from '@polyvac/core'
import { MEMORY_DEFAULTS } from '@polyvac/core/plugin'
import type { Question } from './question.js'
import { shorten } from './search-arguments.js'
import { GENERAL_WORDS } from './stop-words.js'
import { queryWords, stemsOf } from './terms.js'
import { hasWeights } from './term-weights.js'

/** What a memory holds about a question. */
export interface Retrieval {
  /** Passages that answer, best first. */
  readonly hits: readonly Hit[]
  /** The best passage of all, whether it answers or not. */
  readonly nearest: Hit | undefined
  /** How much each word of the question tells, by stem. */
  readonly weights: ReadonlyMap<string, number>
}

/** Passages looked at for each one used: many hold the words of a question, few are about it. */
const POOL = 5
/** A word borrowed from the turn before counts this much of a word of the question itself; a general one too. */
const BORROWED_SHARE = 0.5
const GENERAL_SHARE = 0.5
/** What a heading that says just what was asked adds to a passage's score when passages are put in order. */
const HEADING_BONUS = 0.6
const NAME_BONUS = 0.15

/** Searches for a question. A follow-up is searched together with what it borrows, its own words counting most. */
export async function retrieve (memory: Memory, question: Question, k: number, threshold: number, signal: AbortSignal): Promise<Retrieval> {
  const limit = Math.min(MEMORY_DEFAULTS.maxLimit, k * POOL)
  const [found, idf] = await Promise.all([
    memory.search({ query: question.query, limit, threshold: 0, signal }), weightsOf(memory, question.query, signal)
  ])
  const own = new Set(question.borrowed === undefined ? idf.keys() : queryWords(shorten(question.text.trim())).flatMap(word => [word, ...word.parts]).map(word => word.stem))
  const shared = question.borrowed === undefined ? idf : new Map([...idf].map(([stem, weight]) => [stem, own.has(stem) ? weight : weight * BORROWED_SHARE]))
  const scored = question.borrowed === undefined ? found : found.map(hit => ({ ...hit, score: share(shared, stemsOf(wholeText(hit))) }))
  const weights = new Map([...shared].map(([stem, weight]) => [stem, GENERAL_WORDS.has(stem) ? weight * GENERAL_SHARE : weight]))
  const ordered = scored.map(hit => ({ hit, rank: hit.score + aboutness(hit, weights) })).sort((a, b) => b.rank - a.rank).map(({ hit }) => hit)
  return {
    hits: ordered.filter(hit => hit.score >= threshold).slice(0, k),
    nearest: scored.reduce<Hit | undefined>((best, hit) => best === undefined || hit.score > best.score ? hit : best, undefined),
    weights
  }
}

/** How far a passage is about the question, by its headings and its file's name, not only mentions its words. */
function aboutness ({ metadata: { heading, source } }: Hit, weights: ReadonlyMap<string, number>): number {
  const headings = typeof heading === 'string' ? heading.split(' > ') : []
  let best = 0
  for (const [index, text] of headings.entries()) {
    // as the question is read: a heading's function words are not what it is about
    const stems = new Set(queryWords(text).flatMap(word => [word, ...word.parts]).map(word => word.stem))
    if (stems.size === 0) continue
    const precision = [...stems].filter(stem => weights.has(stem)).length / stems.size
    const depth = index === headings.length - 1 ? 1 : 0.5
    best = Math.max(best, share(weights, stems) * (0.4 + 0.6 * precision) * depth)
  }
  return HEADING_BONUS * best + NAME_BONUS * share(weights, stemsOf(typeof source === 'string' ? source.replace(/\.[^./]*$/, '') : ''))
}

function share (weights: ReadonlyMap<string, number>, stems: ReadonlySet<string>): number {
  let told = 0
  let total = 0
  for (const [stem, weight] of weights) {
    total += weight
    if (stems.has(stem)) told += weight
  }
  return total === 0 ? 0 : told / total
}

function wholeText ({ content, metadata: { heading = '', source = '' } }: Hit): string {
  return `${content} ${String(heading)} ${String(source)}`
}

async function weightsOf (memory: Memory, query: string, signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
  if (hasWeights(memory)) return await memory.weights(query, signal)
  return new Map(queryWords(shorten(query)).map(word => [word.stem, 1]))
}
