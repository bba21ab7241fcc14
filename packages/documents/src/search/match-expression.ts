import { ESSENTIAL_SHARE, MANY_PASSAGES } from './parameters.js'

/** A term of a query, as an index knows it. */
export interface MatchedTerm {
  /** The term as an expression of FTS5. */
  readonly match: string
  /** Number of passages that contain the term. */
  readonly passages: number
  readonly weight: number
}

/** Terms that are read, the rarest ones: FTS5 looks each up in every segment of the index, several times. */
const MAX_READ = 48
/** Passages in the lists of the terms that are read: 15 ms. The commonest terms are left out, never the rarest one. */
const MAX_ENTRIES = 60_000
/** Passages of the essential terms, each compared with every term that is read: 15 ms. */
const MAX_COMPARISONS = 150_000

/**
 * Makes an expression of FTS5 for passages with any of the terms, highest weight first. Where their lists are long, a
 * passage has an essential term: only the lists of the rarest are read in full. The order and the score of a passage
 * count all terms of the query, those that are left out here as well.
 */
export function matchOf (terms: readonly MatchedTerm[]): string | undefined {
  const found = withinEntries(terms.filter(({ passages }) => passages > 0))
  if (found.length === 0) return undefined
  if (entriesOf(found) <= MANY_PASSAGES) return anyOf(found)
  const floor = ESSENTIAL_SHARE * found.reduce((sum, { weight }) => sum + weight, 0)
  let start = found.length
  for (let sum = 0; start > 1; start--) {
    sum += (found[start - 1] as MatchedTerm).weight
    if (sum >= floor) break
  }
  // in a large index a common word is not essential next to a rarer one
  while (start > 1 && (found[start - 1] as MatchedTerm).passages > MANY_PASSAGES) start--
  while (start > 1 && entriesOf(found.slice(0, start)) * found.length > MAX_COMPARISONS) start--
  return start === found.length ? anyOf(found) : `(${anyOf(found.slice(0, start))}) AND (${anyOf(found)})`
}

/** The rarest terms, in the same order. */
function withinEntries (terms: readonly MatchedTerm[]): readonly MatchedTerm[] {
  const rarest = [...terms].sort((a, b) => a.passages - b.passages)
  let entries = 0
  const read = new Set(rarest.slice(0, MAX_READ).filter(({ passages }, at) => (entries += passages) <= MAX_ENTRIES || at === 0))
  return terms.filter(term => read.has(term))
}

function entriesOf (terms: readonly MatchedTerm[]): number {
  return terms.reduce((sum, { passages }) => sum + passages, 0)
}

function anyOf (terms: readonly MatchedTerm[]): string {
  return terms.map(({ match }) => match).join(' OR ')
}
