import { quoteName } from '@polyvac/core/plugin'
import type { NamedServer } from '../config/server-config.js'

type OAuthKeys = NonNullable<NamedServer['oauth']>

/** What owners sign in to: an MCP server, or an agent of another service. */
export interface SignInTarget {
  readonly name: string
  readonly url?: string | undefined
  readonly oauth?: { readonly [Key in keyof OAuthKeys]?: OAuthKeys[Key] | undefined } | undefined
  /** Of an agent: the scheme of its card. Undefined for a server. */
  readonly agent?: { readonly scheme: string } | undefined
}

/** An agent whose card states how owners sign in. */
export interface AskedAgent {
  readonly name: string
  readonly url: string
  readonly flow: SignInFlow
}

/** How an agent lets owners sign in, by the scheme of its card. */
export interface SignInFlow {
  /** The authorization server; undefined where the scheme names only endpoints. */
  readonly issuer?: string | undefined
  readonly authorizationUrl?: string | undefined
  readonly tokenUrl?: string | undefined
  readonly scopes: readonly string[]
}

/** For errors. */
export function titleOf ({ name, agent }: SignInTarget): string {
  return `the ${agent === undefined ? 'MCP server' : 'remote agent'} ${quoteName(name)}`
}

/** The key of the entry with the keys of OAuth. */
export function keyOf ({ agent }: SignInTarget): string {
  return agent === undefined ? 'oauth' : `auth.${agent.scheme}`
}
