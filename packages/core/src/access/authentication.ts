import type { FastifyInstance, FastifyRequest } from 'fastify'
import { auditRefusal } from './audit.js'
import { ADMIN, ADMINISTRATION, mayUse } from './access.js'
import type { Authenticate } from './authenticate.js'
import { InsufficientScopeError, InvalidPrincipalError, OwnerRefusedError, UnauthenticatedError } from '../basics/errors.js'
import { watchRequest } from './open-callers.js'
import { isScopes, ownerProblem } from './principal.js'
import { isLoopbackHost } from '../basics/public-address.js'
import type { RunCaller } from '../vac/run-caller.js'
import type { Principal } from '../vac/vac.js'

// @keyed none: the keys are requests in progress, and an entry ends with its request
const principals = new WeakMap<FastifyRequest, Principal>()

/** The owner of a request; undefined before it is authenticated, and where no `authenticate` is given. */
export function ownerOf (request: FastifyRequest): string | undefined {
  return principals.get(request)?.owner
}

/** Reads the caller of a request; undefined where no `authenticate` is given. */
export type PrincipalOf = (request: FastifyRequest) => Principal | undefined

/**
 * Whether a caller may read such details. Without `authenticate` that is a caller on this machine, over no proxy: the
 * one user of a local service.
 */
export function mayAdminister ({ socket, headers }: FastifyRequest, principal: Principal | undefined): boolean {
  if (principal !== undefined) return mayUse(principal, ADMINISTRATION)
  const isForwarded = headers.forwarded !== undefined || headers['x-forwarded-for'] !== undefined
  return !isForwarded && isLoopbackHost(socket.remoteAddress ?? '')
}

/** The caller of a request, as runs and conversations know it. */
export function runCallerOf (request: FastifyRequest, principal: Principal | undefined): RunCaller {
  const isAdmin = mayAdminister(request, principal)
  return { principal, isLocal: principal === undefined && isAdmin, isAdmin }
}

/**
 * Authenticates each request of a scope in its first hook. Returns the function with which a handler reads the caller:
 * undefined where no `authenticate` is given.
 * @param isOpen whether a request needs no caller, since what it names is sealed
 * @throws UNAUTHENTICATED, OWNER_REFUSED (401); INVALID_PRINCIPAL (500): callers without an owner would share one
 * another's data
 */
export function authenticateCallers (scope: FastifyInstance, authenticate: Authenticate | undefined,
  isOpen: (request: FastifyRequest) => boolean = () => false): PrincipalOf {
  if (authenticate !== undefined) {
    scope.addHook('onRequest', async (request, reply) => {
      if (isOpen(request)) return
      watchRequest(authenticate, request, reply, await authenticateCaller(request, authenticate))
    })
  }
  return request => principals.get(request)
}

/**
 * Reads the caller of a request, and keeps it for the handlers.
 * @throws UNAUTHENTICATED, OWNER_REFUSED (401); INVALID_PRINCIPAL (500)
 */
async function authenticateCaller (request: FastifyRequest, authenticate: Authenticate): Promise<Principal> {
  const principal = await authenticate(request) as Principal | undefined | null
  if (principal === undefined || principal === null) {
    auditRequest(request, undefined, 'UNAUTHENTICATED')
    throw withChallenge(new UnauthenticatedError(), request, authenticate)
  }
  if (typeof principal.owner !== 'string' || principal.owner === '') throw new InvalidPrincipalError('without an `owner`')
  if (!isScopes(principal.scopes)) throw new InvalidPrincipalError('whose `scopes` are not a list of texts')
  const problem = ownerProblem(principal.owner)
  if (problem !== undefined) {
    auditRequest(request, undefined, 'OWNER_REFUSED')
    throw withChallenge(new OwnerRefusedError(problem), request, authenticate)
  }
  principals.set(request, principal)
  return principal
}

/** @throws UNAUTHENTICATED, OWNER_REFUSED (401); INSUFFICIENT_SCOPE (403) where the caller lacks `admin` */
export async function requireAdmin (request: FastifyRequest, authenticate: Authenticate): Promise<void> {
  const principal = await authenticateCaller(request, authenticate)
  if (mayUse(principal, ADMINISTRATION)) return
  auditRequest(request, principal.owner, 'INSUFFICIENT_SCOPE')
  throw withChallenge(new InsufficientScopeError(ADMIN), request, authenticate, `error="insufficient_scope", scope="${ADMIN}"`)
}

/** Logs that a request was refused. */
export function auditRequest (request: FastifyRequest, owner: string | undefined, reason: string): void {
  const { ip: address, method, routeOptions: { url: route } } = request
  auditRefusal(request.log, { reason, owner, address, method, route })
}

/** Adds `WWW-Authenticate` (RFC 6750, RFC 9728), which the error handlers of the plugins send. */
function withChallenge (err: Error, request: FastifyRequest, { scheme }: Authenticate, error?: string): Error {
  const metadata = scheme?.resourceMetadata?.(request)
  const parts = [error, metadata && `resource_metadata="${metadata}"`].filter(part => part !== undefined)
  return Object.assign(err, { headers: { 'www-authenticate': parts.length === 0 ? 'Bearer' : `Bearer ${parts.join(', ')}` } })
}
