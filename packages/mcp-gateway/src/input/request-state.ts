import { SignedStates, type StateFault } from '@polyvac/core/plugin'
import { InvalidStateError } from '../errors.js'

/** What a call is: a state belongs to one and fits no other. */
export interface CallIdentity { readonly owner?: string | undefined, readonly server: string, readonly tool: string, readonly args: unknown }

const FAULTS: Readonly<Record<StateFault, string>> = {
  forged: 'its requestState is not of this gateway',
  foreign: 'its requestState is of another caller, server, tool or other arguments',
  expired: 'its question is too old'
}

/** Makes and reads `requestState`: the id of a call that waits here. */
export class RequestStates {
  readonly #states: SignedStates

  /** @throws INVALID_STATE_KEY */
  constructor (key?: Buffer | string) {
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
