import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { InvalidStateKeyError } from '../basics/errors.js'

const VERSION = 'v1'
/** As long as the output of the hash (RFC 2104, section 3). */
const MIN_KEY_BYTES = 32

/** A key, or a function for one that is read later: it throws as long as the key is not known. */
export type StateKey = Buffer | string | (() => Buffer | string)

export function isStateKey (value: unknown): value is StateKey {
  return typeof value === 'string' || typeof value === 'function' || Buffer.isBuffer(value)
}

/** Why a state is refused: the state of another caller or call gets the answer for one that was never issued. */
export type StateFault = 'unknown' | 'expired'

/**
 * Signs state that a caller keeps between two of its requests. It is valid for the key that signed it, for the same
 * call and until it expires. It is signed, not encrypted: the caller can read it.
 */
export class SignedStates {
  readonly #key: () => Buffer | string
  readonly #maxChars: number

  /**
   * @param key processes that share it accept one another's states; default: random
   * @param maxChars the longest state that is read
   * @throws INVALID_STATE_KEY, also at the first use of a key that a function returns
   */
  constructor (key: StateKey = randomBytes(MIN_KEY_BYTES), maxChars = 1_000) {
    if (typeof key !== 'function') checkKey(key)
    this.#key = typeof key === 'function' ? key : () => key
    this.#maxChars = maxChars
  }

  /**
   * @param call any JSON value that identifies the call; the order of keys does not matter
   * @param stepMs the end is rounded up to a multiple of it: until then the same value has the same text
   */
  sign (value: unknown, call: unknown, ttlMs: number, stepMs = 1): string {
    const until = Math.ceil((Date.now() + ttlMs) / stepMs) * stepMs
    const payload = Buffer.from(JSON.stringify({ value, call: digest(call), until })).toString('base64url')
    return `${VERSION}.${payload}.${this.#mac(payload)}`
  }

  /** Returns the signed value, or why the state is refused. */
  read (text: string, call: unknown): { readonly value: unknown } | { readonly fault: StateFault } {
    const [version, payload = '', mac = ''] = text.length > this.#maxChars ? [] : text.split('.')
    const expected = Buffer.from(this.#mac(payload))
    const actual = Buffer.from(mac)
    if (version !== VERSION || actual.length !== expected.length || !timingSafeEqual(actual, expected)) return { fault: 'unknown' }
    const state = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { value: unknown, call: string, until: number }
    if (state.call !== digest(call)) return { fault: 'unknown' }
    return state.until < Date.now() ? { fault: 'expired' } : { value: state.value }
  }

  #mac (payload: string): string {
    return createHmac('sha256', checkKey(this.#key())).update(`${VERSION}.${payload}`).digest('base64url')
  }
}

/** @throws INVALID_STATE_KEY */
function checkKey<Key extends Buffer | string> (key: Key): Key {
  const bytes = Buffer.byteLength(key)
  if (bytes < MIN_KEY_BYTES) throw new InvalidStateKeyError(bytes)
  return key
}

function digest (call: unknown): string {
  return createHash('sha256').update(JSON.stringify(canonical(call)) ?? '').digest('base64url')
}

/** A value that does not depend on the order of keys. */
function canonical (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value
  return { keys: Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([key, child]) => [key, canonical(child)]) }
}
