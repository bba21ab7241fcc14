import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** How callers get a token for this server, told as RFC 9728 wants it. Checking tokens is `authenticate`'s business. */
export interface ProtectedResource {
  /** Issuers whose tokens are taken. */
  readonly authorizationServers: readonly string[]
  /** The address of the endpoint as callers know it, such as `https://example.com/mcp`: the audience of their tokens. Default: from the request. */
  readonly resource?: string | undefined
  /** Scopes that every caller needs; one without them is refused with 403. */
  readonly scopes?: readonly string[] | undefined
  /** All scopes that there are. Default: `scopes`. */
  readonly scopesSupported?: readonly string[] | undefined
  readonly documentation?: string | undefined
}

const PATH = '/.well-known/oauth-protected-resource'

/** The routes of the metadata, which nobody needs a token for: at the root of the scope, and for the endpoint by name. */
export function metadataRoutes (app: FastifyInstance, protectedResource: ProtectedResource): void {
  const { authorizationServers, scopes, scopesSupported = scopes, documentation } = protectedResource
  for (const path of [PATH, `${PATH}/mcp`]) {
    app.get(path, (request, reply) => {
      reply.header('content-type', 'application/json; charset=utf-8').header('cache-control', 'public, max-age=300').send(JSON.stringify({
        resource: resourceOf(app, request, protectedResource),
        authorization_servers: authorizationServers,
        scopes_supported: scopesSupported,
        bearer_methods_supported: ['header'],
        resource_documentation: documentation
      }))
    })
  }
}

/** What is said beside a 401 or 403 (RFC 6750, RFC 9728). */
export function challenge (app: FastifyInstance, request: FastifyRequest, reply: FastifyReply, status: 401 | 403, protectedResource: ProtectedResource | undefined): void {
  const parts: string[] = []
  if (status === 403) parts.push('error="insufficient_scope"')
  if (protectedResource !== undefined) {
    const { scopes = [] } = protectedResource
    const metadata = new URL(resourceOf(app, request, protectedResource))
    metadata.pathname = `${metadata.pathname.replace(/\/mcp$/, '')}${PATH}/mcp`
    parts.push(`resource_metadata="${metadata.href}"`)
    if (scopes.length > 0) parts.push(`scope="${scopes.join(' ')}"`)
  }
  reply.header('www-authenticate', parts.length === 0 ? 'Bearer' : `Bearer ${parts.join(', ')}`)
}

function resourceOf ({ prefix }: FastifyInstance, { protocol, host }: FastifyRequest, { resource }: ProtectedResource): string {
  return resource ?? `${protocol}://${host}${prefix}/mcp`
}
