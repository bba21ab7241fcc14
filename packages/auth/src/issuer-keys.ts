import { isRecord, type Resolve } from '@polyvac/core/plugin'
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { IssuerUnavailableError } from './errors.js'
import { IssuerRequests } from './issuer-request.js'

/** Age in ms at which keys are read again, behind the back of the callers. */
export const KEYS_MAX_AGE_MS = 10 * 60_000
/** Age in ms up to which keys are used while the issuer does not answer. */
export const KEYS_MAX_STALE_MS = 24 * 3_600_000
/** Shortest time in ms between two reads, whatever tokens callers send. */
export const KEYS_COOLDOWN_MS = 30_000
/** The same while no keys are known. */
export const KEYS_RETRY_MS = 5_000
/** Most keys of an issuer. */
export const MAX_KEYS = 100

export interface IssuerKeysOptions {
  readonly issuer: string
  /** Address of the keys. Default: the one that the metadata of the issuer names. */
  readonly jwks?: string | undefined
  readonly resolve?: Resolve | undefined
  /** The time in ms. */
  readonly now?: () => number
}

/**
 * The public keys of an issuer. They are read at first use, again when they are old, and when a token names an unknown
 * key. While the issuer does not answer, the last ones stay in use.
 */
export class IssuerKeys {
  readonly #issuer: string
  readonly #jwks: string | undefined
  readonly #requests: IssuerRequests
  readonly #now: () => number
  #find: JWTVerifyGetKey | undefined
  #readAt = -Infinity
  #triedAt = -Infinity
  #reading: Promise<void> | undefined

  constructor ({ issuer, jwks, resolve, now = () => performance.now() }: IssuerKeysOptions) {
    this.#issuer = issuer
    this.#jwks = jwks
    this.#now = now
    this.#requests = new IssuerRequests([new URL(issuer), ...jwks === undefined ? [] : [new URL(jwks)]], resolve)
  }

  /** For jose. @throws ISSUER_UNAVAILABLE (503) where no keys are known */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const age = this.#now() - this.#readAt
    if (age > KEYS_MAX_AGE_MS) {
      const reading = this.#read()
      if (age > KEYS_MAX_STALE_MS) {
        this.#find = undefined
        await reading
      }
    }
    if (this.#find === undefined) throw new IssuerUnavailableError(this.#issuer)
    try {
      return await this.#find(header, token)
    } catch (err) {
      if (!(err instanceof errors.JWKSNoMatchingKey)) throw err
      await this.#read()
      return await this.#find(header, token)
    }
  }

  /** Reads the keys, unless that was tried a moment ago. A failure leaves the keys as they were. */
  async #read (): Promise<void> {
    const pause = this.#find === undefined ? KEYS_RETRY_MS : KEYS_COOLDOWN_MS
    if (this.#reading === undefined && this.#now() - this.#triedAt >= pause) {
      this.#triedAt = this.#now()
      this.#reading = this.#readNow().catch(() => {}).finally(() => { this.#reading = undefined })
    }
    await this.#reading
  }

  async #readNow (): Promise<void> {
    const set = await this.#requests.readJson(this.#jwks ?? await this.#discover())
    const keys = isRecord(set) && Array.isArray(set.keys) ? set.keys.slice(0, MAX_KEYS) : undefined
    if (keys === undefined) throw new Error('no key set')
    this.#find = createLocalJWKSet({ keys } as JSONWebKeySet)
    this.#readAt = this.#now()
  }

  /** The address of the keys, by OpenID Connect Discovery or RFC 8414. */
  async #discover (): Promise<string> {
    const { origin, pathname } = new URL(this.#issuer)
    const path = pathname.replace(/\/$/, '')
    const read = async (url: string): Promise<string> => {
      const metadata = await this.#requests.readJson(url)
      const { issuer, jwks_uri: jwks } = isRecord(metadata) ? metadata : {}
      if (issuer !== this.#issuer || typeof jwks !== 'string') throw new Error(`${url} is not the metadata of ${this.#issuer}`)
      return jwks
    }
    return await read(`${origin}${path}/.well-known/openid-configuration`)
      .catch(async () => await read(`${origin}/.well-known/oauth-authorization-server${path}`))
  }
}
