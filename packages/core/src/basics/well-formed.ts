// Half of a surrogate pair is a character only of JavaScript and of JSON's escapes: UTF-8 and protobuf have none, and
// strict JSON parsers (Go, Python, serde) refuse it. Each text of an interpreter, a memory, a tool or an upstream
// server passes one of these functions.

/** Deeper values stay unchanged: one level takes two frames of the stack. */
const MAX_DEPTH = 500

/** An escape in JSON of one half: text that was decoded from UTF-8 has no other. */
const ESCAPED_HALF = /\\u[dD][89a-fA-F]/

/** Joins the pairs that the chunks of a text cut in two. */
export class SurrogateJoin {
  /** The first half of a pair, whose other half comes with the next chunk. */
  #half = ''

  /** The chunk with the half before it and without one at its end; any other half becomes U+FFFD. */
  push (chunk: string): string {
    if (this.#half === '' && chunk.isWellFormed()) return chunk
    const text = this.#half + chunk
    const whole = beginning(text, text.length)
    this.#half = text.slice(whole.length)
    return whole.toWellFormed()
  }

  /** The text after the last chunk: U+FFFD where it ended in a half. */
  end (): string {
    return this.#half === '' ? '' : '\ufffd'
  }
}

/** The first characters of a text, at most `max`; a surrogate pair stays together. */
export function beginning (text: string, max: number): string {
  const last = text.charCodeAt(max - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? max - 1 : max)
}

/** The value with U+FFFD for each half in its texts and keys; the same value where it has none. It may have cycles. */
export function wellFormed<T> (value: T): T {
  if (typeof value === 'string') return value.toWellFormed() as T
  // @keyed none: it lives for one call; the objects of the value
  return replaced(value, 0, new Map()) as T
}

/** What JSON.parse returned for a text, with U+FFFD for each half. */
export function wellFormedJson (json: string, parsed: unknown): unknown {
  return ESCAPED_HALF.test(json) ? replaced(parsed, 0) : parsed
}

function replaced (value: unknown, depth: number, seen?: Map<object, unknown>): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value
  if (seen?.has(value) === true) return seen.get(value)
  // for a cycle
  seen?.set(value, value)
  const copy = Array.isArray(value) ? replacedItems(value, depth, seen) : replacedMembers(value, depth, seen)
  if (copy !== value) seen?.set(value, copy)
  return copy
}

function replacedItems (items: readonly unknown[], depth: number, seen?: Map<object, unknown>): readonly unknown[] {
  let copy: unknown[] | undefined
  for (let i = 0; i < items.length; i++) {
    const item = replaced(items[i], depth + 1, seen)
    if (item !== items[i]) (copy ??= [...items])[i] = item
  }
  return copy ?? items
}

function replacedMembers (members: object, depth: number, seen?: Map<object, unknown>): object {
  const entries = Object.entries(members)
  let isChanged = false
  for (const entry of entries) {
    const [key, member] = entry
    entry[0] = key.toWellFormed()
    entry[1] = replaced(member, depth + 1, seen)
    isChanged ||= entry[0] !== key || entry[1] !== member
  }
  return isChanged ? Object.fromEntries(entries) : members
}
