import { createHash } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, SignJWT, type CryptoKey, type JWK } from 'jose'
import { PushSigningKeysError } from './errors.js'

export const SIGNATURE_ALGORITHM = 'ES256'
/** How long a signature counts. Long enough for a slow receiver, too short for a recording to be of use. */
export const SIGNATURE_SECONDS = 300

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

/** ES256 keys that sign notifications. The first one signs; all are published, so that receivers know the next and the last one. */
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

  /** Keys as `privateJwks` gave them. To rotate, put a new one first and keep the old ones. Rejects with PUSH_SIGNING_KEYS. */
  static async from (jwks: { readonly keys: readonly JWK[] }): Promise<SigningKeys> {
    if (!Array.isArray(jwks?.keys) || jwks.keys.length === 0) throw unusable('there are none; give { keys: [ … ] }')
    const keys = await Promise.all(jwks.keys.map(complete))
    const [first] = keys
    if (first?.kid === undefined || first.d === undefined) throw unusable('the first one has no private half `d` to sign with')
    if (new Set(keys.map(({ kid }) => kid)).size < keys.length) throw unusable('two have the same `kid`; each needs its own')
    return new SigningKeys(keys, await importKey(first), first.kid)
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
      .setExpirationTime(`${SIGNATURE_SECONDS}s`)
      .setJti(jti)
      .sign(this.#key)
  }
}

/** SHA-256 of a body, in hexadecimal. */
export function bodyHash (body: string | Uint8Array): string {
  return createHash('sha256').update(body).digest('hex')
}

// only these members: whatever else a stored key carries is not published
async function complete (key: JWK, index: number): Promise<JWK> {
  const { kty, crv, x, y, d, kid } = key ?? {}
  if (kty !== 'EC' || crv !== 'P-256' || x === undefined || y === undefined) {
    throw unusable(`number ${index + 1} is no ${SIGNATURE_ALGORITHM} key (kty EC, crv P-256, x, y)`)
  }
  const shared: JWK = { kty, crv, x, y, alg: SIGNATURE_ALGORITHM, use: 'sig' }
  await importKey(shared)
  return { ...shared, kid: kid ?? await calculateJwkThumbprint(shared), ...(d !== undefined && { d }) }
}

async function importKey (key: JWK): Promise<CryptoKey> {
  try {
    return await importJWK(key, SIGNATURE_ALGORITHM) as CryptoKey
  } catch {
    // the cause may quote the key
    throw unusable('one is not a point of P-256')
  }
}

function unusable (reason: string): Error {
  return new PushSigningKeysError('this set', reason)
}
