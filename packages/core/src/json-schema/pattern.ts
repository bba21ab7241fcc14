import { RE2JS } from 're2js'
import type { Check } from './check.js'

/** Larger patterns are not checked: `a{1000}` repeated a thousand times takes seconds to compile. */
const MAX_PATTERN_SIZE = 2_000
/** Compiling takes up to 10 us for each character. */
const STEPS_PER_SIZE = 60

/**
 * A pattern of a schema, run in an engine with linear time: in V8's, `^(a+)+$` blocks the event loop for minutes over
 * 30 characters.
 */
export class LinearPattern {
  readonly #expression: RE2JS
  readonly #stepsPerChar: number

  private constructor (expression: RE2JS) {
    this.#expression = expression
    this.#stepsPerChar = 3 + expression.programSize() / 32
  }

  /** Undefined for a pattern that this engine does not support, such as a look-ahead, and for one that is too large. */
  static compile (pattern: string, check: Check): LinearPattern | undefined {
    const size = sizeOf(pattern)
    if (size > MAX_PATTERN_SIZE) return undefined
    check.spend(size * STEPS_PER_SIZE)
    try {
      return new LinearPattern(RE2JS.compile(RE2JS.translateRegExp(pattern)))
    } catch {
      return undefined
    }
  }

  test (text: string, check: Check): boolean {
    check.spend(text.length * this.#stepsPerChar)
    return this.#expression.matcher(text).find()
  }
}

/** An upper bound of the work of compiling: repeats are copies, and a Unicode class is a table. */
function sizeOf (pattern: string): number {
  if (pattern.length > MAX_PATTERN_SIZE) return pattern.length
  let size = pattern.length
  let copies = 1
  for (const [text, after, min, max] of pattern.matchAll(/(.?)\{(\d+)(?:,(\d*))?\}|\\[pP]/gs)) {
    if (min === undefined) size += text.length + 25
    else if (after === ')') copies *= Math.max(1, Number(min), Number(max ?? 0))
    else size += Math.max(Number(min), Number(max ?? 0))
  }
  return size * copies
}
