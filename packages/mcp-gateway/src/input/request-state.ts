import { SignedStates, type StateFault, type StateKey } from '@polyvac/core/plugin'
import { InvalidStateError } from '../errors.js'

/** What identifies a call: a state is valid only for one call. */
export interface CallIdentity { readonly owner?: string | undefined, readonly server: string, readonly tool: string, readonly args: unknown }

const FAULTS: Readonly<Record<StateFault, string>> = {
  unknown: 'this gateway did not sign its requestState for this caller, server, tool and arguments',
  expired: 'its question has expired'
}

/** Signs and reads `requestState`: the id of a parked call. */
export class RequestStates {
  readonly #states: SignedStates

  /** @throws INVALID_STATE_KEY */
  constructor (key?: StateKey) {
    this.#states = new SignedStates(key)
  }

  sign (id: string, call: CallIdentity, ttlMs: number): string {
    return this.#states.sign(id, identity(call), ttlMs)
  }

  /** The id that was signed. @throws MCP_INVALID_STATE */
  read (text: string, call: CallIdentity): string {
    const read = this.#states.read(text, identity(call))
    if ('fault' in read) throw new InvalidStateError(FAULTS[read.fault])
    return read.value as string
  }
}

function identity ({ owner, server, tool, args }: CallIdentity): unknown {
  return [owner ?? null, server, tool, args ?? null]
}
