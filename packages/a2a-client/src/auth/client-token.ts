import { deadlineSignal, isRecord, unlessAborted } from '@polyvac/core/plugin'
import type { SecurityScheme } from '../card/agent-card.js'
import { RemoteAgentUnauthorizedError } from '../errors.js'
import { HttpFailure } from '../http/failures.js'
import type { AgentRequests, AgentResponse } from '../http/requests.js'

/** The client credentials grant of OAuth 2.0. */
export interface ClientCredentials {
  readonly clientId: string
  readonly clientSecret: string
  /** Where the secret is sent. Default: that of the card, if it is at the origin of the agent. */
  readonly tokenUrl?: string | undefined
  /** Separated by spaces. Default: the scopes of the card. */
  readonly scope?: string | undefined
}

/** Longest response of a token endpoint in bytes, and longest time for one in ms. */
const MAX_TOKEN_BYTES = 64 * 1024
const TOKEN_MS = 10_000
/** How much of the life of a token it is used for. */
const USED_LIFE = 0.8
const DEFAULT_LIFE_S = 3_600

interface TokenOptions {
  readonly credential: ClientCredentials
  readonly scheme: SecurityScheme
  readonly requests: AgentRequests
  /** Makes the error for a reason. */
  readonly refuse: (problem: string) => Error
}

/** A token of the client credentials grant: one request for all who wait for it, renewed before it expires. */
export class ClientToken {
  readonly #options: TokenOptions
  #token: { readonly value: string, readonly until: number } | undefined
  #requesting: Promise<string> | undefined

  constructor (options: TokenOptions) { this.#options = options }

  async get (signal: AbortSignal): Promise<string> {
    if (this.#token !== undefined && Date.now() < this.#token.until) return this.#token.value
    this.#requesting ??= this.#request().finally(() => { this.#requesting = undefined })
    return await unlessAborted(this.#requesting, signal)
  }

  drop (): void { this.#token = undefined }

  async #request (): Promise<string> {
    const { credential: { clientId, clientSecret, scope }, scheme } = this.#options
    const deadline = deadlineSignal(TOKEN_MS)
    try {
      const url = await this.#endpoint(deadline.signal)
      const wanted = scope ?? (scheme.type === 'oauth2' ? scheme.scopes.join(' ') : '')
      const form = { grant_type: 'client_credentials', ...wanted !== '' && { scope: wanted } }
      const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64')
      let response = await this.#post(url, form, { authorization: `Basic ${basic}` }, deadline.signal)
      if (response.status === 400 || response.status === 401) {
        response.drop()
        // a server need not have both ways (RFC 6749, section 2.3.1)
        response = await this.#post(url, { ...form, client_id: clientId, client_secret: clientSecret }, {}, deadline.signal)
      }
      const body = await response.json(MAX_TOKEN_BYTES)
      if (response.status !== 200 || !isRecord(body) || typeof body.access_token !== 'string') throw new HttpFailure(response.status)
      const seconds = typeof body.expires_in === 'number' ? body.expires_in : DEFAULT_LIFE_S
      this.#token = { value: body.access_token, until: Date.now() + seconds * 1_000 * USED_LIFE }
      return body.access_token
    } catch (err) {
      if (err instanceof RemoteAgentUnauthorizedError) throw err
      throw Object.assign(this.#options.refuse(err instanceof HttpFailure ? `the token endpoint: ${err.message}` : 'no token could be requested'), { cause: err })
    } finally {
      deadline.end()
    }
  }

  async #post (url: URL, form: Record<string, string>, headers: Record<string, string>, signal: AbortSignal): Promise<AgentResponse> {
    return await this.#options.requests.send(url, {
      method: 'POST',
      headers: { ...headers, accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
      signal
    })
  }

  /** Where the secret goes: the URL of the configuration, or one at the origin of the agent. A card names no other. */
  async #endpoint (signal: AbortSignal): Promise<URL> {
    const { credential, scheme, requests, refuse } = this.#options
    if (credential.tokenUrl !== undefined) return new URL(credential.tokenUrl)
    const isOpenId = scheme.type === 'openIdConnect'
    const named = isOpenId ? scheme.url : scheme.type === 'oauth2' ? scheme.tokenUrl : undefined
    if (named === undefined || !URL.canParse(named) || !requests.isNamed(new URL(named))) {
      throw refuse('name the token endpoint as `tokenUrl`: the card names none at the origin of the agent')
    }
    if (!isOpenId) return new URL(named)
    const found = await requests.send(new URL(named), { method: 'GET', headers: { accept: 'application/json' }, signal })
    const metadata = await found.json(MAX_TOKEN_BYTES)
    const endpoint = isRecord(metadata) ? metadata.token_endpoint : undefined
    if (typeof endpoint !== 'string' || !URL.canParse(endpoint) || !requests.isNamed(new URL(endpoint))) {
      throw refuse('name the token endpoint as `tokenUrl`: the issuer names none at the origin of the agent')
    }
    return new URL(endpoint)
  }
}
