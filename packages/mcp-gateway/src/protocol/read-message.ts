import { JsonScan, wellFormedJson } from '@polyvac/core/plugin'

/**
 * Deepest nesting of a message. From about 5,000 levels on values overflow the stack of code that walks or prints them.
 */
export const MAX_MESSAGE_DEPTH = 2_500

/** A message has one value at most for so many bytes of the limit: to parse many small ones takes longest. */
const BYTES_PER_VALUE = 40
const MIN_VALUES = 10_000

/** Shorter messages are within both bounds. */
const SHORT_CHARS = 2 * MAX_MESSAGE_DEPTH

/** Why a message is not parsed: parsing it would block the event loop, or its depth would overflow the stack. */
export function parseProblem (text: string, maxBytes: number): string | undefined {
  if (text.length < SHORT_CHARS) return undefined
  const maxValues = Math.max(MIN_VALUES, Math.floor(maxBytes / BYTES_PER_VALUE))
  const scan = new JsonScan({ depth: MAX_MESSAGE_DEPTH, values: maxValues, valuesOfName: 0 })
  scan.read(text)
  if (scan.exceeded === 'depth') return `is nested deeper than ${MAX_MESSAGE_DEPTH} levels`
  return scan.exceeded === 'values' ? `has more than ${maxValues} values` : undefined
}

export function parseJson (text: string): unknown {
  try {
    return wellFormedJson(text, JSON.parse(text))
  } catch {
    return undefined
  }
}
