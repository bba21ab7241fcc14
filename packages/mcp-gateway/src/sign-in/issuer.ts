import {
  checkResourceAllowed, discoverAuthorizationServerMetadata, discoverOAuthProtectedResourceMetadata, extractWWWAuthenticateParams,
  registerClient, type AuthorizationServerMetadata, type OAuthClientInformationMixed, type OAuthProtectedResourceMetadata
} from '@modelcontextprotocol/client'
import type { TokenRequests } from '../connections/http/token-requests.js'
import { clientMetadata } from './client-metadata.js'
import type { KnownIssuer, SignIn } from './sign-in-store.js'
import { keyOf, type SignInFlow, type SignInTarget } from './target.js'

/** What a 401 or 403 of the server states. */
export interface Challenge {
  readonly metadataUrl: URL | undefined
  readonly scope: string | undefined
  readonly error: string | undefined
}

/** Where a person signs in, and what for. */
export interface Discovered {
  readonly metadata: AuthorizationServerMetadata | undefined
  readonly issuer: KnownIssuer
  readonly resource: string | undefined
  readonly scope: string | undefined
}

export function readChallenge (status: number, challenge: string | string[] | undefined): Challenge {
  const refusal = new Response(null, { status, headers: { 'www-authenticate': String(challenge ?? '') } })
  const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(refusal)
  return { metadataUrl: resourceMetadataUrl, scope, error }
}

/** The server's description of itself as a resource. A document of another origin is not requested. */
async function describeResource (url: URL, named: URL | undefined, { fetch }: TokenRequests): Promise<OAuthProtectedResourceMetadata | undefined> {
  const own = named?.origin === url.origin ? { resourceMetadataUrl: named } : {}
  // a server without the document is one from before 2025-06-18
  return await discoverOAuthProtectedResourceMetadata(url, own, fetch).catch(() => undefined)
}

/**
 * Finds the authorization server. Documents of the server are not trusted: without `issuer` of the configuration, all
 * endpoints have the origin of the server. The same holds for an agent, whose card has its `flow`.
 * @throws an error with what the operator can do
 */
export async function discoverIssuer (target: SignInTarget, { metadataUrl, scope }: Challenge, requests: TokenRequests, flow?: SignInFlow): Promise<Discovered> {
  const { oauth: config = {} } = target
  const url = new URL(target.url ?? '')
  const about = flow === undefined ? await describeResource(url, metadataUrl, requests) : undefined
  const named = config.issuer ?? about?.authorization_servers?.[0] ?? flow?.issuer ?? url.origin
  const isTrusted = config.issuer !== undefined
  if (!URL.canParse(named)) throw new Error('its metadata names an authorization server that is not a URL')
  if (!isTrusted && new URL(named).origin !== url.origin) {
    throw new Error(`its metadata names the authorization server ${new URL(named).origin}, which its entry does not; set ${keyOf(target)}.issuer to ${JSON.stringify(named)} to trust it`)
  }
  const found = await discoverAuthorizationServerMetadata(named, { fetchFn: requests.fetch })
  const metadata = found ?? (flow === undefined ? undefined : statedMetadata(named, flow))
  const issuer = metadata ?? defaultMetadata(named)
  // an issuer of the configuration vouches for its metadata, and for no other endpoint of a card
  const origins = isTrusted ? [url.origin, new URL(named).origin] : [url.origin]
  for (const key of ['authorization_endpoint', 'token_endpoint', 'registration_endpoint'] as const) {
    const endpoint = issuer[key]
    if (endpoint === undefined) continue
    if (!(isTrusted && metadata === found) && !origins.includes(new URL(endpoint).origin)) {
      throw new Error(`its ${key} has the origin ${new URL(endpoint).origin}; set ${keyOf(target)}.issuer to the authorization server that you trust`)
    }
    requests.check(new URL(endpoint))
  }
  if (found !== undefined && found.code_challenge_methods_supported?.includes('S256') !== true) {
    throw new Error('its authorization server does not support PKCE with S256')
  }
  if (about !== undefined && !checkResourceAllowed({ requestedResource: url, configuredResource: about.resource })) {
    throw new Error(`its metadata describes the resource ${about.resource}, which is another one`)
  }
  const { issuer: name, authorization_endpoint, token_endpoint, response_types_supported, token_endpoint_auth_methods_supported } = issuer
  const { authorization_response_iss_parameter_supported: hasIss } = issuer as KnownIssuer
  return {
    metadata,
    issuer: {
      issuer: name,
      authorization_endpoint,
      token_endpoint,
      response_types_supported,
      token_endpoint_auth_methods_supported,
      authorization_response_iss_parameter_supported: hasIss === true
    },
    // A2A has no resource indicators
    resource: config.resource === false || flow !== undefined ? undefined : about?.resource ?? url.href,
    scope: scopeOf(config.scope ?? scope ?? ((about?.scopes_supported ?? flow?.scopes)?.join(' ') || undefined), metadata)
  }
}

