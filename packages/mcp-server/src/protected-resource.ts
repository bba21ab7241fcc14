import { openApiSchema } from '@polyvac/core/plugin'
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'

/** The metadata of the protected resource (RFC 9728): how callers get a token. `authenticate` checks the tokens. */
export interface ProtectedResource {
  /** The issuers of accepted tokens. */
  readonly authorizationServers: readonly string[]
  /** The public address of the endpoint, the audience of tokens. Default: from the request. */
  readonly resource?: string | undefined
  /** Scopes that every caller needs; a caller without them is refused with 403. */
  readonly scopes?: readonly string[] | undefined
  /** All scopes that exist. Default: `scopes`. */
  readonly scopesSupported?: readonly string[] | undefined
  /**
   * The scopes of all VACs and tools. They are published, and a call that lacks one of them is refused with 403 and its
   * name, so that clients can ask for it. Default: such a call is answered like one of a name that does not exist.
   */
  readonly announcedScopes?: (() => readonly string[]) | undefined
  readonly documentation?: string | undefined
}

const PATH = '/.well-known/oauth-protected-resource'

/** Adds the routes of the metadata, which need no token: at the root of the scope, and for the endpoint by name. */
export function metadataRoutes (app: FastifyInstance, protectedResource: ProtectedResource): void {
  const { authorizationServers, scopes, scopesSupported = scopes, announcedScopes, documentation } = protectedResource
  for (const [path, operationId] of [[PATH, 'getProtectedResource'], [`${PATH}/mcp`, 'getProtectedResourceOfMcp']] as const) {
    const schema = schemaOf(operationId, 'How callers get a token (RFC 9728)')
    app.get(path, { schema }, (request, reply) => {
      const metadata = {
        resource: resourceOf(app, request, protectedResource),
        authorization_servers: authorizationServers,
        scopes_supported: announcedScopes === undefined ? scopesSupported : [...new Set([...scopesSupported ?? [], ...announcedScopes()])],
        bearer_methods_supported: ['header'],
        resource_documentation: documentation
      }
      reply.headers({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'public, max-age=300' })
      reply.send(JSON.stringify(metadata))
    })
  }
}

/** What OpenAPI documents have of a route. */
export function schemaOf (operationId: string, summary: string): FastifySchema {
  return openApiSchema({ operationId, summary, tags: ['mcp-server'] })
}

/** Adds the header `WWW-Authenticate` to a 401 or 403 (RFC 6750, RFC 9728). */
export function addChallenge (
  app: FastifyInstance, request: FastifyRequest, reply: FastifyReply, status: 401 | 403,
  protectedResource: ProtectedResource | undefined, needed: readonly string[] = protectedResource?.scopes ?? []
): void {
  const parts: string[] = []
  if (status === 403) parts.push('error="insufficient_scope"')
  if (protectedResource !== undefined) {
    const metadata = new URL(resourceOf(app, request, protectedResource))
    metadata.pathname = `${metadata.pathname.replace(/\/mcp$/, '')}${PATH}/mcp`
    parts.push(`resource_metadata="${metadata.href}"`)
    if (needed.length > 0) parts.push(`scope="${needed.join(' ')}"`)
  }
  reply.header('www-authenticate', parts.length === 0 ? 'Bearer' : `Bearer ${parts.join(', ')}`)
}

function resourceOf ({ prefix }: FastifyInstance, request: FastifyRequest, { resource }: ProtectedResource): string {
  return resource ?? `${request.protocol}://${request.host}${prefix}/mcp`
}
