import { createHash } from 'node:crypto'
import {
  calculateJwkThumbprint, exportJWK, FlattenedSign, generateKeyPair, importJWK, SignJWT, type CryptoKey, type JWK
} from 'jose'
import { PushSigningKeysError } from './errors.js'

export const SIGNATURE_ALGORITHM = 'ES256'
/** How long a signature counts. Long enough for a slow receiver, too short for a recording to be of use. */
export const MAX_SIGNATURE_SECONDS = 300

/** What is signed with one notification. */
export interface NotificationClaims {
  /** Origin of the receiver's URL: what is meant for one receiver is of no use at another. */
  readonly aud: string
  /** Id of the delivery, the same at every try. */
  readonly jti: string
  readonly taskId: string
  /** Who sends. */
  readonly iss: string
  /** The body as sent; its SHA-256 is signed. */
  readonly body: string
}

/** What signs notifications and cards, and publishes its keys. */
export interface PushKeys extends Pick<SigningKeys, 'sign' | 'signCard'> {
  publicJwks (): { keys: JWK[] } | Promise<{ keys: JWK[] }>
}

/**
 * ES256 keys that sign notifications. The first one signs; all are published, so that receivers know the next and the
 * last one.
 * @example
 * const keys = await SigningKeys.from(JSON.parse(process.env.SIGNING_KEYS))
 * await app.register(a2aPlugin, { vacs, tasks, push: { keys } })
 */
export class SigningKeys {
  readonly #keys: readonly JWK[]
  readonly #key: CryptoKey
  readonly #kid: string

  private constructor (keys: readonly JWK[], key: CryptoKey, kid: string) {
    this.#keys = keys
    this.#key = key
    this.#kid = kid
  }

  /** One new key. */
  static async generate (): Promise<SigningKeys> {
    const { privateKey } = await generateKeyPair(SIGNATURE_ALGORITHM, { extractable: true })
    return await SigningKeys.from({ keys: [await exportJWK(privateKey)] })
  }

  /**
   * Keys as `privateJwks` gave them. To rotate, put a new one first and keep the old ones. Rejects with
   * PUSH_SIGNING_KEYS, which names `source` and never a key.
   */
  static async from (jwks: { readonly keys: readonly JWK[] }, source = 'this set'): Promise<SigningKeys> {
    const unusable = (reason: string): Error => new PushSigningKeysError(source, reason)
    if (!Array.isArray(jwks?.keys) || jwks.keys.length === 0) throw unusable('there are none; give { keys: [ … ] }')
    const keys: JWK[] = []
    for (const [index, key] of jwks.keys.entries()) {
      const whole = await complete(key)
      if (whole === undefined) {
        throw unusable(`number ${index + 1} is not an ${SIGNATURE_ALGORITHM} key (kty EC, crv P-256, x, y, d)`)
      }
      keys.push(whole)
    }
    const [first] = keys
    if (first?.kid === undefined || first.d === undefined) {
      throw unusable('the first one has no private half `d` to sign with')
    }
    if (new Set(keys.map(({ kid }) => kid)).size < keys.length) {
      throw unusable('two have the same `kid`; each needs its own')
    }
    return new SigningKeys(keys, await importJWK(first, SIGNATURE_ALGORITHM) as CryptoKey, first.kid)
  }

  /** What receivers may know, for `/.well-known/jwks.json`. */
  publicJwks (): { keys: JWK[] } {
    return { keys: this.#keys.map(({ d, ...shared }) => shared) }
  }

  /** All there is, for storing. */
  privateJwks (): { keys: JWK[] } {
    return { keys: this.#keys.map(key => ({ ...key })) }
  }

  /** A JWT that the receiver checks with `verifyNotification`. */
  sign ({ aud, jti, taskId, iss, body }: NotificationClaims): Promise<string> {
    return new SignJWT({ taskId, request_body_sha256: bodyHash(body) })
      .setProtectedHeader({ alg: SIGNATURE_ALGORITHM, typ: 'JWT', kid: this.#kid })
      .setIssuer(iss)
      .setAudience(aud)
      .setIssuedAt()
      .setExpirationTime(`${MAX_SIGNATURE_SECONDS}s`)
      .setJti(jti)
      .sign(this.#key)
  }

  /**
   * The signature of an agent card in its canonical form (A2A 1.0, section 8.4): a JWS without its payload, which is
   * the card.
   */
  async signCard (canonical: string, jku: string): Promise<{ protected: string, signature: string }> {
    const { protected: header = '', signature } = await new FlattenedSign(new TextEncoder().encode(canonical))
      .setProtectedHeader({ alg: SIGNATURE_ALGORITHM, typ: 'JOSE', kid: this.#kid, jku })
      .sign(this.#key)
    return { protected: header, signature }
  }
}

/** SHA-256 of a body, in hexadecimal. */
export function bodyHash (body: string | Uint8Array): string {
  return createHash('sha256').update(body).digest('hex')
}

/**
 * The members that count, so that nothing else a stored key carries is published; undefined for another value.
 */
async function complete (key: JWK): Promise<JWK | undefined> {
  const { kty, crv, x, y, d, kid } = key ?? {}
  const shared = { kty, crv, x, y, alg: SIGNATURE_ALGORITHM, use: 'sig' } as JWK
  if (kty !== 'EC' || crv !== 'P-256' || (kid !== undefined && typeof kid !== 'string')) return undefined
  const whole = { ...shared, ...(d !== undefined && { d }) }
  try {
    await importJWK(shared, SIGNATURE_ALGORITHM)
    await importJWK(whole, SIGNATURE_ALGORITHM)
    return { ...whole, kid: kid ?? await calculateJwkThumbprint(shared) }
  } catch {
    // the cause may quote the key
    return undefined
  }
}
