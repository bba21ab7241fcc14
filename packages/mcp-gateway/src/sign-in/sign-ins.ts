import { auditRefusal, quoteName, type AbortSignalLike, type Resolve } from '@polyvac/core/plugin'
import type { Log } from '@polyvac/core'
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { NamedServer } from '../config/server-config.js'
import type { TokenRequests } from '../connections/http/token-requests.js'
import { SignInFailedError, SignInRefusedError, SignInRequiredError, withContext } from '../errors.js'
import { clientMetadata } from './client-metadata.js'
import type { Challenge } from './issuer.js'
import type { OwnerAuthorization } from './owner-authorization.js'
import type { SignInOptions } from '../sign-in-options.js'
import { SealedTexts } from './sealed-texts.js'
import { covers, memoryStore, ofIssuer, SignInRecords, type PendingSignIn, type SignIn } from './sign-in-store.js'

/** Life of a sign-in that a person has not completed, in ms. */
const PENDING_MS = 600_000
/** A pending sign-in with less time than this left, in ms, is replaced by another one. */
const MIN_LEFT_MS = 60_000
/** Interval in ms at which a waiting call looks for a sign-in that another replica completed. */
const LOOK_MS = 1_000
/** Longest ticket, state, code and issuer of a callback, in characters. */
const MAX_CHARS = 8_192
const MIN_KEY_BYTES = 32

export interface SignInsParts extends SignInOptions {
  readonly log: Log
  readonly configOf: (server: string) => NamedServer | undefined
  readonly resolve?: Resolve | undefined
}

/** What a person sees before the sign-in. */
export interface SignInPage {
  readonly owner: string
  readonly server: string
  readonly url: string
  /** The cookie by which the callback recognises the browser. */
  readonly cookie: string
  readonly until: number
}

export interface Callback {
  readonly state?: unknown
  readonly code?: unknown
  readonly iss?: unknown
  readonly error?: unknown
}

/**
 * The sign-ins of owners to the servers with `per_owner`. The OAuth client is loaded at its first use, for a quicker
 * start.
 */
export class SignIns {
  /** The address that the application listens on, with the prefix of the plugin. */
  listensAt: string | undefined
  readonly #parts: SignInsParts
  readonly #texts: SealedTexts
  readonly #records: SignInRecords
  // @keyed none: the values are functions of the gateway, one for each server of the configuration
  readonly #listeners = new Set<(owner: string, server: string) => void>()

  constructor (parts: SignInsParts) {
    const { key = randomBytes(MIN_KEY_BYTES), store } = parts
    this.#parts = parts
    this.#texts = new SealedTexts(key)
    this.#records = new SignInRecords(store ?? memoryStore(), this.#texts)
  }

  /** The token of an owner for the connection to a server. */
  async authorizationFor (owner: string, config: NamedServer, onToken: (token: string) => void): Promise<OwnerAuthorization> {
    const { OwnerAuthorization } = await import('./owner-authorization.js')
    const authorization = new OwnerAuthorization(owner, config, {
      records: this.#records,
      begin: async (challenge, requests) => await this.#begin(owner, config, challenge, requests),
      onToken,
      resolve: this.#parts.resolve
    })
    await authorization.load()
    return authorization
  }

