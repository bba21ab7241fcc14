import { distance } from 'fastest-levenshtein'

/** Longer names are not compared: the cost is quadratic, and nobody mistypes that much. */
const MAX_COMPARED_CHARS = 100

/** The candidate that was most likely meant: at most max(2, a third of its length) edits away. */
export function nearest (given: string, candidates: readonly string[]): string | undefined {
  if (given.length > MAX_COMPARED_CHARS) return undefined
  let best: string | undefined
  let bestDistance = Infinity
  for (const candidate of candidates) {
    if (candidate.length > MAX_COMPARED_CHARS) continue
    const edits = distance(given.toLowerCase(), candidate.toLowerCase())
    if (edits < bestDistance && edits <= Math.max(2, Math.floor(candidate.length / 3)) && edits < candidate.length) {
      best = candidate
      bestDistance = edits
    }
  }
  return best
}
