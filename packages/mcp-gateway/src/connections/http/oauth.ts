import {
  ClientCredentialsProvider, discoverAuthorizationServerMetadata, discoverOAuthProtectedResourceMetadata, extractWWWAuthenticateParams,
  fetchToken, type OAuthProtectedResourceMetadata
} from '@modelcontextprotocol/client'
import type { McpServerConfig } from '@polyvac/core'
import type { Authorization } from '../authorization.js'
import type { Resolve } from '@polyvac/core/plugin'
import { TokenRequests } from './token-requests.js'

type Credentials = NonNullable<McpServerConfig['oauth']> & { readonly client_id: string, readonly client_secret: string }

/**
 * The client credentials grant of one server, by the SDK's OAuth client. The issuer is that of the configuration, or
 * the origin of the server: a server cannot name another one, which would then get the secret.
 */
export class OAuth implements Authorization {
  readonly #provider: ClientCredentialsProvider
  readonly #url: URL
  readonly #issuer: string
  readonly #requests: TokenRequests
  readonly #onToken: (token: string) => void
  #token: string | undefined
  #renewing: Promise<boolean> | undefined
  /** The last 403 challenge that led to a request for a wider scope: the same one again ends it. */
  #lastChallenge: string | undefined

  /** @param onToken receives each token, a secret from then on */
  constructor (credentials: Credentials, url: URL, onToken: (token: string) => void, resolve?: Resolve) {
    const { client_id: clientId, client_secret: clientSecret, scope, issuer = url.origin } = credentials
    this.#url = url
    this.#issuer = issuer
    this.#onToken = onToken
    this.#requests = new TokenRequests([url, new URL(issuer)], resolve)
    this.#provider = new ClientCredentialsProvider({ clientId, clientSecret, expectedIssuer: issuer, ...scope !== undefined && { scope } })
  }

  get authorization (): string | undefined {
    return this.#token === undefined ? undefined : `Bearer ${this.#token}`
  }

  async renew (status: number, challenge: string | string[] | undefined): Promise<boolean> {
    // requests that are refused together share one token request
    this.#renewing ??= this.#renew(status, String(challenge ?? '')).finally(() => { this.#renewing = undefined })
    return await this.#renewing
  }

  async close (): Promise<void> {
    await this.#requests.close()
  }

  async #renew (status: number, challenge: string): Promise<boolean> {
    const refusal = new Response(null, { status, headers: { 'www-authenticate': challenge } })
    const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(refusal)
    if (status === 403) {
      if (error !== 'insufficient_scope' || challenge === this.#lastChallenge) return false
      this.#lastChallenge = challenge
    }
    const { fetch } = this.#requests
    const about = await this.#resource(resourceMetadataUrl)
    const metadata = await discoverAuthorizationServerMetadata(this.#issuer, { fetchFn: fetch })
    const wanted = scope ?? about?.scopes_supported?.join(' ')
    const { access_token: token } = await fetchToken(this.#provider, this.#issuer, {
      fetchFn: fetch,
      ...metadata !== undefined && { metadata },
      ...about !== undefined && { resource: about.resource },
      ...wanted !== undefined && { scope: wanted }
    })
    this.#token = token
    this.#onToken(token)
    return true
  }

  /** What the server states about itself as a resource. A document of another origin is not requested. */
  async #resource (named: URL | undefined): Promise<OAuthProtectedResourceMetadata | undefined> {
    const own = named?.origin === this.#url.origin ? { resourceMetadataUrl: named } : {}
    // a server without the document is one from before 2025-06-18
    return await discoverOAuthProtectedResourceMetadata(this.#url, own, this.#requests.fetch).catch(() => undefined)
  }
}
