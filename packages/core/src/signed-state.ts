import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { InvalidStateKeyError } from './errors.js'

const VERSION = 'v1'
/** As long as the output of the hash (RFC 2104, section 3). */
const MIN_KEY_BYTES = 32

/** Why a state is refused. */
export type StateFault = 'forged' | 'foreign' | 'expired'

/**
 * Signs state that a caller keeps between two of its requests. It is valid for the key that signed it, for the same
 * call and until it expires. It is signed, not encrypted: the caller can read it.
 */
export class SignedStates {
  readonly #key: Buffer
  readonly #maxChars: number

  /**
   * @param key processes that share it accept one another's states; default: random
   * @param maxChars the longest state that is read
   * @throws INVALID_STATE_KEY
   */
  constructor (key: Buffer | string = randomBytes(MIN_KEY_BYTES), maxChars = 1_000) {
    this.#key = Buffer.from(key)
    if (this.#key.length < MIN_KEY_BYTES) throw new InvalidStateKeyError(this.#key.length)
    this.#maxChars = maxChars
  }

  /** @param call any JSON value that identifies the call; the order of keys does not matter */
  sign (value: unknown, call: unknown, ttlMs: number): string {
    const payload = Buffer.from(JSON.stringify({ value, call: digest(call), until: Date.now() + ttlMs })).toString('base64url')
    return `${VERSION}.${payload}.${this.#mac(payload)}`
  }

  /** Returns the signed value, or why the state is refused. */
  read (text: string, call: unknown): { readonly value: unknown } | { readonly fault: StateFault } {
    const [version, payload = '', mac = ''] = text.length > this.#maxChars ? [] : text.split('.')
    const expected = Buffer.from(this.#mac(payload))
    const actual = Buffer.from(mac)
    if (version !== VERSION || actual.length !== expected.length || !timingSafeEqual(actual, expected)) return { fault: 'forged' }
    const state = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { value: unknown, call: string, until: number }
    if (state.call !== digest(call)) return { fault: 'foreign' }
    return state.until < Date.now() ? { fault: 'expired' } : { value: state.value }
  }

  #mac (payload: string): string {
    return createHmac('sha256', this.#key).update(`${VERSION}.${payload}`).digest('base64url')
  }
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
