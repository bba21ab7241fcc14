import { wellFormedJson } from '@polyvac/core/plugin'

/**
 * Deepest nesting of a message. From about 5,000 levels on values overflow the stack of code that walks or prints them.
 */
export const MAX_MESSAGE_DEPTH = 2_500

/** A message has one value at most for so many bytes of the limit: to parse many small ones takes longest. */
const BYTES_PER_VALUE = 40
const MIN_VALUES = 10_000

/** Shorter messages are within both bounds. */
const SHORT_CHARS = 2 * MAX_MESSAGE_DEPTH

const QUOTE = 34
const BACKSLASH = 92
const COMMA = 44

/**
 * Why a message is not parsed: parsing it would block the event loop, or its depth would overflow the stack. One pass
 * over the text outside of its strings.
 */
export function parseProblem (text: string, maxBytes: number): string | undefined {
  if (text.length < SHORT_CHARS) return undefined
  const maxValues = Math.max(MIN_VALUES, maxBytes / BYTES_PER_VALUE)
  let depth = 0
  let values = 0
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (char === QUOTE) i = endOfText(text, i)
    else if (char === COMMA) values++
    // brackets and braces differ by 32: [ { and ] }
    else if ((char | 32) === 123) {
      values++
      if (++depth > MAX_MESSAGE_DEPTH) return `is nested deeper than ${MAX_MESSAGE_DEPTH} levels`
    } else if ((char | 32) === 125) depth--
    if (values > maxValues) return `has more than ${Math.floor(maxValues)} values`
  }
  return undefined
}

/** The closing quote of the text that begins at `start`. */
function endOfText (text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return end
  }
  return text.length
}

export function parseJson (text: string): unknown {
  try {
    return wellFormedJson(text, JSON.parse(text))
  } catch {
    return undefined
  }
}
