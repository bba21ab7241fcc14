import type { Authenticate, Principal } from '@polyvac/core'
import { isLoopbackHost, ownerProblem, SIGNATURE_ALGORITHMS } from '@polyvac/core/plugin'
import { createHash } from 'node:crypto'
import { decodeJwt, errors, jwtVerify, type JWTPayload } from 'jose'
import { bearerToken } from './bearer-token.js'
import { AuthOptionsError, IssuerUnavailableError } from './errors.js'
import { IssuerKeys } from './issuer-keys.js'

/** Difference of clocks in seconds that times in tokens may have. */
export const CLOCK_SKEW_S = 30

/** Tokens of one issuer, under the names that the configuration has. */
export interface JwtOptions {
  /** The issuer, exactly as tokens name it; its metadata is read from there. */
  readonly issuer: string
  /** The audience of accepted tokens, such as the address of this service. */
  readonly audience: string | readonly string[]
  /** Address of the keys. Default: the one that the metadata of the issuer names. */
  readonly jwks?: string | undefined
  /** Accepted algorithms. Default: all that use a public key. */
  readonly algorithms?: readonly string[] | undefined
  /** The claim that names the owner. Default: `issuer|sub`. `email` counts only with `email_verified`. */
  readonly owner_claim?: string | undefined
  /** The claim with the scopes. Default: none is read, and callers may use everything except what needs `admin`. */
  readonly scope_claim?: string | undefined
}

/**
 * Authenticates callers by the JWTs of one issuer. Keys are discovered, cached and rotated; while the issuer does not
 * answer, the last keys are used for a day.
 * @throws AUTH_OPTIONS
 * @example jwtAuthentication({ issuer: 'https://login.example.org', audience: 'https://agents.example.org' })
 */
export function jwtAuthentication (options: JwtOptions): Authenticate {
  const { issuer, audience, jwks, algorithms = SIGNATURE_ALGORITHMS } = options
  checkOptions(options)
  const keys = new IssuerKeys({ issuer, jwks })
  // other claims may name another owner, or other scopes
  const kind = `jwt ${digest(JSON.stringify([issuer, options.owner_claim, options.scope_claim]))} `
  const rules = {
    issuer,
    audience: audience as string | string[],
    algorithms: [...algorithms],
    clockTolerance: CLOCK_SKEW_S,
    requiredClaims: ['exp']
  }
  return Object.assign(async (request: Parameters<Authenticate>[0]) => {
    const token = bearerToken(request)
    if (token === undefined) return undefined
    try {
      // before any work with keys: tokens of others are not for this function
      if (decodeJwt(token).iss !== issuer) return undefined
      const { payload } = await jwtVerify(token, keys.find, rules)
      const principal = toPrincipal(payload, options)
      return principal && { ...principal, credential: kind + digest(token), expiresAt: (payload.exp! + CLOCK_SKEW_S) * 1000 }
    } catch (err) {
      if (err instanceof errors.JOSEError || err instanceof TypeError) return undefined
      if (err instanceof IssuerUnavailableError) throw err
      throw Object.assign(new IssuerUnavailableError(issuer), { cause: err })
    }
  }, {
    scheme: { bearerFormat: 'JWT', issuers: [issuer] },
    // its scopes are in the token itself
    current: (principal: Principal) => principal.credential?.startsWith(kind) === true ? principal : undefined
  })
}

function digest (text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

function toPrincipal (payload: JWTPayload, { issuer, owner_claim: ownerClaim, scope_claim: scopeClaim }: JwtOptions): Principal | undefined {
  const { [ownerClaim ?? 'sub']: named } = payload
  if (ownerClaim === 'email' && payload.email_verified !== true) return undefined
  if (typeof named !== 'string' || named === '') return undefined
  const owner = ownerClaim === undefined ? `${issuer}|${named}` : named
  // the claim too: behind the issuer, white space at its beginning is not at an end
  if (ownerProblem(owner) !== undefined || ownerProblem(named) !== undefined) return undefined
  return { owner, scopes: scopeClaim === undefined ? undefined : scopesOf(payload[scopeClaim]) }
}

/** Scopes as OAuth writes them, separated by spaces, or as a list. */
function scopesOf (claim: unknown): string[] {
  if (typeof claim === 'string') return claim.split(' ').filter(scope => scope !== '')
  return Array.isArray(claim) ? claim.filter(scope => typeof scope === 'string') : []
}

function checkOptions ({ issuer, audience, jwks, algorithms = [] }: JwtOptions): void {
  for (const [name, url] of [['issuer', issuer], ['jwks', jwks ?? issuer]] as const) {
    const { protocol, hostname, search, hash } = URL.canParse(url) ? new URL(url) : {} as Partial<URL>
    const isSecure = protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname!))
    if (!isSecure || hash !== '' || (name === 'issuer' && search !== '')) {
      throw new AuthOptionsError(`jwt.${name} must be an https URL (http only on this machine), as tokens of the issuer name it`)
    }
  }
  const audiences = typeof audience === 'string' ? [audience] : audience
  if (!Array.isArray(audiences) || audiences.length === 0 || audiences.some(text => typeof text !== 'string' || text === '')) {
    throw new AuthOptionsError('jwt.audience must be a text or a list of texts; a token for another service must not count here')
  }
  const wrong = algorithms.find(name => !(SIGNATURE_ALGORITHMS as readonly string[]).includes(name))
  if (wrong !== undefined) throw new AuthOptionsError(`jwt.algorithms has ${JSON.stringify(wrong)}; only algorithms with a public key are safe: ${SIGNATURE_ALGORITHMS.join(', ')}`)
}
