/** Counted for each value besides the characters of texts. */
const CHARS_PER_VALUE = 8

/** `left` without about the characters of a value's JSON. It reads no more of the value than that. */
export function charsLeft (value: unknown, left: number): number {
  left -= CHARS_PER_VALUE
  if (typeof value === 'string') return left - value.length
  if (typeof value !== 'object' || value === null) return left
  for (const key in value) {
    left = charsLeft((value as Record<string, unknown>)[key], left - key.length)
    if (left < 0) break
  }
  return left
}
