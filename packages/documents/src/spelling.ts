import type { SqliteDatabase } from '@polyvac/sqlite'
import { stemOf, withoutMarks } from './languages.js'

/** Words of the index that a misspelled one may stand for. */
const MAX_SIMILAR = 3
/** Shorter words are not corrected: too many are similar. */
const MIN_LENGTH = 5
/** From this length on, two mistakes are corrected. */
const TWO_MISTAKES_LENGTH = 8
/** Letters that a word has in common with those of the index that it is compared with. */
const PREFIX = 2
/** Words of the index that one word is compared with. */
const MAX_COMPARED = 5_000
/** Likeness of a word that differs by so many mistakes. */
const LIKENESS = [1, 0.9, 0.6] as const
/** Endings that the stemmer of the index removes, longest first. */
const ENDINGS = `ations ation ement ments ment ating ated ates ators ator izing ized izes ities ity ness ings ing ions ion ally
able ible ance ence ers ies ied ive er ed es ly al or e y s`.split(/\s+/)
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz'

export interface Similar {
  readonly words: readonly string[]
  /** The share of the word's weight that they have. */
  readonly likeness: number
}

/** Finds the words of an index that are within a Damerau distance of 1, of 2 from eight letters on. */
export function similarWords (database: SqliteDatabase): (word: string, stems: readonly string[]) => Similar {
  const range = database.prepare('SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?')
  const one = database.prepare('SELECT term, doc FROM vocabulary WHERE term = ?')
  return (raw, stems) => {
    // as the index has it
    const word = withoutMarks(raw)
    if (word.length < MIN_LENGTH || !/^\p{L}[\p{L}\p{M}]*$/u.test(word)) return { words: [], likeness: 1 }
    const most = word.length >= TWO_MISTAKES_LENGTH ? 2 : 1
    const prefix = word.slice(0, PREFIX)
    const rows = range.all<{ term: string, doc: number }>(prefix, `${prefix}\u{10ffff}`, MAX_COMPARED)
    // a mistake among the first letters
    const starts = new Set(startsOf(word).flatMap(other => [other, stemOf(other, 'en')]))
    for (const start of starts) rows.push(...one.all<{ term: string, doc: number }>(start))
    const found = new Map<string, { distance: number, doc: number }>()
    for (const { term, doc } of rows) {
      const distance = Math.min(...[word, ...stems].map(form => form.length < MIN_LENGTH ? most + 1 : distanceTo(form, term, most)))
      if (distance <= most) found.set(term, { distance, doc })
    }
    const best = [...found].sort(([, a], [, b]) => a.distance - b.distance || b.doc - a.doc).slice(0, MAX_SIMILAR)
    const least = best[0]?.[1].distance ?? 0
    return { words: best.filter(([, { distance }]) => distance === least).map(([term]) => term), likeness: LIKENESS[least] ?? 1 }
  }
}

/** The word with another beginning: one letter changed, left out, added or exchanged with the next. */
function startsOf (word: string): string[] {
  if (!/^[a-z]/.test(word)) return []
  const found: string[] = []
  for (let at = 0; at < PREFIX; at++) {
    const [before, letter, after] = [word.slice(0, at), word[at] as string, word.slice(at + 1)]
    found.push(before + after, `${before}${after[0] ?? ''}${letter}${after.slice(1)}`)
    for (const other of ALPHABET) found.push(before + other + after, before + other + letter + after)
  }
  return found
}

/** The distance of a word to a stem of the index, with the ending that fits best. */
function distanceTo (word: string, stem: string, most: number): number {
  let least = Math.abs(word.length - stem.length) <= most ? distance(word, stem, most) : most + 1
  if (stem.length < 4 || least === 0) return least
  for (const ending of ENDINGS) {
    if (Math.abs(word.length - stem.length - ending.length) > most) continue
    least = Math.min(least, distance(word, stem + ending, most))
    // "properti" and "propert-y"
    if (stem.endsWith('i') && /^(?:e|y)/.test(ending)) least = Math.min(least, distance(word, stem.slice(0, -1) + ending, most))
  }
  return least
}

/** The optimal string alignment distance; `most + 1` where it is higher. */
function distance (a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  let [x, y] = [a.slice(start), b.slice(start)]
  let end = 0
  while (end < x.length && end < y.length && x.at(-1 - end) === y.at(-1 - end)) end++
  x = x.slice(0, x.length - end)
  y = y.slice(0, y.length - end)
  let before: number[] = []
  let last = Array.from({ length: y.length + 1 }, (_, index) => index)
  for (let i = 1; i <= x.length; i++) {
    const row = [i]
    for (let j = 1; j <= y.length; j++) {
      const same = x[i - 1] === y[j - 1] ? 0 : 1
      let least = Math.min((last[j] as number) + 1, (row[j - 1] as number) + 1, (last[j - 1] as number) + same)
      if (i > 1 && j > 1 && x[i - 1] === y[j - 2] && x[i - 2] === y[j - 1]) least = Math.min(least, (before[j - 2] as number) + 1)
      row.push(least)
    }
    if (Math.min(...row) > most) return most + 1
    before = last
    last = row
  }
  return Math.min(last[y.length] as number, most + 1)
}
