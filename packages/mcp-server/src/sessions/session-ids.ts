import type { Principal } from '@polyvac/core'
import { mayUse, SignedStates, type StateKey } from '@polyvac/core/plugin'
import type { ClientCapabilities, LegacyRevision } from '@polyvac/mcp-protocol'
import { createHash, createHmac } from 'node:crypto'

/** Time for which the id of a session is valid, in ms. */
export const SESSION_ID_MS = 30 * 24 * 60 * 60_000
/** Longest id of a session, in characters: each request has it as a header. */
const MAX_SESSION_ID_CHARS = 2_000

/** Longest list of scopes in an id, as characters of JSON; of a longer one the id has a digest. */
const MAX_SCOPES_CHARS = 500

/** What the id of a session contains. */
export interface SessionClaims {
  /** Names the session in the store. */
  readonly key: string
  readonly revision: LegacyRevision
  readonly capabilities: ClientCapabilities
  /** Those of its maker; absent: no list bounds them. */
  readonly scopes?: readonly string[] | undefined
}

/** Ids of sessions that any replica with the key can serve. An id is bound to its owner, whom it does not reveal. */
export class SessionIds {
  readonly #key: () => Buffer
  readonly #states: SignedStates

  constructor (stateKey: StateKey) {
    // an id is never valid as a requestState
    this.#key = () => createHmac('sha256', typeof stateKey === 'function' ? stateKey() : stateKey).update('MCP sessions').digest()
    this.#states = new SignedStates(this.#key, MAX_SESSION_ID_CHARS)
  }

  /** Extensions that would make the id too long are left out. */
  issue (claims: Omit<SessionClaims, 'scopes'>, maker: Principal | undefined): string {
    const scopes = maker?.scopes
    const whole = { ...claims, ...scopes !== undefined && { scopes: JSON.stringify(scopes).length > MAX_SCOPES_CHARS ? [digest(scopes)] : scopes } }
    const id = this.#states.sign(whole, this.#hash(maker?.owner), SESSION_ID_MS)
    if (id.length <= MAX_SESSION_ID_CHARS) return id
    const { extensions, ...capabilities } = claims.capabilities
    return this.#states.sign({ ...whole, capabilities }, this.#hash(maker?.owner), SESSION_ID_MS)
  }

  /**
   * What an id contains, and its maker. Undefined for an id of another owner or of a caller with more scopes, for an
   * expired one, and for any other text.
   */
  read (id: string, caller: Principal | undefined): { readonly claims: SessionClaims, readonly maker: Principal | undefined } | undefined {
    const read = this.#states.read(id, this.#hash(caller?.owner))
    if (!('value' in read)) return undefined
    const claims = read.value as SessionClaims
    if (caller === undefined) return { claims, maker: undefined }
    const isDigest = caller.scopes !== undefined && claims.scopes?.length === 1 && claims.scopes[0] === digest(caller.scopes)
    const maker = { ...caller, scopes: isDigest ? caller.scopes : claims.scopes }
    return mayUse(caller, { maker }) ? { claims, maker } : undefined
  }

  #hash (owner: string | undefined): string {
    return createHmac('sha256', this.#key()).update(owner === undefined ? '' : ` ${owner}`).digest('base64url')
  }
}

/** Of the same scopes in any order. */
function digest (scopes: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify([...scopes].sort())).digest('base64url')
}
