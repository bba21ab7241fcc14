import { auditRefusal, mayUse, quoteName, type AbortSignalLike, type Resolve } from '@polyvac/core/plugin'
import type { Log } from '@polyvac/core'
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { TokenRequests } from '../connections/http/token-requests.js'
import { SignInFailedError, SignInRefusedError, SignInRequiredError, withContext } from '../errors.js'
import { pathName, SignInAddresses } from './addresses.js'
import { clientMetadata } from './client-metadata.js'
import type { Challenge } from './issuer.js'
import type { Authorization } from '../connections/authorization.js'
import type { OwnerAuthorization } from './owner-authorization.js'
import type { SignInOptions } from '../sign-in-options.js'
import { SealedTexts } from './sealed-texts.js'
import { covers, memoryStore, ofIssuer, SignInRecords, type PendingSignIn, type SignIn } from './sign-in-store.js'
import { titleOf, type AskedAgent, type SignInFlow, type SignInTarget } from './target.js'

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
  /** The servers; undefined where there are only agents. */
  readonly configOf?: ((server: string) => SignInTarget | undefined) | undefined
  readonly resolve?: Resolve | undefined
}

/** What a person sees before the sign-in. */
export interface SignInPage {
  readonly owner: string
  readonly server: string
  /** The authorization server. */
  readonly host: string
}

/** A sign-in that a person began in a browser. */
export interface BegunSignIn extends SignInPage {
  /** The address at the authorization server, only for this browser. */
  readonly url: string
  /** By which the callback recognises the browser. */
  readonly cookie: { readonly name: string, readonly value: string }
  /** End of its life, in ms since the epoch. */
  readonly until: number
}

/** Where a callback came from. */
export interface CallbackFrom {
  /** The server in its path. */
  readonly path: string
  readonly cookieOf: (name: string) => string | undefined
  /** The owner that the request authenticates as; undefined for a browser without credentials. */
  readonly caller: string | undefined
}

export interface Callback {
  readonly state?: unknown
  readonly code?: unknown
  readonly iss?: unknown
  readonly error?: unknown
}

/**
 * The sign-ins of owners to the servers with `per_owner`, and to agents. The OAuth client is loaded at its first use,
 * for a quicker start.
 */
export class SignIns {
  readonly addresses: SignInAddresses
  readonly #parts: SignInsParts
  readonly #texts: SealedTexts
  readonly #records: SignInRecords
  // @keyed none: the values are functions of the gateway, one for each server of the configuration
  readonly #listeners = new Set<(owner: string, server: string) => void>()

  constructor (parts: SignInsParts) {
    const { key = randomBytes(MIN_KEY_BYTES), store } = parts
    this.#parts = parts
    this.addresses = new SignInAddresses(parts)
    this.#texts = new SealedTexts(key)
    this.#records = new SignInRecords(store ?? memoryStore(), this.#texts)
  }

  /**
   * The token of an owner for an agent of the option `agents`. Close it after its last request.
   * @throws MCP_SIGN_IN_FAILED where the configuration has the agent no more, or at another origin
   */
  async forAgent (owner: string, { name, url, flow }: AskedAgent): Promise<Authorization> {
    const target = this.#agent(name)
    if (target?.url === undefined || new URL(target.url).origin !== new URL(url).origin) {
      throw new SignInFailedError(`the remote agent ${quoteName(name)}`, 'its entry has changed; ask again')
    }
    return await this.authorizationFor(owner, target, () => {}, flow)
  }

  /** The token of an owner for the connection to a server. */
  async authorizationFor (owner: string, target: SignInTarget, onToken: (token: string) => void, flow?: SignInFlow): Promise<OwnerAuthorization> {
    const { OwnerAuthorization } = await import('./owner-authorization.js')
    const authorization = new OwnerAuthorization(owner, target, {
      records: this.#records,
      begin: async (challenge, requests) => await this.#begin(owner, target, challenge, requests, flow),
      onToken,
      resolve: this.#parts.resolve
    })
    await authorization.load()
    return authorization
  }

