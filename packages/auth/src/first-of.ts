import type { Authenticate, Principal } from '@polyvac/core'

/**
 * Asks several functions in turn: the first that names the caller decides.
 * @example authenticate: firstOf(tokenAuthentication({ tokens }), jwtAuthentication({ issuer, audience }))
 */
export function firstOf (...all: readonly Authenticate[]): Authenticate {
  const [only] = all
  if (only !== undefined && all.length === 1) return only
  const issuers = all.flatMap(({ scheme }) => scheme?.issuers ?? [])
  const isJwt = all.every(({ scheme }) => scheme?.bearerFormat === 'JWT')
  return Object.assign(async (request: Parameters<Authenticate>[0]) => {
    for (const authenticate of all) {
      const principal = await authenticate(request)
      if (principal !== undefined) return principal
    }
    return undefined
  }, {
    scheme: { ...isJwt && { bearerFormat: 'JWT' }, ...issuers.length > 0 && { issuers } },
    // a caller whose function has no `current` has no credential that can end
    current (principal: Principal) {
      for (const { current } of all) {
        const found = current?.(principal)
        if (found !== undefined) return found
      }
      return undefined
    }
  })
}