/**
 * The client, by the first way that the authorization server supports: the metadata document that this service serves,
 * the registered client of the configuration, or dynamic registration.
 */
export async function chooseClient ({ metadata, issuer, scope }: Discovered, target: SignInTarget, known: SignIn, { server, redirectUri, documentUrl, fetch }:
{ readonly server: string, readonly redirectUri: string, readonly documentUrl: string, readonly fetch: TokenRequests['fetch'] }): Promise<OAuthClientInformationMixed> {
  const { client_id: id, client_secret: secret, client_metadata: mayBeDocument } = target.oauth ?? {}
  const readsDocuments = (metadata as { client_id_metadata_document_supported?: unknown } | undefined)?.client_id_metadata_document_supported === true
  if (readsDocuments && documentUrl.startsWith('https:') && mayBeDocument !== false) return { client_id: documentUrl }
  if (id !== undefined) return { client_id: id, ...secret !== undefined && { client_secret: secret } }
  if (known.client !== undefined && known.issuer?.issuer === issuer.issuer && known.redirectUri === redirectUri && !isExpired(known.client)) return known.client
  if (metadata !== undefined && metadata.registration_endpoint === undefined) {
    throw new Error(`its authorization server registers no clients; register one with the callback ${redirectUri} and set ${keyOf(target)}.client_id`)
  }
  const methods = metadata?.token_endpoint_auth_methods_supported
  const method = ['none', 'client_secret_basic', 'client_secret_post'].find(name => methods?.includes(name) !== false)
  const registered = await registerClient(issuer.issuer, {
    ...metadata !== undefined && { metadata },
    clientMetadata: { ...clientMetadata(redirectUri, server), ...method !== undefined && { token_endpoint_auth_method: method } },
    ...scope !== undefined && { scope },
    fetchFn: fetch
  })
  const { client_id, client_secret, client_secret_expires_at, token_endpoint_auth_method } = registered
  return { client_id, ...client_secret !== undefined && { client_secret }, client_secret_expires_at, token_endpoint_auth_method } as OAuthClientInformationMixed
}

function isExpired (client: OAuthClientInformationMixed): boolean {
  const { client_secret_expires_at: at } = client as { client_secret_expires_at?: number }
  return at !== undefined && at !== 0 && at * 1000 < Date.now()
}

/** Endpoints of an authorization server without a document, by revision 2025-03-26. */
function defaultMetadata (issuer: string): AuthorizationServerMetadata {
  const at = (path: string): string => new URL(path, issuer).href
  return { issuer, authorization_endpoint: at('/authorize'), token_endpoint: at('/token'), registration_endpoint: at('/register'), response_types_supported: ['code'] }
}

/** What the card of an agent states about an authorization server without a document. @throws where that is nothing */
function statedMetadata (issuer: string, { authorizationUrl, tokenUrl }: SignInFlow): AuthorizationServerMetadata {
  if (authorizationUrl === undefined || tokenUrl === undefined || !URL.canParse(authorizationUrl) || !URL.canParse(tokenUrl)) {
    throw new Error('its authorization server has no metadata, and its card names no endpoints')
  }
  return { issuer, authorization_endpoint: authorizationUrl, token_endpoint: tokenUrl, response_types_supported: ['code'] }
}

/** With the scope that refresh tokens need. */
function scopeOf (scope: string | undefined, metadata: AuthorizationServerMetadata | undefined): string | undefined {
  const needsOffline = metadata?.scopes_supported?.includes('offline_access') === true && scope?.split(' ').includes('offline_access') !== true
  return needsOffline ? `${scope ?? ''} offline_access`.trim() : scope
}
