import type { SqliteDatabase } from '@polyvac/sqlite'
import { queryWords } from './terms.js'

/** Document counts remembered; the memory is emptied when full, and after every change. */
const MAX_COUNTS = 10_000
/** Words of a query that count, the rarest ones: a query has 2,000 characters, so this cuts off next to nothing. */
const MAX_TERMS = 200
/** Thresholds tried before the caller's own, if that is lower: most searches find enough at the first, which is cheap. */
const EASY_THRESHOLDS = [0.7, 0.35]
/** Floating point leaves a full match a hair below 1. */
const EPSILON = 1e-9

export interface WeightedTerm {
  readonly term: string
  readonly stem: string
  readonly idf: number
  /** Passages that hold the term. */
  readonly found: number
}

export interface RankedPassage {
  readonly id: number
  readonly score: number
}

export interface TermWeights {
  /** The terms of a query that count, rarest first. */
  of (query: string): WeightedTerm[]
  /** Passages in the index. */
  count (): number
  /** After a change. Changes by other processes are noticed on their own. */
  forget (): void
}

/** idf = ln(1 + (N - df + 0.5) / (df + 0.5)); a term the index does not know has df 0 and weighs most. */
export function weighTerms (database: SqliteDatabase): TermWeights {
  const countTerm = database.prepare('SELECT count(*) FROM term WHERE term MATCH ?')
  const countAll = database.prepare('SELECT count(*) FROM passage')
  const dataVersion = database.prepare('PRAGMA data_version')
  const counts = new Map<string, number>()
  let total: number | undefined
  let version: number | undefined

  const found = (term: string): number => {
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
        // a compound name that nobody wrote as one word may still be there in words: maxTasks, "max tasks"
        const inWords = word.parts.length > 0 && found(word.text) === 0
        for (const { stem, text } of inWords ? word.parts : [word]) if (!terms.has(stem)) terms.set(stem, text)
      }
      return [...terms].map(([stem, term]) => {
        const df = Math.min(found(term), all)
        return { term, stem, found: df, idf: Math.log(1 + (all - df + 0.5) / (df + 0.5)) }
      }).sort((a, b) => b.idf - a.idf || (a.term < b.term ? -1 : 1)).slice(0, MAX_TERMS)
    }
  }
}

/** The best passages for a query: by coverage, the share of the terms' idf found in a passage, then by BM25. */
export function rankPassages (database: SqliteDatabase, weights: TermWeights, query: string, limit: number, threshold: number): RankedPassage[] {
  const terms = weights.of(query)
  const total = terms.reduce((sum, term) => sum + term.idf, 0)
  const known = terms.filter(term => term.found > 0)
  if (known.length === 0) return []
  let covered = new Map<number, number>()
  let lists = { essential: [] as WeightedTerm[], others: [] as WeightedTerm[] }
  for (const floor of [...EASY_THRESHOLDS.filter(easy => easy > threshold), threshold]) {
    lists = splitTerms(known, floor * total)
    covered = coverage(database, lists, floor * total)
    if (covered.size >= limit) break
  }
  const scores = [...covered].map(([id, sum]) => ({ id, score: Math.min(1, sum / total) }))
  return breakTies(database, scores, lists, limit)
}

/**
 * Terms whose idf together stays below the floor cannot lift a passage over it on their own. So only the other,
 * essential ones, which are the rarest, need their whole lists read: every passage over the floor is in one of those.
 */
function splitTerms (known: readonly WeightedTerm[], floor: number): { essential: WeightedTerm[], others: WeightedTerm[] } {
  let start = known.length
  for (let sum = 0; start > 1; start--) {
    sum += (known[start - 1] as WeightedTerm).idf
    if (sum >= floor - EPSILON) break
  }
  return { essential: known.slice(0, start), others: known.slice(start) }
}

function coverage (database: SqliteDatabase, { essential, others }: { essential: readonly WeightedTerm[], others: readonly WeightedTerm[] }, floor: number): Map<number, number> {
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

function breakTies (database: SqliteDatabase, scores: RankedPassage[], { essential, others }: { essential: readonly WeightedTerm[], others: readonly WeightedTerm[] }, limit: number): RankedPassage[] {
  if (scores.length === 0) return []
  scores.sort((a, b) => b.score - a.score)
  const last = (scores[Math.min(limit, scores.length) - 1] as RankedPassage).score
  const near = scores.filter(({ score }) => score >= last - EPSILON)
  const among = essential.map(({ term }) => quote(term)).join(' OR ')
  const all = [...essential, ...others].map(({ term }) => quote(term)).join(' OR ')
  const rows = database.prepare('SELECT rowid AS id, bm25(term, 2.0, 1.0) AS rank FROM term WHERE term MATCH ?')
    .all<{ id: number, rank: number }>(others.length === 0 ? among : `(${among}) AND (${all})`)
  const ranks = new Map(rows.map(row => [row.id, row.rank]))
  return near.sort((a, b) => Math.abs(b.score - a.score) > EPSILON ? b.score - a.score : (ranks.get(a.id) ?? 0) - (ranks.get(b.id) ?? 0) || a.id - b.id).slice(0, limit)
}

function quote (term: string): string {
  return `"${term.replaceAll('"', '""')}"`
}
