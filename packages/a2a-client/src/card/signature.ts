import { canonicalCard, canonicalJson, deadlineSignal, isRecord, readBoundedFile, SIGNATURE_ALGORITHMS } from '@polyvac/core/plugin'
import { createLocalJWKSet, flattenedVerify, type FlattenedJWSInput, type FlattenedVerifyGetKey, type JSONWebKeySet } from 'jose'
import { RemoteAgentSignatureError, RemoteAgentUnavailableError } from '../errors.js'
import { HttpFailure } from '../http/failures.js'
import type { AgentRequests } from '../http/requests.js'

/** Which cards are verified: none, those that are signed, or all. */
export const VERIFICATIONS = ['off', 'if-present', 'require'] as const
export type Verification = typeof VERIFICATIONS[number]

/** A public key (RFC 7517) with a `kid`. */
export type Jwk = Readonly<Record<string, unknown>>

/** Keys of one entry. */
export const MAX_KEYS = 100
/** Signatures of a card that are looked at: a new key and an old one sign while keys rotate. */
export const MAX_SIGNATURES = 20
/** Longest set of keys in bytes, and longest time for a request of it in ms. */
const MAX_KEYS_BYTES = 256 * 1024
const KEYS_MS = 10_000

type Json = Readonly<Record<string, unknown>>

export interface VerifierOptions {
  /** The name of the agent here, for errors. */
  readonly name: string
  readonly verification: Exclude<Verification, 'off'>
  /** A file or an address with a set of keys, or the keys. */
  readonly keys: string | readonly Jwk[]
  readonly requests: AgentRequests
}

/**
 * Verifies cards with the keys of the configuration. A signature chooses among them by `kid`. Its `jku` is text of the
 * signer, who would choose its own keys by it: it is only in the cause of errors.
 */
export class CardVerifier {
  readonly #options: VerifierOptions

  constructor (options: VerifierOptions) { this.#options = options }

  /**
   * What of a card counts: the members that were signed, or the whole of a card that need not be signed.
   * @throws REMOTE_AGENT_SIGNATURE, or REMOTE_AGENT_UNAVAILABLE where the keys cannot be requested
   */
  async contentOf (card: Json): Promise<Json> {
    const signatures = Array.isArray(card.signatures) ? card.signatures.slice(0, MAX_SIGNATURES) : []
    if (signatures.length === 0) {
      if (this.#options.verification === 'if-present') return card
      throw this.#unverified('it is not signed', 'have its operator sign it, or set `verify` of the entry to `if-present`')
    }
    const find = await this.#finder()
    for (const content of signedForms(card)) {
      const payload = Buffer.from(canonicalJson(content)).toString('base64url')
      for (const { protected: header, signature } of signatures.filter(isRecord)) {
        if (await isSignature({ payload, protected: header, signature } as FlattenedJWSInput, find)) return content
      }
    }
    const error = this.#unverified('none of its signatures is valid for a key of the entry', 'compare the keys with those of its operator, and correct `keys` if they have changed')
    throw Object.assign(error, { cause: new Error(`it is signed by ${signatures.map(signerOf).join('; ')}`) })
  }

  async #finder (): Promise<FlattenedVerifyGetKey> {
    const { keys: given } = this.#options
    const set = typeof given === 'string' ? await this.#readKeys(given) : { keys: given }
    const keys = isRecord(set) ? set.keys : undefined
    const problem = keysProblem(keys)
    if (problem !== undefined) throw this.#unverified(`its \`keys\` cannot be used: ${problem}`, 'correct them')
    const local = createLocalJWKSet({ keys } as JSONWebKeySet)
    return async (header, token) => {
      if (typeof header?.kid !== 'string') throw new Error('it names no key')
      return await local(header, token)
    }
  }

  async #readKeys (from: string): Promise<unknown> {
    const { name, requests } = this.#options
    const deadline = deadlineSignal(KEYS_MS)
    try {
      if (!isWebAddress(from)) return JSON.parse((await readBoundedFile(from, MAX_KEYS_BYTES)).toString('utf8')) as unknown
      const response = await requests.send(new URL(from), { method: 'GET', headers: { accept: 'application/jwk-set+json, application/json' }, signal: deadline.signal })
      const body = await response.json(MAX_KEYS_BYTES)
      if (response.status !== 200) throw new HttpFailure(response.status)
      return body
    } catch (err) {
      const error = isWebAddress(from)
        ? new RemoteAgentUnavailableError(name, 'the keys for its card cannot be requested')
        : this.#unverified('the file of its `keys` cannot be read', 'correct the path, or mend the file')
      throw Object.assign(error, { cause: err })
    } finally {
      deadline.end()
    }
  }

  #unverified (problem: string, remedy: string): Error { return new RemoteAgentSignatureError(this.#options.name, problem, remedy) }
}

export function isWebAddress (text: string): boolean { return /^https?:\/\//i.test(text) }

/** Why a list of keys cannot be used; undefined: it can. */
export function keysProblem (keys: unknown): string | undefined {
  if (!Array.isArray(keys) || keys.length === 0) return 'there are none; give public keys as JWKs, { keys: [ … ] } in a file'
  if (keys.length > MAX_KEYS) return `there are more than ${MAX_KEYS}`
  for (const [index, key] of keys.entries()) {
    const which = `number ${index + 1}`
    if (!isRecord(key) || typeof key.kty !== 'string') return `${which} is not a JWK`
    if (typeof key.kid !== 'string' || key.kid === '') return `${which} has no \`kid\`, by which signatures name it`
    if (key.kty === 'oct') return `${which} is a shared secret; give a public key`
    if ('d' in key) return `${which} has its private half \`d\`; leave it out`
  }
  return undefined
}

/** The forms that agents sign: that of the protocol, and that of SDKs, which leave out all that is empty. */
function signedForms (card: Json): Json[] {
  const canonical = canonicalCard(card)
  return [canonical, (withoutEmpty(canonical) ?? {}) as Json]
}

/** Undefined where nothing is left. */
function withoutEmpty (value: unknown): unknown {
  if (Array.isArray(value)) {
    const left = value.map(withoutEmpty).filter(item => item !== undefined)
    return left.length > 0 ? left : undefined
  }
  if (!isRecord(value)) return value === '' || value === null ? undefined : value
  const left = Object.entries(value).flatMap(([name, member]) => {
    const kept = withoutEmpty(member)
    return kept === undefined ? [] : [[name, kept] as const]
  })
  return left.length > 0 ? Object.fromEntries(left) : undefined
}

async function isSignature (jws: FlattenedJWSInput, find: FlattenedVerifyGetKey): Promise<boolean> {
  try {
    await flattenedVerify(jws, find, { algorithms: [...SIGNATURE_ALGORITHMS] })
    return true
  } catch {
    // another signature may be by a key of the entry
    return false
  }
}

/** Who claims to have signed, for the log. */
function signerOf (signature: unknown): string {
  try {
    const { protected: header } = signature as { protected: string }
    const { kid, jku, alg } = JSON.parse(Buffer.from(header, 'base64url').toString('utf8')) as Json
    return JSON.stringify({ kid, jku, alg }).slice(0, 500)
  } catch {
    return 'a header that cannot be read'
  }
}
