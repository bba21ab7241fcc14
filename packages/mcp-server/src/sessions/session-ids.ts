import type { Principal } from '@polyvac/core'
import { accessKey, SignedStates, type StateKey } from '@polyvac/core/plugin'
import type { ClientCapabilities, LegacyRevision } from '@polyvac/mcp-protocol'
import { createHmac } from 'node:crypto'

/** Time for which the id of a session is valid, in ms. */
export const SESSION_ID_MS = 30 * 24 * 60 * 60_000
/** Longest id of a session, in characters: each request has it as a header. */
const MAX_SESSION_ID_CHARS = 2_000

/** What the id of a session contains. */
export interface SessionClaims {
  /** Names the session in the store. */
  readonly key: string
  readonly revision: LegacyRevision
  readonly capabilities: ClientCapabilities
}

/**
 * Ids of sessions that any replica with the key can serve. An id is bound to its owner and scopes, which it does not
 * reveal.
 */
export class SessionIds {
  readonly #key: () => Buffer
  readonly #states: SignedStates

  constructor (stateKey: StateKey) {
    // an id is never valid as a requestState
    this.#key = () => createHmac('sha256', typeof stateKey === 'function' ? stateKey() : stateKey).update('MCP sessions').digest()
    this.#states = new SignedStates(this.#key, MAX_SESSION_ID_CHARS)
  }

  /** Extensions that would make the id too long are left out. */
  issue (claims: SessionClaims, maker: Principal | undefined): string {
    const id = this.#states.sign(claims, this.#hash(maker), SESSION_ID_MS)
    if (id.length <= MAX_SESSION_ID_CHARS) return id
    const { extensions, ...capabilities } = claims.capabilities
    return this.#states.sign({ ...claims, capabilities }, this.#hash(maker), SESSION_ID_MS)
  }

  /** Undefined for an id of another owner or of other scopes, for an expired one, and for any other text. */
  read (id: string, caller: Principal | undefined): SessionClaims | undefined {
    const read = this.#states.read(id, this.#hash(caller))
    return 'value' in read ? read.value as SessionClaims : undefined
  }

  #hash (maker: Principal | undefined): string {
    const named = maker === undefined ? '' : ` ${JSON.stringify([maker.owner, accessKey(maker)])}`
    return createHmac('sha256', this.#key()).update(named).digest('base64url')
  }
}
