import type { SharedValues } from '@polyvac/tasks'
import type { JWK } from 'jose'
import { PushSigningKeysError } from './errors.js'
import { SigningKeys, type NotificationClaims, type PushKeys } from './signing-keys.js'

/** The name of the keys among the shared values. */
const NAME = 'push-signing-keys'
/** Keys that are kept by a rotation: the new one, the last one, and the one before it. */
const MAX_KEYS = 3
/** Age from which a process reads the keys again before it signs, and before it publishes them. */
const SIGN_AGE_MS = 60_000
const PUBLISH_AGE_MS = 1_000

/**
 * Keys that all replicas share through the store of their tasks: each signs with the same key and publishes the same
 * set. The first replica makes the first key.
 * @example
 * const tasks = postgresTaskStore({ url: process.env.DATABASE_URL })
 * await tasks.open()
 * await app.register(a2aPlugin, { vacs, tasks, push: { keys: new SharedSigningKeys(tasks.shared) } })
 */
export class SharedSigningKeys implements PushKeys {
  readonly #shared: SharedValues
  #keys: SigningKeys | undefined
  #text = ''
  #readAt = -Infinity
  #reading: Promise<SigningKeys> | undefined

  constructor (shared: SharedValues) {
    this.#shared = shared
  }

  async publicJwks (): Promise<{ keys: JWK[] }> {
    return (await this.#latest(PUBLISH_AGE_MS)).publicJwks()
  }

  async sign (claims: NotificationClaims): Promise<string> {
    return await (await this.#latest(SIGN_AGE_MS)).sign(claims)
  }

  async signCard (canonical: string, jku: string): Promise<{ protected: string, signature: string }> {
    return await (await this.#latest(SIGN_AGE_MS)).signCard(canonical, jku)
  }

  /** Puts a new key in front: replicas publish it within a second, and sign with it within a minute. */
  async rotate (): Promise<void> {
    const { keys } = (await this.#latest(0)).privateJwks()
    const next = (await SigningKeys.generate()).privateJwks().keys
    const text = toText([...next, ...keys].slice(0, MAX_KEYS))
    // another process that rotates at the same time has done the same
    await this.#shared.replace(NAME, this.#text, text)
    await this.#latest(0)
  }

  /** The keys as they were at most `ageMs` ago; older ones while the store cannot be read. */
  async #latest (ageMs: number): Promise<SigningKeys> {
    if (this.#keys !== undefined && performance.now() - this.#readAt < ageMs) return this.#keys
    this.#reading ??= this.#read().finally(() => { this.#reading = undefined })
    try {
      return await this.#reading
    } catch (error) {
      if (this.#keys === undefined || error instanceof PushSigningKeysError) throw error
      this.#readAt = performance.now()
      return this.#keys
    }
  }

  async #read (): Promise<SigningKeys> {
    const text = await this.#shared.get(NAME) ??
      await this.#shared.putIfAbsent(NAME, toText((await SigningKeys.generate()).privateJwks().keys))
    if (text !== this.#text || this.#keys === undefined) {
      this.#keys = await SigningKeys.from(parse(text), 'the task store')
      this.#text = text
    }
    this.#readAt = performance.now()
    return this.#keys
  }
}

function toText (keys: readonly JWK[]): string { return JSON.stringify({ keys }) }

// the parser's own text quotes the keys
function parse (text: string): { keys: JWK[] } {
  try {
    return JSON.parse(text) as { keys: JWK[] }
  } catch {
    throw new PushSigningKeysError('the task store', 'they are not JSON; delete them to have new ones made')
  }
}
