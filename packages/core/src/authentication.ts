import type { FastifyInstance, FastifyRequest } from 'fastify'
import { InvalidPrincipalError, UnauthenticatedError } from './errors.js'
import { isLoopbackHost } from './public-address.js'
import type { Principal } from './vac.js'

/** What agent cards, OpenAPI and challenges announce beside `bearer`. */
export interface AuthenticationScheme {
  /** `JWT` where all tokens are. */
  readonly bearerFormat?: string | undefined
  /** Where callers get tokens. */
  readonly issuers?: readonly string[] | undefined
}

/** Names the caller; undefined (or null) refuses the request with 401. */
export interface Authenticate {
  (request: FastifyRequest): Principal | undefined | Promise<Principal | undefined>
  readonly scheme?: AuthenticationScheme | undefined
}

const principals = new WeakMap<FastifyRequest, Principal>()

/** The owner of a request; undefined before it is authenticated, and where no `authenticate` is given. */
export function ownerOf (request: FastifyRequest): string | undefined {
  return principals.get(request)?.owner
}

/** Reads the caller of a request; undefined where no `authenticate` is given. */
export type PrincipalOf = (request: FastifyRequest) => Principal | undefined

/** Scope of callers who may read what concerns the machine and all owners, such as the stderr of MCP servers. */
const ADMIN = 'admin'

export function isAdmin (principal: Principal | undefined): boolean {
  return principal?.scopes?.includes(ADMIN) === true
}

/**
 * Whether a caller may read such details. Without `authenticate` that is a caller on this machine, over no proxy: the
 * one user of a local service.
 */
export function mayAdminister ({ socket, headers }: FastifyRequest, principal: Principal | undefined): boolean {
  if (principal !== undefined) return isAdmin(principal)
  const isForwarded = headers.forwarded !== undefined || headers['x-forwarded-for'] !== undefined
  return !isForwarded && isLoopbackHost(socket.remoteAddress ?? '')
}

/**
 * Authenticates each request of a scope in its first hook. Returns the function with which a handler reads the caller:
 * undefined where no `authenticate` is given.
 * @throws UNAUTHENTICATED (401); INVALID_PRINCIPAL (500): callers without an owner would share one another's data
 */
export function authenticateCallers (scope: FastifyInstance, authenticate: Authenticate | undefined): PrincipalOf {
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
