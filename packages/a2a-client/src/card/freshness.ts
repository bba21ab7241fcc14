/** How long a card without `max-age` counts as fresh, and most with it, in ms. */
export const DEFAULT_FRESH_MS = 5 * 60_000
export const MAX_FRESH_MS = 24 * 3_600_000
/** A card that must not be kept is read once for the questions of this time, in ms. */
export const MIN_FRESH_MS = 1_000

/** How long a response is fresh by its `Cache-Control` (RFC 9111), in ms. */
export function freshFor (cacheControl: unknown): number {
  const text = typeof cacheControl === 'string' ? cacheControl.toLowerCase() : ''
  if (/\bno-(?:store|cache)\b/.test(text)) return MIN_FRESH_MS
  const seconds = /\bmax-age="?(\d{1,10})/.exec(text)?.[1]
  if (seconds === undefined) return DEFAULT_FRESH_MS
  return Math.min(MAX_FRESH_MS, Math.max(MIN_FRESH_MS, Number(seconds) * 1_000))
}
