import type { SqliteDatabase } from '@polyvac/sqlite'
import { isUsual } from '../language/common-stems.js'
import { stemOf, withoutMarks } from '../language/languages.js'
import { isSignedName } from '../language/terms.js'
import { LIKENESS_OF_MISTAKES, MAX_SIMILAR, MIN_CORRECTED, SAME_LETTERS, TWO_MISTAKES_LENGTH } from './parameters.js'

/** Words of the index that one word is compared with. */
const MAX_COMPARED = 5_000
/** Endings that the stemmer of the index removes, longest first. */
const ENDINGS = `ations ation ement ments ment ating ated ates ators ator izing ized izes ities ity ness ings ing ions ion ally
able ible ance ence ers ies ied ive er ed es ly al or e y s`.split(/\s+/)
const MAX_ENDING = Math.max(...ENDINGS.map(ending => ending.length))
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz'

export interface Similar {
  readonly words: readonly string[]
  /** The share of the word's weight that they have. */
  readonly likeness: number
}

/** Finds the words of an index that are within a Damerau distance of 1, of 2 from eight letters on. */
export function similarWords (database: SqliteDatabase): (word: string, stems: readonly string[]) => Similar {
  const range = database.prepare('SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?')
  const equal = database.prepare('SELECT term, doc FROM json_each(?) AS start CROSS JOIN vocabulary ON term = start.value')
  return (raw, stems) => {
    // as the index has it
    const word = withoutMarks(raw)
    const distances = [...new Set([word, ...stems])].filter(form => form.length >= MIN_CORRECTED).map(distanceFrom)
    // @keyed none: it lives for the correction of one word; MAX_COMPARED
    let nearest = new Map<string, number>()
    let least: number = mistakesIn(word)
    const compare = ({ term, doc }: { readonly term: string, readonly doc: number }): void => {
      const distance = Math.min(...distances.map(distanceTo => distanceTo(term)))
      if (distance < least) nearest = new Map()
      if (distance <= least) nearest.set(term, doc)
      least = Math.min(least, distance)
    }
    const prefix = word.slice(0, SAME_LETTERS)
    range.all<{ term: string, doc: number }>(prefix, `${prefix}\u{10ffff}`, MAX_COMPARED).forEach(compare)
    // a mistake among the first letters is rarer, and to look for it takes longer
    if (nearest.size === 0 || least > 1) {
      const starts = new Set(startsOf(word).map(other => stemOf(other, 'en')))
      equal.all<{ term: string, doc: number }>(JSON.stringify([...starts])).forEach(compare)
    }
    const words = [...nearest].sort(([, a], [, b]) => b - a).slice(0, MAX_SIMILAR).map(([term]) => term)
    return { words, likeness: words.length === 0 ? 1 : LIKENESS_OF_MISTAKES[least] as number }
  }
}

/** The nearest of some stems to a word, within the same distance. */
export function nearestStems (word: string, stems: Iterable<string>): Similar {
  const distanceTo = distanceFrom(withoutMarks(word))
  let words: string[] = []
  let least: number = mistakesIn(word)
  for (const stem of stems) {
    const distance = distanceTo(stem)
    if (distance < least) words = []
    if (distance <= least) words.push(stem)
    least = Math.min(least, distance)
  }
  return { words: words.slice(0, MAX_SIMILAR), likeness: LIKENESS_OF_MISTAKES[least] as number }
}

/** Whether a search corrects a word that the index lacks: numbers, short words and usual English ones are not. */
export function isCorrected (word: string): boolean {
  return word.length >= MIN_CORRECTED && /^\p{L}[\p{L}\p{M}]*$/u.test(word) && !isSignedName(word) && !isUsual(stemOf(word, 'en'))
}

function mistakesIn ({ length }: string): 1 | 2 { return length >= TWO_MISTAKES_LENGTH ? 2 : 1 }

