import { OAuthError, refreshAuthorization, type OAuthClientInformationMixed, type OAuthTokens } from '@modelcontextprotocol/client'
import { setTimeout as delay } from 'node:timers/promises'
import type { Resolve } from '@polyvac/core/plugin'
import type { Authorization } from '../connections/authorization.js'
import { TokenRequests } from '../connections/http/token-requests.js'
import { SignInFailedError } from '../errors.js'
import { readChallenge, type Challenge } from './issuer.js'
import { covers, ofIssuer, type SignIn, type SignInRecords } from './sign-in-store.js'
import { titleOf, type SignInTarget } from './target.js'

/** Time in ms for which one process has a refresh for itself: longer than its request may take. */
const REFRESH_MS = 15_000
/** Interval in ms at which another process looks for the new token. */
const LOOK_MS = 100
/** A token that is refused this soon after its refresh, in ms, would be refused again after the next. */
const MIN_TOKEN_MS = 2_000
/** What a header can carry. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/

export interface OwnerAuthorizationParts {
  readonly records: SignInRecords
  /** Begins a sign-in. Resolves to the error that asks the owner for it. */
  readonly begin: (challenge: Challenge, requests: TokenRequests) => Promise<Error>
  /** Receives each token, a secret from then on. */
  readonly onToken: (token: string) => void
  readonly resolve?: Resolve | undefined
}

/** The token of one owner for one server or agent: kept in the store, refreshed there, or asked for by a sign-in. */
export class OwnerAuthorization implements Authorization {
  readonly #owner: string
  readonly #target: SignInTarget
  readonly #parts: OwnerAuthorizationParts
  readonly #requests: TokenRequests
  #token: string | undefined
  #refreshedAt = -Infinity
  #renewing: Promise<boolean> | undefined

  constructor (owner: string, target: SignInTarget, parts: OwnerAuthorizationParts) {
    this.#owner = owner
    this.#target = target
    this.#parts = parts
    this.#requests = requestsFor(target, parts.resolve)
  }

  get authorization (): string | undefined {
    return this.#token === undefined ? undefined : `Bearer ${this.#token}`
  }

  /** Reads the token of an earlier sign-in. */
  async load (): Promise<void> {
    const { token } = await this.#read()
    if (token !== undefined) this.#use(token)
  }

  /** @throws MCP_SIGN_IN_REQUIRED, MCP_SIGN_IN_FAILED */
  async renew (status: number, challenge: string | string[] | undefined, used: string | undefined): Promise<boolean> {
    if (used !== this.authorization) return true
    // requests that are refused together share one refresh
    this.#renewing ??= this.#renew(status, readChallenge(status, challenge)).finally(() => { this.#renewing = undefined })
    return await this.#renewing
  }

  async close (): Promise<void> {
    await this.#requests.close()
  }

  async #renew (status: number, challenge: Challenge): Promise<boolean> {
    if (status === 403 && challenge.error !== 'insufficient_scope') return false
    const { token, refreshToken, scope } = await this.#read()
    if (token !== undefined && token !== this.#token) {
      this.#use(token)
      return true
    }
    // another sign-in would grant the same
    if (status === 403 && token !== undefined && scope !== undefined && covers(scope, challenge.scope)) return false
    const canRefresh = status === 401 && refreshToken !== undefined && performance.now() - this.#refreshedAt > MIN_TOKEN_MS
    if (canRefresh && await this.#refresh()) return true
    if (status === 401 && token !== undefined) await this.#forget(token)
    throw await this.#parts.begin(challenge, this.#requests)
  }

  async #read (): Promise<SignIn> {
    return ofIssuer(await this.#parts.records.get(this.#owner, this.#target), this.#target.oauth?.issuer)
  }

  /** Removes a token that the server refuses, with all that was granted with it. */
  async #forget (token: string): Promise<void> {
    await this.#parts.records.change(this.#owner, this.#target, before => {
      return before.token === token ? { ...before, token: undefined, refreshToken: undefined, scope: undefined } : undefined
    })
  }

  /** Refreshes the token, or waits for the process that does. False where the refresh token is not valid any more. */
  async #refresh (): Promise<boolean> {
    const until = Date.now() + REFRESH_MS
    const isNew = ({ token }: SignIn): boolean => token !== undefined && token !== this.#token
    for (;;) {
      let isOurs = false
      const record = await this.#parts.records.change(this.#owner, this.#target, before => {
        const now = Date.now()
        const { refreshToken, refreshingUntil = 0 } = before
        // the clock of another replica may be ahead, but not by more than a lease
        const isTaken = refreshingUntil > now && refreshingUntil <= now + 2 * REFRESH_MS
        isOurs = !isNew(before) && refreshToken !== undefined && !isTaken
        return isOurs ? { ...before, refreshingUntil: now + REFRESH_MS } : undefined
      })
      if (isNew(record)) {
        this.#use(record.token!)
        return true
      }
      if (record.refreshToken === undefined) return false
      if (isOurs) return await this.#refreshNow(record)
      if (Date.now() > until) throw new SignInFailedError(titleOf(this.#target), 'another process refreshes the token and does not end')
      await delay(LOOK_MS)
    }
  }

  async #refreshNow (claimed: SignIn): Promise<boolean> {
    const { issuer, client, refreshToken, resource } = claimed
    const save = async (changes: Partial<SignIn>): Promise<void> => {
      await this.#parts.records.change(this.#owner, this.#target, before => {
        // a sign-in that ended meanwhile counts
        return before.refreshToken === refreshToken ? { ...before, ...changes, refreshingUntil: undefined } : undefined
      })
    }
    let tokens: OAuthTokens
    try {
      if (issuer === undefined || client === undefined || refreshToken === undefined) return false
      tokens = await refreshAuthorization(issuer.issuer, {
        metadata: issuer as never,
        clientInformation: withSecret(client, this.#target),
        refreshToken,
        ...resource !== undefined && { resource },
        fetchFn: this.#requests.fetch
      })
      checkToken(tokens)
    } catch (err) {
      const isRevoked = err instanceof OAuthError && err.code !== 'server_error' && err.code !== 'temporarily_unavailable'
      await save(isRevoked ? { token: undefined, refreshToken: undefined, ...err.code === 'invalid_client' && { client: undefined } } : {})
      if (isRevoked) return false
      throw new SignInFailedError(titleOf(this.#target), `its token cannot be refreshed: ${(err as Error).message}`)
    }
    // before it is used: a server that rotates has forgotten the old one
    await save({ token: tokens.access_token, refreshToken: tokens.refresh_token })
    this.#refreshedAt = performance.now()
    this.#use(tokens.access_token)
    return true
  }

  #use (token: string): void {
    this.#token = token
    this.#parts.onToken(token)
  }
}

/** The HTTP client for the metadata and tokens of a server. */
export function requestsFor ({ url = '', oauth }: SignInTarget, resolve?: Resolve): TokenRequests {
  return new TokenRequests([new URL(url), ...oauth?.issuer === undefined ? [] : [new URL(oauth.issuer)]], resolve)
}

/** The secret of a registered client is only in the configuration. */
export function withSecret (client: OAuthClientInformationMixed, { oauth }: SignInTarget): OAuthClientInformationMixed {
  const { client_id: id, client_secret: secret } = oauth ?? {}
  return id === client.client_id && secret !== undefined ? { ...client, client_secret: secret } : client
}

/** @throws for a token that no header can carry */
export function checkToken ({ access_token: token }: OAuthTokens): void {
  if (!TOKEN.test(token)) throw new Error('its authorization server issued a token that a header cannot carry')
}
