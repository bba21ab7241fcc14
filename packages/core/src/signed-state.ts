import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { InvalidStateKeyError } from './errors.js'

const VERSION = 'v1'
/** As long as what it makes (RFC 2104, section 3). */
const MIN_KEY_BYTES = 32

/** Why a state is refused. */
export type StateFault = 'forged' | 'foreign' | 'expired'

/**
 * Signs what a caller holds for us between two of its requests. A state is read by the key that made it, for the call that it
 * was made for, until its time is over. It is signed, not hidden: the caller can read it.
 */
export class SignedStates {
  readonly #key: Buffer
  readonly #maxChars: number

  /** With a key of their own, several processes read one another's states. `maxChars` is the longest state looked at. @throws INVALID_STATE_KEY */
  constructor (key: Buffer | string = randomBytes(MIN_KEY_BYTES), maxChars = 1_000) {
    this.#key = Buffer.from(key)
    if (this.#key.length < MIN_KEY_BYTES) throw new InvalidStateKeyError(this.#key.length)
    this.#maxChars = maxChars
  }

  /** `call` is any JSON value that names what the state belongs to; objects with the same keys in another order are the same. */
  sign (value: unknown, call: unknown, ttlMs: number): string {
    const payload = Buffer.from(JSON.stringify({ value, call: digest(call), until: Date.now() + ttlMs })).toString('base64url')
    return `${VERSION}.${payload}.${this.#mac(payload)}`
  }

  /** What was signed, or why it is refused. */
  read (text: string, call: unknown): { readonly value: unknown } | { readonly fault: StateFault } {
    const [version, payload = '', mac = ''] = text.length > this.#maxChars ? [] : text.split('.')
    const expected = Buffer.from(this.#mac(payload))
    const given = Buffer.from(mac)
    if (version !== VERSION || given.length !== expected.length || !timingSafeEqual(given, expected)) return { fault: 'forged' }
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

/** The same arguments in another order are the same arguments. */
function canonical (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value
  return { keys: Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([key, child]) => [key, canonical(child)]) }
}