/** The word with another beginning: one letter changed, left out, added or exchanged with the next. */
function startsOf (word: string): string[] {
  if (!/^[a-z]/.test(word)) return []
  const found: string[] = []
  for (let at = 0; at < SAME_LETTERS; at++) {
    const [before, letter, after] = [word.slice(0, at), word[at] as string, word.slice(at + 1)]
    found.push(before + after, `${before}${after[0] ?? ''}${letter}${after.slice(1)}`)
    for (const other of ALPHABET) found.push(before + other + after, before + other + letter + after)
  }
  return found
}

/**
 * Measures the distance of a word to stems of the index, each with the ending that fits best: Infinity where there are
 * more mistakes than a word of its length has. Only a stem that begins like the word is compared with endings, and only
 * with those that the stemmer removes from it: "gram" is not the stem of "gramity".
 */
function distanceFrom (word: string): (stem: string) => number {
  const most = mistakesIn(word)
  const table = new DistanceTable(word, most)
  return stem => {
    if (stem.length < word.length - most - MAX_ENDING || stem.length > word.length + most) return Infinity
    let least = table.distance(stem)
    if (stem.length < 4 || least === 0) return least
    // "properti" and "propert-y"
    const root = stem.endsWith('i') ? stem.slice(0, -1) : stem
    if (!table.isNear(root)) return least
    const compare = (form: string): void => {
      const distance = table.distance(form)
      if (distance < least && stemOf(form, 'en') === stem) least = distance
    }
    for (const ending of ENDINGS) {
      compare(stem + ending)
      if (root !== stem && /^[ey]/.test(ending)) compare(root + ending)
    }
    return least
  }
}

/**
 * The optimal string alignment distances of one word to others. Words with the same first letters share their rows of
 * the table, and the rows end where no further letters can bring the distance down to `most`: of the 1,000 words of a
 * range, in order, about 1 row is calculated for each.
 */
class DistanceTable {
  readonly #word: string
  readonly #most: number
  /** Row i has the distances of the first i letters of `#last` to each beginning of the word. */
  readonly #rows: Uint8Array[]
  /** The lowest value of each row. */
  readonly #least: Uint8Array
  #last = ''
  #known = 0

  constructor (word: string, most: number) {
    this.#word = word
    this.#most = most
    this.#rows = Array.from({ length: word.length + most + 1 }, () => Uint8Array.from({ length: word.length + 1 }, (_, at) => at))
    this.#least = new Uint8Array(this.#rows.length)
  }

  distance (other: string): number {
    if (Math.abs(other.length - this.#word.length) > this.#most || !this.isNear(other)) return Infinity
    const distance = (this.#rows[other.length] as Uint8Array)[this.#word.length] as number
    return distance > this.#most ? Infinity : distance
  }

  /** Whether a beginning of the word is within the distance of another one, at most `most` longer. */
  isNear (other: string): boolean {
    let at = 0
    while (at < this.#known && at < other.length && other.charCodeAt(at) === this.#last.charCodeAt(at)) at++
    this.#last = other
    for (; at < other.length && (this.#least[at] as number) <= this.#most; at++) this.#addRow(at + 1)
    this.#known = at
    return (this.#least[at] as number) <= this.#most
  }

  #addRow (i: number): void {
    const [word, other] = [this.#word, this.#last]
    const [row, before] = [this.#rows[i], this.#rows[i - 1]] as [Uint8Array, Uint8Array]
    const letter = other.charCodeAt(i - 1)
    let least = row[0] = i
    for (let j = 1; j <= word.length; j++) {
      const isSame = word.charCodeAt(j - 1) === letter
      let value = Math.min(before[j] as number + 1, row[j - 1] as number + 1, before[j - 1] as number + (isSame ? 0 : 1))
      if (i > 1 && j > 1 && word.charCodeAt(j - 2) === letter && word.charCodeAt(j - 1) === other.charCodeAt(i - 2)) {
        value = Math.min(value, (this.#rows[i - 2] as Uint8Array)[j - 2] as number + 1)
      }
      row[j] = value
      if (value < least) least = value
    }
    this.#least[i] = least
  }
}
