import type { FastifyInstance, FastifyRequest } from 'fastify'
import { InvalidPrincipalError, UnauthenticatedError } from './errors.js'
import type { Principal } from './vac.js'

/** Names the caller; undefined (or null) refuses the request with 401. */
export type Authenticate = (request: FastifyRequest) => Principal | undefined | Promise<Principal | undefined>

/**
 * Asks who calls before anything else in this scope is done. What it returns tells a handler the caller; undefined
 * where nobody is asked.
 * @throws UNAUTHENTICATED (401); INVALID_PRINCIPAL (500), since without an owner all callers would share what belongs to nobody
 */
export function authenticateCallers (scope: FastifyInstance, authenticate: Authenticate | undefined): (request: FastifyRequest) => Principal | undefined {
  const principals = new WeakMap<FastifyRequest, Principal>()
  if (authenticate !== undefined) {
    scope.addHook('onRequest', async request => {
      const principal = await authenticate(request) as Principal | undefined | null
      if (principal === undefined || principal === null) throw new UnauthenticatedError()
      if (typeof principal.owner !== 'string' || principal.owner === '') throw new InvalidPrincipalError()
      principals.set(request, principal)
    })
  }
  return request => principals.get(request)
}
