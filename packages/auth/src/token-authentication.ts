import type { Authenticate, Principal } from '@polyvac/core'
import { isScopes, ownerProblem } from '@polyvac/core/plugin'
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { bearerToken } from './bearer-token.js'
import { AuthOptionsError } from './errors.js'

/** Most static tokens: each request is compared with all of them. */
export const MAX_TOKENS = 1_000
const TOKEN_BYTES = 32
/** Digits of the hash of a token that name it. */
const CREDENTIAL_DIGITS = 32

/** A static token: its hash, and whom it names. */
export interface TokenEntry {
  readonly owner: string
  /** SHA-256 of the token, in hexadecimal. */
  readonly sha256: string
  /** What the owner may use. Default: everything except what needs `admin`. */
  readonly scopes?: readonly string[] | undefined
}

/**
 * Authenticates callers by static bearer tokens, of which only hashes are kept.
 * @throws AUTH_OPTIONS
 * @example
 * const { token, entry } = createToken('alice', ['vac:docs'])
 * await app.register(vacPlugin, { vacs, authenticate: tokenAuthentication({ tokens: [entry] }) })
 */
export function tokenAuthentication ({ tokens }: { readonly tokens: readonly TokenEntry[] }): Authenticate {
  if (!Array.isArray(tokens) || tokens.length === 0 || tokens.length > MAX_TOKENS) {
    throw new AuthOptionsError(`tokens must be a list of 1 to ${MAX_TOKENS} entries { owner, sha256, scopes }`)
  }
  const entries = tokens.map(({ owner, sha256, scopes }, i) => {
    const problem = typeof owner === 'string' ? ownerProblem(owner) : 'is not a text'
    if (problem !== undefined) throw new AuthOptionsError(`tokens[${i}].owner ${problem}; give the owner another name`)
    if (!/^[0-9a-f]{64}$/i.test(sha256)) throw new AuthOptionsError(`tokens[${i}].sha256 must be 64 hexadecimal digits; \`polyvac token ${owner}\` prints an entry`)
    checkScopes(scopes, `tokens[${i}].scopes`)
    const first = tokens.findIndex(other => String(other.sha256).toLowerCase() === String(sha256).toLowerCase())
    if (first < i) throw new AuthOptionsError(`tokens[${i}].sha256 is that of tokens[${first}]; a token has one owner and one list of scopes`)
    // a part of the hash of 32 random bytes reveals nothing of them
    const credential = `token ${sha256.slice(0, CREDENTIAL_DIGITS).toLowerCase()}`
    return { hash: Buffer.from(sha256, 'hex'), principal: { owner, scopes, credential } satisfies Principal }
  })
  const byCredential = new Map(entries.map(({ principal }) => [principal.credential, principal]))
  return Object.assign((request: Parameters<Authenticate>[0]) => {
    const token = bearerToken(request)
    if (token === undefined) return undefined
    const hash = createHash('sha256').update(token).digest()
    let found: Principal | undefined
    // no early end: the time must not depend on which entry matches
    for (const entry of entries) if (timingSafeEqual(entry.hash, hash)) found ??= entry.principal
    return found
  }, {
    scheme: {},
    current ({ owner, credential }: Principal) {
      const principal = byCredential.get(credential!)
      return principal?.owner === owner ? principal : undefined
    }
  })
}

/**
 * Makes a static token. Keep the entry, give the token away: it cannot be read from the entry.
 * @throws AUTH_OPTIONS where the text cannot name an owner
 * @example const { token, entry } = createToken('alice', ['vac:docs', 'tool:github'])
 */
export function createToken (owner: string, scopes?: readonly string[]): { readonly token: string, readonly entry: TokenEntry } {
  const problem = ownerProblem(owner)
  if (problem !== undefined) throw new AuthOptionsError(`the owner ${problem}; give the owner another name`)
  checkScopes(scopes, 'the scopes')
  const token = `pv_${randomBytes(TOKEN_BYTES).toString('base64url')}`
  return { token, entry: { owner, sha256: createHash('sha256').update(token).digest('hex'), ...scopes !== undefined && { scopes } } }
}

/** @throws AUTH_OPTIONS */
function checkScopes (scopes: unknown, where: string): void {
  if (!isScopes(scopes)) throw new AuthOptionsError(`${where} must be a list of texts, such as ['vac:docs']`)
}
