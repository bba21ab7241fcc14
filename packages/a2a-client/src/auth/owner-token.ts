import { signInRequest } from '@polyvac/core/plugin'
import type { SecurityScheme } from '../card/agent-card.js'
import { RemoteAgentUnauthorizedError } from '../errors.js'

/** How owners sign in to an agent, by the scheme of its card. */
export interface SignInFlow {
  /** The authorization server; undefined where the scheme names only endpoints. */
  readonly issuer?: string | undefined
  readonly authorizationUrl?: string | undefined
  readonly tokenUrl?: string | undefined
  readonly scopes: readonly string[]
}

/** The token of one owner for an agent. */
export interface OwnerAuthorization {
  /** The value of the header; undefined before the sign-in. */
  readonly authorization: string | undefined
  /**
   * Obtains another token after a refusal with `status` and the header `www-authenticate`. Resolves with whether there
   * is one. Rejects with what asks the owner to sign in, an error with `signIn`.
   * @param used the value that was refused
   */
  renew (status: number, challenge: string | string[] | undefined, used: string | undefined): Promise<boolean>
  close (): Promise<void>
}

/** Signs owners in: `gateway.signIns.forAgent` of `@polyvac/mcp-gateway`. The owner is empty without authentication. */
export type SignIn = (owner: string, agent: { readonly name: string, readonly url: string, readonly flow: SignInFlow }) => Promise<OwnerAuthorization>

interface OwnerTokenOptions {
  readonly name: string
  readonly url: string
  readonly owner: string
  readonly signIn: SignIn
}

/** The token of the owner who asks one question. */
export class OwnerToken {
  readonly #options: OwnerTokenOptions
  #opening: Promise<OwnerAuthorization> | undefined
  #used: string | undefined

  constructor (options: OwnerTokenOptions) { this.#options = options }

  /**
   * The value of the header for the scheme `key` of the card. Without a token no request is sent.
   * @throws what asks the owner to sign in; REMOTE_AGENT_UNAUTHORIZED
   */
  async header (key: string, scheme: SecurityScheme): Promise<string> {
    return await this.#guarded(async () => {
      const { name, url, owner, signIn } = this.#options
      this.#opening ??= signIn(owner, { name, url, flow: flowOf(scheme) ?? this.#refuse(`the scheme ${key} has no sign-in for owners`) })
      const opened = await this.#opening
      if (opened.authorization === undefined) await opened.renew(401, undefined, undefined)
      this.#used = opened.authorization ?? this.#refuse('there is no token after the sign-in')
      return this.#used
    })
  }

  /** Obtains another token after a refusal. False where requests carry none. @throws as `header` */
  async renew (status: number, challenge: string | string[] | undefined): Promise<boolean> {
    return await this.#guarded(async () => await (await this.#opening)?.renew(status, challenge, this.#used) === true)
  }

  async close (): Promise<void> {
    await (await this.#opening?.catch(() => undefined))?.close()
  }

  async #guarded<T> (work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (err) {
      if (err instanceof RemoteAgentUnauthorizedError || signInRequest(err) !== undefined) throw err
      // its text may have an address
      throw Object.assign(new RemoteAgentUnauthorizedError(this.#options.name, 'the sign-in of an owner fails, and the log has the reason'), { cause: err })
    }
  }

  #refuse (problem: string): never { throw new RemoteAgentUnauthorizedError(this.#options.name, problem) }
}

/** Undefined for a scheme without a sign-in in a browser. */
function flowOf (scheme: SecurityScheme): SignInFlow | undefined {
  if (scheme.type === 'oauth2') return scheme.code && { ...scheme.code, issuer: scheme.metadataUrl === undefined ? undefined : issuerOf(scheme.metadataUrl) }
  return scheme.type === 'openIdConnect' ? { issuer: issuerOf(scheme.url), scopes: ['openid'] } : undefined
}

/** The issuer of a metadata document, whose well-known part OpenID Connect has after the path, RFC 8414 before it. */
function issuerOf (url: string): string {
  return url.replace(/\/\.well-known\/(?:openid-configuration|oauth-authorization-server)/, '')
}