  async isSignedIn (owner: string, server: string): Promise<boolean> {
    return (await this.#records.get(owner, server)).token !== undefined
  }

  /** Calls `listener` when a sign-in is complete. The function that it returns stops that. */
  onSignedIn (listener: (owner: string, server: string) => void): () => void {
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }

  /** Waits until the sign-in in progress is complete, at most `ms`. Resolves with whether it is. */
  async wait (owner: string, server: string, ms: number, signal: AbortSignalLike): Promise<boolean> {
    const { pending } = await this.#records.get(owner, server)
    if (pending === undefined) return true
    return await new Promise(resolve => {
      const end = (isDone: boolean): void => {
        clearTimeout(timer)
        clearInterval(look)
        signal.removeEventListener('abort', leave)
        stop()
        resolve(isDone)
      }
      const leave = (): void => end(false)
      const stop = this.onSignedIn((who, where) => { if (who === owner && where === server) end(true) })
      const timer = setTimeout(leave, ms)
      const look = setInterval(() => {
        this.#records.get(owner, server).then(now => { if (now.pending?.id !== pending.id) end(true) }, () => {})
      }, LOOK_MS)
      signal.addEventListener('abort', leave)
      if (signal.aborted) leave()
    })
  }

  /** The client metadata document: its address is the `client_id`. Undefined while the service has no address. */
  get clientDocument (): object | undefined {
    const base = this.#knownBase
    return base === undefined ? undefined : { client_id: this.#parts.clientDocument ?? documentUrl(base), client_uri: base, ...clientMetadata(callbackUrl(base)) }
  }

  /** Path and security of the pages, for their cookie. */
  get cookieScope (): { readonly path: string, readonly isSecure: boolean } {
    const url = new URL(pageUrl(this.#base))
    return { path: url.pathname, isSecure: url.protocol === 'https:' }
  }

  /** The page that a ticket leads to. @throws MCP_SIGN_IN_REFUSED */
  async open (ticket: unknown, caller: string | undefined): Promise<SignInPage> {
    const { owner, server, id } = this.#identify('ticket', ticket, caller)
    const pending = await this.#pending(owner, server, id)
    return { owner, server, url: pending.url, cookie: this.#texts.mark(id), until: pending.until }
  }

  /**
   * Completes a sign-in. Resolves to the server.
   * @param caller the owner that the request authenticates as; undefined for a browser without credentials
   * @throws MCP_SIGN_IN_REFUSED, MCP_SIGN_IN_FAILED
   */
  async complete ({ state, code, iss, error }: Callback, cookie: string | undefined, caller: string | undefined): Promise<string> {
    const { owner, server, id } = this.#identify('state', state, caller)
    const expected = Buffer.from(this.#texts.mark(id))
    const actual = Buffer.from(cookie ?? '')
    if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) throw new SignInRefusedError('another browser began it')
    const config = this.#parts.configOf(server)
    if (config === undefined) throw new SignInRefusedError('its server is not configured any more')
    const { exchangeAuthorization, validateAuthorizationResponseIssuer } = await import('@modelcontextprotocol/client')
    const { checkToken, requestsFor, withSecret } = await import('./owner-authorization.js')
    const { pending, issuer, client, redirectUri, resource } = await this.#take(owner, server, id)
    if (pending === undefined || issuer === undefined || client === undefined || redirectUri === undefined) throw new SignInRefusedError(OVER)
    const requests = requestsFor(config, this.#parts.resolve)
    try {
      validateAuthorizationResponseIssuer({
        iss: typeof iss === 'string' ? iss : undefined,
        expectedIssuer: issuer.issuer,
        issParameterSupported: issuer.authorization_response_iss_parameter_supported === true
      })
      if (error !== undefined) throw new Error(`the authorization server answered ${/^[a-z_]{1,60}$/.test(String(error)) ? String(error) : 'with an error'}`)
      if (typeof code !== 'string' || code === '' || code.length > MAX_CHARS) throw new Error('the authorization server sent no code')
      const tokens = await exchangeAuthorization(issuer.issuer, {
        metadata: issuer as never,
        clientInformation: withSecret(client, config),
        authorizationCode: code,
        codeVerifier: pending.verifier,
        redirectUri,
        ...typeof iss === 'string' && { iss },
        ...resource !== undefined && { resource },
        fetchFn: requests.fetch
      })
      checkToken(tokens)
      await this.#records.change(owner, server, before => ({
        ...before, token: tokens.access_token, refreshToken: tokens.refresh_token, scope: tokens.scope ?? pending.scope, refreshingUntil: undefined
      }))
    } catch (err) {
      throw new SignInFailedError(quoteName(server), (err as Error).message)
    } finally {
      await requests.close()
    }
    this.#parts.log.info({ mcpServer: server, owner }, 'an owner signed in to an MCP server')
    for (const listener of [...this.#listeners]) listener(owner, server)
    return server
  }

  /** Begins a sign-in, or finds the one in progress. Resolves to the error that asks for it. */
  async #begin (owner: string, config: NamedServer, challenge: Challenge, requests: TokenRequests): Promise<Error> {
    const { name, url = '', oauth = {} } = config
    const { startAuthorization } = await import('@modelcontextprotocol/client')
    const { chooseClient, discoverIssuer } = await import('./issuer.js')
    try {
      const known = ofIssuer(await this.#records.get(owner, name), oauth.issuer)
      const { pending } = known
      if (pending !== undefined && pending.until - Date.now() > MIN_LEFT_MS && covers(union(pending.scope, pending.wanted), challenge.scope)) return this.#required(owner, name, pending)
      const base = this.#base
      const redirectUri = callbackUrl(base)
      const found = await discoverIssuer(new URL(url), oauth, challenge, requests)
      // a scope that is too small is widened, never replaced
      const scope = challenge.error === 'insufficient_scope' ? union(known.scope, found.scope) : found.scope
      const client = await chooseClient({ ...found, scope }, oauth, known, { redirectUri, documentUrl: this.#parts.clientDocument ?? documentUrl(base), fetch: requests.fetch })
      const id = randomBytes(16).toString('base64url')
      const { authorizationUrl, codeVerifier: verifier } = await startAuthorization(found.issuer.issuer, {
        metadata: { ...found.issuer, code_challenge_methods_supported: ['S256'] } as never,
        clientInformation: client,
        redirectUrl: redirectUri,
        state: this.#texts.seal([owner, name, id], ['state']),
        ...scope !== undefined && { scope },
        ...found.resource !== undefined && { resource: found.resource }
      })
      const next: PendingSignIn = { id, url: authorizationUrl.href, verifier, scope, wanted: challenge.scope, until: Date.now() + PENDING_MS }
      const { client_secret: _secret, ...withoutSecret } = client as { client_secret?: string, client_id: string }
      const kept = client.client_id === oauth.client_id ? withoutSecret : client
      await this.#records.change(owner, name, before => ({ ...ofIssuer(before, oauth.issuer), issuer: found.issuer, client: kept, redirectUri, resource: found.resource, pending: next }))
      return this.#required(owner, name, next)
    } catch (err) {
      return err instanceof SignInFailedError ? err : withContext(new SignInFailedError(quoteName(name), (err as Error).message), { server: name })
    }
  }

  #required (owner: string, server: string, { id, until }: PendingSignIn): Error {
    const ticket = this.#texts.seal([owner, server, id], ['ticket'])
    const url = `${pageUrl(this.#base)}?ticket=${ticket}`
    const required = Object.assign(new SignInRequiredError(quoteName(server), url), { signIn: { server, url } })
    return withContext(required, {
      server, details: { url, elicitationId: id, expiresAt: new Date(until).toISOString() }
    })
  }

  /** Reads a ticket or a state. @throws MCP_SIGN_IN_REFUSED */
  #identify (purpose: 'ticket' | 'state', text: unknown, caller: string | undefined): { owner: string, server: string, id: string } {
    const opened = typeof text === 'string' && text.length <= MAX_CHARS ? this.#texts.open(text, [purpose]) : undefined
    const [owner = '', server = '', id = ''] = opened as string[] | undefined ?? []
    const isForeign = opened !== undefined && (caller ?? owner) !== owner
    if (isForeign) auditRefusal(this.#parts.log, { reason: 'FOREIGN_SIGN_IN', owner: caller, what: `server:${server}` })
    if (opened === undefined || isForeign) throw new SignInRefusedError('its address was changed, or belongs to another caller')
    return { owner, server, id }
  }

  /** @throws MCP_SIGN_IN_REFUSED */
  async #pending (owner: string, server: string, id: string): Promise<PendingSignIn> {
    const { pending } = await this.#records.get(owner, server)
    if (pending === undefined || !isPending({ pending }, id)) throw new SignInRefusedError(OVER)
    return pending
  }

  /** The record of a pending sign-in, which no second callback can use. @throws MCP_SIGN_IN_REFUSED */
  async #take (owner: string, server: string, id: string): Promise<SignIn> {
    let taken: SignIn = {}
    await this.#records.change(owner, server, before => {
      taken = isPending(before, id) ? before : {}
      return taken === before ? { ...before, pending: undefined } : undefined
    })
    return taken
  }

  get #knownBase (): string | undefined {
    const { url } = this.#parts
    return ((typeof url === 'function' ? url() : url) ?? this.listensAt)?.replace(/\/+$/, '')
  }

  get #base (): string {
    const base = this.#knownBase
    if (base === undefined) throw new Error('the address of this service is not known; set the option signIn.url, service.public_url in the host')
    return base
  }
}

const OVER = 'it was completed, replaced or has expired'

function isPending ({ pending }: SignIn, id: string): boolean {
  return pending?.id === id && pending.until >= Date.now()
}

const pageUrl = (base: string): string => `${base}/mcp/sign-in`
const callbackUrl = (base: string): string => `${pageUrl(base)}/callback`
const documentUrl = (base: string): string => `${pageUrl(base)}/client.json`

function union (...scopes: ReadonlyArray<string | undefined>): string | undefined {
  const all = new Set(scopes.flatMap(scope => scope?.split(' ') ?? []))
  return all.size === 0 ? undefined : [...all].join(' ')
}
