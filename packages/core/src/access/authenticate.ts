import type { FastifyRequest } from 'fastify'
import type { Principal } from '../vac/vac.js'

/** What agent cards, OpenAPI and challenges announce besides `bearer`. */
export interface AuthenticationScheme {
  /** `JWT` where all tokens are. */
  readonly bearerFormat?: string | undefined
  /** Where callers get tokens. */
  readonly issuers?: readonly string[] | undefined
  /** The address of the metadata of the protected resource (RFC 9728), which challenges name. */
  readonly resourceMetadata?: ((request: FastifyRequest) => string) | undefined
}

/** Names the caller; undefined (or null) refuses the request with 401. */
export interface Authenticate {
  (request: FastifyRequest): Principal | undefined | Promise<Principal | undefined>
  readonly scheme?: AuthenticationScheme | undefined
  /**
   * Reads a credential again that named a caller before: the principal with its present scopes, undefined once the
   * credential does not count any more. Work that the credential began, such as a stream, ends then, and work that it
   * left in a queue is refused. It is called for callers with a `credential`, each 400 ms for each open piece of work:
   * it returns at once, from memory. Where it throws, the answer before it holds, with a line in the log. Expiry is
   * not asked for: `expiresAt` has it. Without this function work goes on.
   */
  readonly current?: ((principal: Principal) => Principal | undefined) | undefined
}