  async isSignedIn (owner: string, server: string): Promise<boolean> {
    return (await this.#records.get(owner, this.#target(server))).token !== undefined
  }

  /** Calls `listener` when a sign-in is complete. The function that it returns stops that. */
  onSignedIn (listener: (owner: string, server: string) => void): () => void {
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }

  /** Waits until the sign-in in progress is complete, at most `ms`. Resolves with whether it is. */
  async wait (owner: string, server: string, ms: number, signal: AbortSignalLike): Promise<boolean> {
    const target = this.#target(server)
    const { pending } = await this.#records.get(owner, target)
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
        this.#records.get(owner, target).then(now => { if (now.pending?.id !== pending.id) end(true) }, () => {})
      }, LOOK_MS)
      signal.addEventListener('abort', leave)
      if (signal.aborted) leave()
    })
  }

  /**
   * The client metadata document for the server in a path, also for one that is not configured: who reads it learns no
   * names. Undefined while the service has no address.
   */
  clientDocument (path: string): object | undefined {
    const { addresses } = this
    if (addresses.known === undefined || pathName(path) !== path) return undefined
    return { client_id: addresses.document(path), client_uri: addresses.known, ...clientMetadata(addresses.callback(path), path) }
  }

  /**
   * The document of earlier versions, for all servers. Tokens that were issued to this client are refreshed while it
   * exists; the callback that it names completes no sign-in.
   */
  get formerDocument (): object | undefined {
    const { addresses } = this
    if (addresses.known === undefined) return undefined
    const { page, known: client_uri } = addresses
    return { client_id: `${page}/client.json`, client_uri, ...clientMetadata(`${page}/callback`, 'earlier sign-ins') }
  }

  /** The page that a ticket leads to. It changes nothing. @throws MCP_SIGN_IN_REFUSED */
  async open (ticket: unknown, caller: string | undefined): Promise<SignInPage> {
    const { owner, server, id } = this.#identify('ticket', ticket, caller)
    const { url } = await this.#pending(owner, server, id)
    return { owner, server, host: new URL(url).host }
  }

  /** Begins a sign-in in one browser: only this one can complete it. @throws MCP_SIGN_IN_REFUSED */
  async begin (ticket: unknown, caller: string | undefined): Promise<BegunSignIn> {
    const { owner, server, id } = this.#identify('ticket', ticket, caller)
    const { url, until } = await this.#pending(owner, server, id)
    const secret = randomBytes(32).toString('base64url')
    const address = new URL(url)
    address.searchParams.set('state', this.#texts.seal([owner, server, id, this.#texts.mark(`browser ${secret}`)], ['state']))
    address.searchParams.set('code_challenge', createHash('sha256').update(this.#verifier(id, secret)).digest('base64url'))
    return { owner, server, host: address.host, url: address.href, until, cookie: { name: this.#cookieName(id), value: secret } }
  }

  /**
   * Completes a sign-in. Resolves to the server.
   * @throws MCP_SIGN_IN_REFUSED, MCP_SIGN_IN_FAILED
   */
  async complete ({ state, code, iss, error }: Callback, { path, cookieOf, caller }: CallbackFrom): Promise<string> {
    const { owner, server, id, browser } = this.#identify('state', state, caller)
    if (path !== pathName(server)) {
      auditRefusal(this.#parts.log, { reason: 'FOREIGN_SIGN_IN', owner, what: `server:${server}` })
      throw new SignInRefusedError('the authorization server of another MCP server answered')
    }
    const secret = cookieOf(this.#cookieName(id)) ?? ''
    const [expected, actual] = [browser, this.#texts.mark(`browser ${secret}`)].map(text => Buffer.from(text)) as [Buffer, Buffer]
    if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) throw new SignInRefusedError('another browser began it, or this one began it again')
    const config = this.#target(server)
    if (config.url === undefined) throw new SignInRefusedError('its server is not configured any more')
    const { exchangeAuthorization, validateAuthorizationResponseIssuer } = await import('@modelcontextprotocol/client')
    const { checkToken, requestsFor, withSecret } = await import('./owner-authorization.js')
    const { pending, issuer, client, redirectUri, resource } = await this.#take(owner, config, id)
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
        codeVerifier: this.#verifier(id, secret),
        redirectUri,
        ...typeof iss === 'string' && { iss },
        ...resource !== undefined && { resource },
        fetchFn: requests.fetch
      })
      checkToken(tokens)
      await this.#records.change(owner, config, before => ({
        ...before, token: tokens.access_token, refreshToken: tokens.refresh_token, scope: tokens.scope ?? pending.scope, refreshingUntil: undefined
      }))
    } catch (err) {
      throw new SignInFailedError(titleOf(config), (err as Error).message)
    } finally {
      await requests.close()
    }
    this.#parts.log.info({ [config.agent === undefined ? 'mcpServer' : 'agent']: server, owner }, `an owner signed in to ${config.agent === undefined ? 'an MCP server' : 'a remote agent'}`)
    for (const listener of [...this.#listeners]) listener(owner, server)
    return server
  }

  /** Begins a sign-in, or finds the one in progress. Resolves to the error that asks for it. */
  async #begin (owner: string, target: SignInTarget, challenge: Challenge, requests: TokenRequests, flow?: SignInFlow): Promise<Error> {
    const { name, oauth = {} } = target
    const { startAuthorization } = await import('@modelcontextprotocol/client')
    const { chooseClient, discoverIssuer } = await import('./issuer.js')
    try {
      const known = ofIssuer(await this.#records.get(owner, target), oauth.issuer)
      const redirectUri = this.addresses.callback(name)
      const pending = known.redirectUri === redirectUri ? known.pending : undefined
      if (pending !== undefined && pending.until - Date.now() > MIN_LEFT_MS && covers(union(pending.scope, pending.wanted), challenge.scope)) return this.#required(owner, target, pending)
      const found = await discoverIssuer(target, challenge, requests, flow)
      // a scope that is too small is widened, never replaced
      const scope = challenge.error === 'insufficient_scope' ? union(known.scope, found.scope) : found.scope
      const client = await chooseClient({ ...found, scope }, target, known, { server: pathName(name), redirectUri, documentUrl: this.addresses.document(name), fetch: requests.fetch })
      const id = randomBytes(16).toString('base64url')
      // `begin` gives each browser a state and a challenge
      const { authorizationUrl } = await startAuthorization(found.issuer.issuer, {
        metadata: { ...found.issuer, code_challenge_methods_supported: ['S256'] } as never,
        clientInformation: client,
        redirectUrl: redirectUri,
        ...scope !== undefined && { scope },
        ...found.resource !== undefined && { resource: found.resource }
      })
      const next: PendingSignIn = { id, url: authorizationUrl.href, scope, wanted: challenge.scope, until: Date.now() + PENDING_MS }
      const { client_secret: _secret, ...withoutSecret } = client as { client_secret?: string, client_id: string }
      const kept = client.client_id === oauth.client_id ? withoutSecret : client
      await this.#records.change(owner, target, before => ({ ...ofIssuer(before, oauth.issuer), issuer: found.issuer, client: kept, redirectUri, resource: found.resource, pending: next }))
      return this.#required(owner, target, next)
    } catch (err) {
      return err instanceof SignInFailedError ? err : withContext(new SignInFailedError(titleOf(target), (err as Error).message), { server: name })
    }
  }

  /** The server or agent of the configuration with the name; one that is gone has no URL. */
  #target (name: string): SignInTarget {
    return this.#parts.configOf?.(name) ?? this.#agent(name) ?? { name }
  }

  #agent (name: string): SignInTarget | undefined {
    const { url, scheme, oauth } = this.#parts.agents?.(name) ?? {}
    return url === undefined || scheme === undefined ? undefined : { name, url, oauth, agent: { scheme } }
  }

  #required (owner: string, target: SignInTarget, { id, until }: PendingSignIn): Error {
    const { name: server } = target
    const ticket = this.#texts.seal([owner, server, id], ['ticket'])
    const url = `${this.addresses.page}?ticket=${ticket}`
    const required = Object.assign(new SignInRequiredError(titleOf(target), url), { signIn: { server, url } })
    return withContext(required, {
      server, details: { url, elicitationId: id, expiresAt: new Date(until).toISOString() }
    })
  }

  /** Reads a ticket or a state. @throws MCP_SIGN_IN_REFUSED */
  #identify (purpose: 'ticket' | 'state', text: unknown, caller: string | undefined): { owner: string, server: string, id: string, browser: string } {
    const opened = typeof text === 'string' && text.length <= MAX_CHARS ? this.#texts.open(text, [purpose]) : undefined
    const [owner = '', server = '', id = '', browser = ''] = opened as string[] | undefined ?? []
    const isForeign = opened !== undefined && caller !== undefined && !mayUse({ owner: caller }, { maker: { owner } })
    if (isForeign) auditRefusal(this.#parts.log, { reason: 'FOREIGN_SIGN_IN', owner: caller, what: `server:${server}` })
    if (opened === undefined || isForeign) throw new SignInRefusedError('its address was changed, or belongs to another caller')
    return { owner, server, id, browser }
  }

  /** @throws MCP_SIGN_IN_REFUSED */
  async #pending (owner: string, server: string, id: string): Promise<PendingSignIn> {
    const { pending, redirectUri } = await this.#records.get(owner, this.#target(server))
    if (pending === undefined || !isPending({ pending }, id) || redirectUri !== this.addresses.callback(server)) throw new SignInRefusedError(OVER)
    return pending
  }

  /** The record of a pending sign-in, which no second callback can use. @throws MCP_SIGN_IN_REFUSED */
  async #take (owner: string, target: SignInTarget, id: string): Promise<SignIn> {
    let taken: SignIn = {}
    await this.#records.change(owner, target, before => {
      taken = isPending(before, id) ? before : {}
      return taken === before ? { ...before, pending: undefined } : undefined
    })
    return taken
  }

  /** The PKCE verifier of one browser: a code for another one is of no use in it. */
  #verifier (id: string, secret: string): string {
    return this.#texts.mark(`verifier ${id} ${secret}`)
  }

  /** One for each sign-in: a browser may begin several. No other host can set one with this prefix (RFC 6265bis). */
  #cookieName (id: string): string {
    return `${this.addresses.isSecure ? '__Host-' : ''}polyvac_sign_in_${this.#texts.mark(`cookie ${id}`).slice(0, 10)}`
  }
}

const OVER = 'it was completed, replaced or has expired'

function isPending ({ pending }: SignIn, id: string): boolean {
  return pending?.id === id && pending.until >= Date.now()
}

function union (...scopes: ReadonlyArray<string | undefined>): string | undefined {
  const all = new Set(scopes.flatMap(scope => scope?.split(' ') ?? []))
  return all.size === 0 ? undefined : [...all].join(' ')
}
