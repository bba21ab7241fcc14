import { auth, ClientCredentialsProvider, extractWWWAuthenticateParams, type FetchLike } from '@modelcontextprotocol/client'
import type { McpServerConfig } from '@polyvac/core'

/** The client credentials grant of one server, by the SDK's OAuth client. */
export class OAuth {
  readonly provider: ClientCredentialsProvider
  readonly #url: URL
  readonly #fetch: FetchLike
  #renewing: Promise<boolean> | undefined
  /** The last 403 challenge that led to a request for a wider scope: the same one again ends it. */
  #lastChallenge: string | undefined

  /** @param fetch for the authorization server and its metadata */
  constructor (credentials: NonNullable<McpServerConfig['oauth']>, url: URL, fetch: FetchLike) {
    this.#url = url
    this.#fetch = fetch
    const { client_id: clientId, client_secret: clientSecret, scope, issuer } = credentials
    this.provider = new ClientCredentialsProvider({
      clientId, clientSecret, ...scope !== undefined && { scope }, ...issuer !== undefined && { expectedIssuer: issuer }
    } as { clientId: string, clientSecret: string, expectedIssuer: string })
  }

  get authorization (): string | undefined {
    const token = this.provider.tokens()?.access_token
    return token === undefined ? undefined : `Bearer ${token}`
  }

  /**
   * Obtains another token after a 401, or after a 403 for a scope that is too small. Resolves with whether there is
   * one.
   */
  async renew (status: number, challenge: string | string[] | undefined): Promise<boolean> {
    // requests that are refused together share one token request
    this.#renewing ??= this.#renew(status, String(challenge ?? '')).finally(() => { this.#renewing = undefined })
    return await this.#renewing
  }

  async #renew (status: number, challenge: string): Promise<boolean> {
    const refusal = new Response(null, { status, headers: { 'www-authenticate': challenge } })
    const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(refusal)
    if (status === 403) {
      if (error !== 'insufficient_scope' || challenge === this.#lastChallenge) return false
      this.#lastChallenge = challenge
    }
    return await auth(this.provider, {
      serverUrl: this.#url,
      fetchFn: this.#fetch,
      ...resourceMetadataUrl !== undefined && { resourceMetadataUrl },
      ...scope !== undefined && { scope }
    }) === 'AUTHORIZED'
  }
}
