import type { Authenticate, Principal, RefusedAuth } from '@polyvac/core'
import { recheckCallers, requireAdmin } from '@polyvac/core/plugin'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ServiceConfig } from '../config/service-config.js'
import { NoAuthMethodError } from '../errors.js'

type Switches = Pick<ServiceConfig, 'auth' | 'trusted_proxies' | 'public_url'>
type Auth = typeof import('@polyvac/auth')
type TokenEntry = NonNullable<NonNullable<ServiceConfig['auth']>['tokens']>[number]

const METADATA_PATH = '/.well-known/oauth-protected-resource'

/** Loads `@polyvac/auth`, with the library of JWTs, only where the configuration needs it, for a quicker start. */
export async function loadAuth ({ auth, trusted_proxies: proxies }: Switches): Promise<Auth | undefined> {
  return auth === undefined && proxies === undefined ? undefined : await import('@polyvac/auth')
}

/**
 * The function that authenticates callers, from `service.auth`; undefined without it.
 * @throws AUTH_OPTIONS, AUTH_WITHOUT_METHOD
 */
function authenticationOf (module: Auth | undefined, { auth, trusted_proxies: trustedProxies = [] }: Switches): Authenticate | undefined {
  if (auth === undefined || module === undefined) return undefined
  const { tokens, jwt, platform } = auth
  const { firstOf, jwtAuthentication, platformAuthentication, tokenAuthentication } = module
  const all = [
    ...tokens === undefined ? [] : [tokenAuthentication({ tokens })],
    ...jwt === undefined ? [] : [jwtAuthentication(jwt)],
    ...platform === undefined ? [] : [platformAuthentication({ platform, trustedProxies })]
  ]
  if (all.length === 0) throw new NoAuthMethodError()
  return firstOf(...all)
}

/** Where no credential is left. */
const REFUSE_ALL: Authenticate = Object.assign(() => undefined, { current: () => undefined })

/** Authentication that a reload of the configuration replaces: a token that was removed ends at once. */
export class ConfiguredCallers {
  readonly authenticate: Authenticate | undefined
  readonly #module: Auth | undefined
  #current: Authenticate | undefined
  #switches: Switches

  /** @param own the function of the application, which takes precedence over the configuration */
  constructor (own: Authenticate | undefined, switches: Switches, module: Auth | undefined) {
    this.#switches = switches
    this.#module = module
    this.#current = own === undefined ? authenticationOf(module, switches) : undefined
    const issuers = this.#current?.scheme?.issuers
    const scheme = issuers === undefined
      ? this.#current?.scheme
      : { ...this.#current?.scheme, resourceMetadata: (request: FastifyRequest) => `${baseOf(request, switches.public_url)}${METADATA_PATH}` }
    this.authenticate = this.#current === undefined
      ? own
      : Object.assign((request: FastifyRequest) => this.#current!(request), {
        scheme, current: (principal: Principal) => this.#current!.current?.(principal)
      })
  }

  /**
   * Applies the credentials of a configuration that is refused: those that are no longer in it end, and the others have
   * its scopes. A token whose entry cannot be read ends; where the list is not where it should be, a token stays whose
   * hash is anywhere in the file. The other sections stay in force unless they were removed.
   */
  applyRefused ({ auth, isWhole, hashes }: RefusedAuth): void {
    const { auth: before } = this.#switches
    if (this.#current === undefined || this.#module === undefined || before === undefined) return
    const { tokenAuthentication } = this.#module
    const named = new Map<string, TokenEntry>()
    for (const entry of Array.isArray(auth?.tokens) ? auth.tokens as TokenEntry[] : []) {
      try {
        tokenAuthentication({ tokens: [entry] })
        const hash = entry.sha256.toLowerCase()
        if (!named.has(hash)) named.set(hash, entry)
      } catch { /* the problems of the file name it */ }
    }
    const isCertain = isWhole && Array.isArray(auth?.tokens)
    const unread = isCertain ? [] : before.tokens?.filter(({ sha256 }) => !named.has(sha256.toLowerCase()) && hashes.includes(sha256.toLowerCase())) ?? []
    const { jwt, platform, open } = before
    const next: NonNullable<Switches['auth']> = {
      ...open !== undefined && { open },
      ...jwt !== undefined && (!isWhole || auth === undefined || 'jwt' in auth) && { jwt },
      ...platform !== undefined && (!isWhole || auth === undefined || 'platform' in auth) && { platform },
      ...named.size + unread.length > 0 && { tokens: [...named.values(), ...unread] }
    }
    if (JSON.stringify([next.tokens, next.jwt, next.platform]) === JSON.stringify([before.tokens, jwt, platform])) return
    const hasMethod = [next.tokens, next.jwt, next.platform].some(method => method !== undefined)
    try {
      this.#use({ ...this.#switches, auth: next }, hasMethod)
    } catch {
      // more tokens than there may be: then those in force that are still named
      const tokens = before.tokens?.flatMap(entry => named.get(entry.sha256.toLowerCase()) ?? []) ?? []
      const { tokens: _tokens, ...others } = next
      this.#use({ ...this.#switches, auth: tokens.length === 0 ? others : { ...others, tokens } }, hasMethod)
    }
  }

  /** @throws AUTH_OPTIONS */
  #use (switches: Switches, hasMethod: boolean): void {
    this.#current = hasMethod ? authenticationOf(this.#module, switches) ?? this.#current : REFUSE_ALL
    this.#switches = switches
    recheckCallers(this.authenticate)
  }

  /** Follows a reload, which never switches authentication on or off. @throws AUTH_OPTIONS, AUTH_WITHOUT_METHOD */
  replace (next: Switches): void {
    const isSame = JSON.stringify([next.auth, next.trusted_proxies]) === JSON.stringify([this.#switches.auth, this.#switches.trusted_proxies])
    // the keys of an issuer stay cached
    if (isSame || this.#current === undefined) return
    this.#use(next, true)
  }
}

/** The address under which callers reach the service, without a slash at its end. */
function baseOf ({ protocol, host }: FastifyRequest, publicUrl: string | null | undefined): string {
  return (publicUrl || `${protocol}://${host}`).replace(/\/+$/, '')
}

/** The address of the MCP server, the resource of tokens; undefined: as requests have it. */
export function mcpAddress ({ public_url: url }: Switches): string | undefined {
  return url ? `${url.replace(/\/+$/, '')}/mcp` : undefined
}

/** GET /ready and GET /metrics need `admin`, except those in `open`. */
export function guardOperations (app: FastifyInstance, authenticate: Authenticate | undefined, open: readonly string[] = ['/ready']): void {
  const closed = new Set<string | undefined>(['/ready', '/metrics'].filter(path => !open.includes(path)))
  if (authenticate === undefined || closed.size === 0) return
  app.addHook('onRequest', async request => {
    if (closed.has(request.routeOptions.url)) await requireAdmin(request, authenticate)
  })
}

/** How callers get a token (RFC 9728), where no MCP server publishes it. */
export function publishMetadata (app: FastifyInstance, issuers: readonly string[] | undefined, publicUrl: string | null | undefined): void {
  if (issuers === undefined) return
  app.get(METADATA_PATH, { schema: { summary: 'How callers get a token (RFC 9728)', tags: ['host'] } }, async (request, reply) => {
    reply.header('cache-control', 'public, max-age=300')
    return { resource: baseOf(request, publicUrl), authorization_servers: issuers, bearer_methods_supported: ['header'] }
  })
}
