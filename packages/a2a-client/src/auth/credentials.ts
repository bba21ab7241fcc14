import { unlessAborted, type Redactor } from '@polyvac/core/plugin'
import type { AgentCard, SecurityScheme } from '../card/agent-card.js'
import { RemoteAgentCardError, RemoteAgentUnauthorizedError } from '../errors.js'
import type { ClientCertificate } from '../http/client-certificate.js'
import type { AgentRequests } from '../http/requests.js'
import { ClientToken, type ClientCredentials } from './client-token.js'
import type { OwnerToken } from './owner-token.js'

/** What an entry has for one scheme of the card. */
export type Credential =
  | { readonly apiKey: string }
  | { readonly token: string }
  | { readonly username: string, readonly password: string }
  | ClientCredentials
  | ClientCertificate
  /** Each owner signs in; the option `signIn` has the tokens. */
  | { readonly perOwner: true }

/** The values of credentials by their names, which decide what is secret. */
export function valuesOf (auth: Readonly<Record<string, Credential>>): Array<[name: string, value: string]> {
  return Object.values(auth).flatMap(credential => Object.entries(credential).filter(([, value]) => typeof value === 'string'))
}

/** What a request carries to prove who asks. */
export interface Proof {
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
}

/** The credentials of one agent, by the names of the schemes in its card. */
export class Credentials {
  readonly #name: string
  readonly #given: ReadonlyMap<string, Credential>
  readonly #requests: AgentRequests
  readonly #secrets: Redactor
  // @keyed none: one token for each scheme that the configuration has client credentials for
  readonly #tokens = new Map<string, ClientToken>()

  constructor (name: string, given: Readonly<Record<string, Credential>>, requests: AgentRequests, secrets: Redactor) {
    this.#name = name
    this.#given = new Map(Object.entries(given))
    this.#requests = requests
    this.#secrets = secrets
  }

  /**
   * What a request to the agent carries: the first requirement of the card that the configuration satisfies.
   * @param owner the token of the owner who asks, for a scheme with `perOwner`
   * @throws REMOTE_AGENT_CARD where there is none, REMOTE_AGENT_UNAUTHORIZED where a token is refused, and what asks
   *   the owner to sign in
   */
  async proof (card: AgentCard, owner: OwnerToken, signal: AbortSignal): Promise<Proof> {
    const headers: Record<string, string> = {}
    const query: Record<string, string> = {}
    const cookies: string[] = []
    for (const name of this.#names(card)) {
      const scheme = card.schemes.get(name)!
      const credential = this.#given.get(name)!
      if (scheme.type === 'apiKey') {
        const value = 'apiKey' in credential ? credential.apiKey : this.#misfit(name, 'apiKey')
        if (scheme.in === 'query') query[scheme.name] = value
        else if (scheme.in === 'cookie') cookies.push(`${scheme.name}=${encodeURIComponent(value)}`)
        else headers[scheme.name.toLowerCase()] = value
      } else if (scheme.type === 'mutualTLS') {
        // the connection has it
        if (!('cert' in credential)) this.#misfit(name, 'cert` and `key')
      } else if ('perOwner' in credential) {
        headers.authorization = await unlessAborted(owner.header(name, scheme), signal)
      } else {
        headers.authorization = await this.#authorization(name, scheme, credential, signal)
      }
    }
    if (cookies.length > 0) headers.cookie = cookies.join('; ')
    return { headers, query }
  }

  /** Drops the tokens after a refusal. Whether another try may succeed: a key of the configuration stays the same. */
  refused (): boolean {
    for (const token of this.#tokens.values()) token.drop()
    return this.#tokens.size > 0
  }

  #names ({ requirements, schemes }: AgentCard): readonly string[] {
    const usable = (name: string): boolean => this.#given.has(name) && schemes.has(name)
    if (requirements.length === 0) return [...schemes.keys()].filter(usable)
    const found = requirements.find(names => names.every(usable))
    if (found !== undefined) return found
    const wanted = requirements.map(names => names.join(' and ')).join(', or ')
    throw new RemoteAgentCardError(this.#name, `it needs credentials for ${this.#secrets.text(wanted)}`, 'add them under `auth` of the entry, by these names')
  }

  async #authorization (name: string, scheme: SecurityScheme, credential: Credential, signal: AbortSignal): Promise<string> {
    if (scheme.type === 'http' && scheme.scheme === 'basic') {
      if (!('username' in credential)) return this.#misfit(name, 'username` and `password')
      return `Basic ${Buffer.from(`${credential.username}:${credential.password}`).toString('base64')}`
    }
    if ('token' in credential) return `Bearer ${credential.token}`
    if (!('clientId' in credential) || scheme.type === 'other' || scheme.type === 'apiKey' || scheme.type === 'mutualTLS') return this.#misfit(name, 'token')
    return `Bearer ${await this.#tokenOf(name, scheme, credential).get(signal)}`
  }

  #tokenOf (name: string, scheme: SecurityScheme, credential: ClientCredentials): ClientToken {
    const known = this.#tokens.get(name)
    if (known !== undefined) return known
    const refuse = (problem: string): Error => new RemoteAgentUnauthorizedError(this.#name, `${name}: ${problem}`)
    const token = new ClientToken({ credential, scheme, requests: this.#requests, refuse })
    this.#tokens.set(name, token)
    return token
  }

  #misfit (name: string, wanted: string): never {
    throw new RemoteAgentUnauthorizedError(this.#name, `the scheme ${name} needs \`${wanted}\``)
  }
}
