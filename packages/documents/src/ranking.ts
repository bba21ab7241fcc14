import type { SqliteDatabase } from '@polyvac/sqlite'
import { queryWords } from './terms.js'

/** Cached document counts; the cache is emptied when full, and after every change. */
const MAX_COUNTS = 10_000
/** Words of a query that are searched for, the rarest ones; few queries of 2,000 characters have more. */
const MAX_TERMS = 200
/** Thresholds that are tried before a lower one of the caller: most searches find enough at the first, cheap one. */
const EASY_THRESHOLDS = [0.7, 0.35]
/** Rounding errors may leave a full match slightly below 1. */
const EPSILON = 1e-9

export interface WeightedTerm {
  readonly term: string
  readonly stem: string
  readonly idf: number
  /** Number of passages that contain the term. */
  readonly passages: number
}

export interface RankedPassage {
  readonly id: number
  readonly score: number
}

export interface TermWeights {
  /** The terms of a query, rarest first. */
  of (query: string): WeightedTerm[]
  /** Number of passages in the index. */
  count (): number
  /** Call it after a change. Changes by other processes are detected. */
  forget (): void
}

/** idf = ln(1 + (N - df + 0.5) / (df + 0.5)); a term that is not in the index has df 0 and the highest weight. */
export function weighTerms (database: SqliteDatabase): TermWeights {
  const countTerm = database.prepare('SELECT count(*) FROM term WHERE term MATCH ?')
  const countAll = database.prepare('SELECT count(*) FROM passage')
  const dataVersion = database.prepare('PRAGMA data_version')
  const counts = new Map<string, number>()
  let total: number | undefined
  let version: number | undefined

  const frequency = (term: string): number => {
    let count = counts.get(term)
    if (count === undefined) {
      count = countTerm.column<number>(quote(term))[0] ?? 0
      if (counts.size >= MAX_COUNTS) counts.clear()
      counts.set(term, count)
    }
    return count
  }
  const forget = (): void => {
    counts.clear()
    total = undefined
  }
  const refresh = (): void => {
    const [current] = dataVersion.column<number>()
    if (current !== version) forget()
    version = current
  }
  const count = (): number => {
    refresh()
    total ??= countAll.column<number>()[0] ?? 0
    return total
  }
  return {
    count,
    forget,
    of (query) {
      const all = count()
      const terms = new Map<string, string>()
      for (const word of queryWords(query)) {
        // a compound name that is not in the index as one word may be there as several: maxTasks, "max tasks"
        const isSplit = word.parts.length > 0 && frequency(word.text) === 0
        for (const { stem, text } of isSplit ? word.parts : [word]) if (!terms.has(stem)) terms.set(stem, text)
      }
      return [...terms].map(([stem, term]) => {
        const df = Math.min(frequency(term), all)
        return { term, stem, passages: df, idf: Math.log(1 + (all - df + 0.5) / (df + 0.5)) }
      }).sort((a, b) => b.idf - a.idf || (a.term < b.term ? -1 : 1)).slice(0, MAX_TERMS)
    }
  }
}

/** The best passages for a query: by coverage, the share of the terms' idf found in a passage, then by BM25. */
export function rankPassages (database: SqliteDatabase, weights: TermWeights, query: string, limit: number,
  threshold: number): RankedPassage[] {
  const terms = weights.of(query)
  const total = terms.reduce((sum, term) => sum + term.idf, 0)
  const indexed = terms.filter(term => term.passages > 0)
  if (indexed.length === 0) return []
  let covered = new Map<number, number>()
  let lists: SplitTerms = { essential: [], others: [] }
  for (const floor of [...EASY_THRESHOLDS.filter(easy => easy > threshold), threshold]) {
    lists = splitTerms(indexed, floor * total)
    covered = coverage(database, lists, floor * total)
    if (covered.size >= limit) break
  }
  const scores = [...covered].map(([id, sum]) => ({ id, score: Math.min(1, sum / total) }))
  return breakTies(database, scores, lists, limit)
}

interface SplitTerms { readonly essential: readonly WeightedTerm[], readonly others: readonly WeightedTerm[] }

/**
 * Terms whose idf together is below the floor cannot bring a passage above it. So only the lists of the other,
 * essential terms, which are the rarest, are read in full: every passage above the floor is in one of them.
 */
function splitTerms (terms: readonly WeightedTerm[], floor: number): SplitTerms {
  let start = terms.length
  for (let sum = 0; start > 1; start--) {
    sum += (terms[start - 1] as WeightedTerm).idf
    if (sum >= floor - EPSILON) break
  }
  return { essential: terms.slice(0, start), others: terms.slice(start) }
}

function coverage (database: SqliteDatabase, { essential, others }: SplitTerms, floor: number): Map<number, number> {
  const rows = database.prepare('SELECT rowid FROM term WHERE term MATCH ?')
  const sums = new Map<number, number>()
  for (const { term, idf } of essential) {
    for (const id of rows.column<number>(quote(term))) sums.set(id, (sums.get(id) ?? 0) + idf)
  }
  const among = essential.map(({ term }) => quote(term)).join(' OR ')
  for (const { term, idf } of others) {
    for (const id of rows.column<number>(`${quote(term)} AND (${among})`)) sums.set(id, (sums.get(id) ?? 0) + idf)
  }
  for (const [id, sum] of sums) if (sum < floor - EPSILON) sums.delete(id)
  return sums
}

function breakTies (database: SqliteDatabase, scores: RankedPassage[], { essential, others }: SplitTerms,
  limit: number): RankedPassage[] {
  if (scores.length === 0) return []
  scores.sort((a, b) => b.score - a.score)
  const last = (scores[Math.min(limit, scores.length) - 1] as RankedPassage).score
  const near = scores.filter(({ score }) => score >= last - EPSILON)
  const among = essential.map(({ term }) => quote(term)).join(' OR ')
  const all = [...essential, ...others].map(({ term }) => quote(term)).join(' OR ')
  const rows = database.prepare('SELECT rowid AS id, bm25(term, 2.0, 1.0) AS rank FROM term WHERE term MATCH ?')
    .all<{ id: number, rank: number }>(others.length === 0 ? among : `(${among}) AND (${all})`)
  const ranks = new Map(rows.map(row => [row.id, row.rank]))
  const rankOf = ({ id }: RankedPassage): number => ranks.get(id) ?? 0
  const compare = (a: RankedPassage, b: RankedPassage): number =>
    Math.abs(b.score - a.score) > EPSILON ? b.score - a.score : rankOf(a) - rankOf(b) || a.id - b.id
  return near.sort(compare).slice(0, limit)
}

function quote (term: string): string {
  return `"${term.replaceAll('"', '""')}"`
}
