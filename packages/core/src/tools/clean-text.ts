import { beginning } from '../basics/well-formed.js'

/** Longest text of a definition, such as a description, in characters. */
export const MAX_TEXT_CHARS = 16_384

/**
 * Characters that people do not see and models read: controls, and what Unicode lists as default ignorable (UAX #44),
 * with bidirectional overrides, tag characters and variation selectors.
 */
const HIDDEN = /[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u

/**
 * The same, without normal uses: a joiner between letters or emoji (UAX #31, section 2.3) and one variation selector
 * after a visible character.
 */
const REMOVED = new RegExp([
  '(?!\\n|\\t|\\u200C|\\u200D|\\uFE0E|\\uFE0F)[\\p{Cc}\\p{Cs}\\p{Default_Ignorable_Code_Point}]',
  '(?<![\\p{L}\\p{M}\\p{Emoji}])(?:\\u200C|\\u200D)',
  '(?:\\u200C|\\u200D)(?![\\p{L}\\p{M}\\p{Emoji}])',
  '(?<![\\p{L}\\p{N}\\p{P}\\p{S}])(?:\\uFE0E|\\uFE0F)'
].join('|'), 'gu')

/** A text of another server without hidden characters, cut at `maxChars`. */
export function cleanText (text: string, maxChars = MAX_TEXT_CHARS): string {
  const bounded = text.length > maxChars ? `${beginning(text, maxChars - 1)}…` : text
  return HIDDEN.test(bounded) ? bounded.replace(/\r\n?|[\u2028\u2029]/g, '\n').replace(REMOVED, '') : bounded
}
