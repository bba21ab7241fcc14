const FIRST_MS = 1_000
const MAX_PAUSE_MS = 3_600_000

/** The wait after a failed try in ms: 1 s, doubled with every try up to one hour; the upper half of it is random. */
export function pushBackoff (tries: number, random: () => number = Math.random): number {
  const longest = Math.min(MAX_PAUSE_MS, FIRST_MS * 2 ** Math.min(tries, 30))
  return Math.round(longest / 2 + random() * longest / 2)
}
