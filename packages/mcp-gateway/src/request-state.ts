import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { InvalidStateError } from './errors.js'

/** What a call is: a state belongs to one and fits no other. */
export interface CallIdentity { readonly owner?: string | undefined, readonly server: string, readonly tool: string, readonly args: unknown }

interface State { readonly id: string, readonly call: string, readonly until: number }

/** Longest state looked at, in characters. */
const MAX_CHARS = 1_000
const VERSION = 'v1'

/** Makes and reads `requestState`: a caller holds it, so it is signed, ends, and names its call by a digest. */
export class RequestStates {
  readonly #key: Buffer

  constructor (key: Buffer | string = randomBytes(32)) {
    this.#key = Buffer.from(key)
  }

  sign (id: string, call: CallIdentity, ttlMs: number): string {
    const state: State = { id, call: digest(call), until: Date.now() + ttlMs }
    const payload = Buffer.from(JSON.stringify(state)).toString('base64url')
    return `${VERSION}.${payload}.${this.#mac(payload)}`
  }

  /** The id that was signed. @throws MCP_INVALID_STATE */
  read (text: string, call: CallIdentity): string {
    const [version, payload = '', mac = ''] = text.length > MAX_CHARS ? [] : text.split('.')
    const expected = Buffer.from(this.#mac(payload))
    const given = Buffer.from(mac)
    if (version !== VERSION || given.length !== expected.length || !timingSafeEqual(given, expected)) throw new InvalidStateError('its requestState is not of this gateway')
    const { id, call: wanted, until } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as State
    if (wanted !== digest(call)) throw new InvalidStateError('its requestState is of another caller, server, tool or other arguments')
    if (until < Date.now()) throw new InvalidStateError('its question is too old')
    return id
  }

  #mac (payload: string): string {
    return createHmac('sha256', this.#key).update(`${VERSION}.${payload}`).digest('base64url')
  }
}

function digest ({ owner, server, tool, args }: CallIdentity): string {
  return createHash('sha256').update(JSON.stringify([owner ?? null, server, tool, canonical(args)])).digest('base64url')
}

/** The same arguments in another order are the same arguments. */
function canonical (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([key, child]) => [key, canonical(child)])
}
