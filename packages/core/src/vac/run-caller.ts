import type { Principal } from './vac.js'

/** The states of a run, as callers read them. */
export const RUN_STATES = ['queued', 'running', 'input_required', 'completed', 'failed', 'cancelled'] as const
export type RunState = typeof RUN_STATES[number]

/** Who asks for runs and conversations. */
export interface RunCaller {
  /** Undefined where callers are not authenticated. */
  readonly principal: Principal | undefined
  /** A caller without an identity on this machine: the one user of a local service. Others cannot list runs. */
  readonly isLocal: boolean
  /** Whether it may administer: then it sees inputs, outputs and errors of tools. */
  readonly isAdmin: boolean
  /** Whether it asks as an administrator, whom `get` and `follow` give runs of all owners. Default: only its runs. */
  readonly readsAll?: boolean | undefined
}
