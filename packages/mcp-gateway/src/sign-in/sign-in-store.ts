import type { OAuthClientInformationMixed, AuthorizationServerMetadata } from '@modelcontextprotocol/client'
import { setTimeout as delay } from 'node:timers/promises'
import { SignInFailedError } from '../errors.js'
import type { SignInStore } from '../sign-in-options.js'
import type { SealedTexts } from './sealed-texts.js'
import { titleOf, type SignInTarget } from './target.js'

/** The authorization server of a sign-in, as far as later requests need it. */
export type KnownIssuer = Pick<AuthorizationServerMetadata, 'issuer' | 'token_endpoint' | 'authorization_endpoint' | 'response_types_supported'> & {
  readonly token_endpoint_auth_methods_supported?: string[] | undefined
  readonly authorization_response_iss_parameter_supported?: boolean | undefined
}

export interface PendingSignIn {
  readonly id: string
  /** The address at the authorization server, without what only one browser has: its state and its challenge. */
  readonly url: string
  readonly scope: string | undefined
  /** What the server asked for in its challenge. */
  readonly wanted: string | undefined
  /** End of its life, in ms since the epoch. */
  readonly until: number
}

/** What is kept of one owner and server. */
export interface SignIn {
  readonly issuer?: KnownIssuer | undefined
  readonly client?: OAuthClientInformationMixed | undefined
  /** The callback that the client is registered with. */
  readonly redirectUri?: string | undefined
  readonly resource?: string | undefined
  readonly scope?: string | undefined
  readonly token?: string | undefined
  readonly refreshToken?: string | undefined
  readonly pending?: PendingSignIn | undefined
  /** Until when one process refreshes the token, in ms since the epoch. */
  readonly refreshingUntil?: number | undefined
}

/** What counts of a sign-in: credentials belong to one issuer, and the configuration may name another now. */
export function ofIssuer (record: SignIn, issuer: string | undefined): SignIn {
  const plain = (url: string): string => url.replace(/\/$/, '')
  return issuer === undefined || record.issuer === undefined || plain(record.issuer.issuer) === plain(issuer) ? record : {}
}

/** Whether a scope has all that a challenge names. */
export function covers (scope: string | undefined, wanted: string | undefined): boolean {
  const has = new Set(scope?.split(' '))
  return (wanted?.split(' ') ?? []).every(one => has.has(one))
}

/** Attempts to write where other processes write the same sign-in. */
const MAX_ATTEMPTS = 20
const RETRY_MS = 10

/** A store for one process. */
export function memoryStore (): SignInStore {
  // @keyed JSON of owner and server | holds: the tokens of the owner, encrypted | whose: the owner | bound: one for
  //   each owner who signs in and each server with per_owner; a token response has at most MAX_BYTES | share: the
  //   owner: it can fill only its own entries | test: packages/tasks/test/conformance.ts: a sign-in belongs to one
  //   owner and server, and one of two replacements wins
  const texts = new Map<string, string>()
  const keyOf = (owner: string, server: string): string => JSON.stringify([owner, server])
  return {
    async get (owner, server) { return texts.get(keyOf(owner, server)) },
    async replace (owner, server, before, after) {
      const key = keyOf(owner, server)
      if (texts.get(key) !== before) return false
      if (after === undefined) texts.delete(key)
      else texts.set(key, after)
      return true
    }
  }
}

/** The sign-ins of a store, encrypted. A text of another key counts as none. */
export class SignInRecords {
  readonly #store: SignInStore
  readonly #texts: SealedTexts

  constructor (store: SignInStore, texts: SealedTexts) {
    this.#store = store
    this.#texts = texts
  }

  async get (owner: string, target: SignInTarget): Promise<SignIn> {
    return this.#open(await this.#store.get(owner, target.name), owner, target)
  }

  /**
   * Changes a sign-in. `change` is called again where another process changed it meanwhile; undefined leaves it
   * unchanged. Resolves to what is stored then.
   * @throws MCP_SIGN_IN_FAILED
   */
  async change (owner: string, target: SignInTarget, change: (before: SignIn) => SignIn | undefined): Promise<SignIn> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const text = await this.#store.get(owner, target.name)
      const before = this.#open(text, owner, target)
      const after = change(before)
      if (after === undefined) return before
      if (await this.#store.replace(owner, target.name, text, this.#texts.seal(after, purposeOf(owner, target)))) return after
      await delay(RETRY_MS)
    }
    throw new SignInFailedError(titleOf(target), 'other processes change it all the time')
  }

  #open (text: string | undefined, owner: string, target: SignInTarget): SignIn {
    return text === undefined ? {} : this.#texts.open(text, purposeOf(owner, target)) as SignIn | undefined ?? {}
  }
}

/** A token of a server is not one of an agent that later has its name, nor that of an agent one for another origin. */
function purposeOf (owner: string, { name, url = '', agent }: SignInTarget): string[] {
  return ['sign-in', owner, name, ...agent === undefined ? [] : ['agent', new URL(url).origin]]
}
