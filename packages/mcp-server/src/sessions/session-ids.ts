import { SignedStates, type StateKey } from '@polyvac/core/plugin'
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
  issue (claims: SessionClaims, owner: string | undefined): string {
    const id = this.#states.sign(claims, this.#hash(owner), SESSION_ID_MS)
    if (id.length <= MAX_SESSION_ID_CHARS) return id
    const { extensions, ...capabilities } = claims.capabilities
    return this.#states.sign({ ...claims, capabilities }, this.#hash(owner), SESSION_ID_MS)
  }

  /** Undefined for an id of another owner, an expired one, and any other text. */
  read (id: string, owner: string | undefined): SessionClaims | undefined {
    const read = this.#states.read(id, this.#hash(owner))
    return 'value' in read ? read.value as SessionClaims : undefined
  }

  #hash (owner: string | undefined): string {
    return createHmac('sha256', this.#key()).update(owner === undefined ? '' : ` ${owner}`).digest('base64url')
  }
}
