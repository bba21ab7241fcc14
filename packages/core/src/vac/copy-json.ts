/** Deepest nesting of a value; a cycle is endless. */
export const MAX_OBJECT_DEPTH = 128

/** Counted for each value, since objects cost more than their text. */
const CHARS_PER_VALUE = 32

/** The value is not one that an interpreter may give. */
export class ExcessError extends Error {}

/** Characters of JSON that values may still have. */
export interface JsonRoom {
  readonly max: number
  left: number
}

/**
 * What JSON.parse(JSON.stringify(value)) makes of a value, in one pass that stops where there is too much of it. Texts
 * are not copied: parsing 8 MB of JSON blocks the event loop for 60 ms. Half of a surrogate pair becomes U+FFFD.
 * @throws ExcessError; what a bigint or the `toJSON` of an object throws
 */
export function copyJson (value: unknown, room: JsonRoom): unknown {
  const copy = (given: unknown, key: string | number, depth: number, isForm = false): unknown => {
    room.left -= typeof key === 'string' ? Math.max(CHARS_PER_VALUE, key.length) : CHARS_PER_VALUE
    if (typeof given === 'string') room.left -= given.length
    if (room.left < 0) throw new ExcessError(`an object of more than ${room.max} characters of JSON, at ${CHARS_PER_VALUE} for each value`)
    if (typeof given !== 'object' || given === null) return scalar(given)
    if (depth > MAX_OBJECT_DEPTH) throw new ExcessError(`an object that is nested more than ${MAX_OBJECT_DEPTH} levels deep, or contains itself`)
    const { toJSON } = given as { toJSON?: unknown }
    // what the method returns may be the object itself
    if (typeof toJSON === 'function' && !isForm) return copy(toJSON.call(given, String(key)), key, depth + 1, true)
    if (given instanceof Number || given instanceof String || given instanceof Boolean) return scalar(given.valueOf())
    if (Array.isArray(given)) {
      const items: unknown[] = []
      for (let i = 0; i < given.length; i++) items.push(copy(given[i], i, depth + 1) ?? null)
      return items
    }
    const members: Record<string, unknown> = {}
    for (const key of Object.keys(given)) {
      const member = copy((given as Record<string, unknown>)[key], key, depth + 1)
      if (member === undefined) continue
      if (key === '__proto__') Object.defineProperty(members, key, { value: member, enumerable: true, configurable: true, writable: true })
      else members[key.toWellFormed()] = member
    }
    return members
  }
  return copy(value, '', 0)
}

/** As JSON.stringify treats values that are not objects. */
function scalar (value: unknown): unknown {
  switch (typeof value) {
    case 'string': return value.toWellFormed()
    // not -0
    case 'number': return Number.isFinite(value) ? value + 0 : null
    case 'function':
    case 'symbol': return undefined
    // throws, unless the application has defined a form
    case 'bigint': return JSON.parse(JSON.stringify(value))
    default: return value
  }
}
