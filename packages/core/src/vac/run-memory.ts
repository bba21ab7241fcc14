/** What an interpreter keeps for later attempts at its run, and for its later turns: any JSON value. */
export interface RunMemory {
  readonly value: unknown
  /** Replaces the value; it is durable when this resolves. */
  set (value: unknown): Promise<void>
}

// a symbol: callers cannot send it, and threads of interpreters do not get it
const MEMORY = Symbol('run memory')
const RUN = Symbol('run')

/** Adds the memory of a run to the fields of its call. */
export function withRunMemory<T extends object> (extra: T, memory: RunMemory): T {
  return Object.assign(extra, { [MEMORY]: memory })
}

/** The memory of the run that an interpreter answers; undefined for a call that nothing repeats. */
export function runMemoryOf (extra: object): RunMemory | undefined {
  return (extra as { readonly [MEMORY]?: RunMemory })[MEMORY]
}

/** A turn of a run, which another attempt answers again. */
export interface RunTurnId { readonly id: string, readonly turn: number }

/** Adds the turn that a call answers to its fields: `runId` and `taskId` may be fields of the caller. */
export function withRunTurn<T extends object> (extra: T, { id, turn }: RunTurnId): T {
  return Object.assign(extra, { [RUN]: { id, turn } })
}

/** The turn of a run that an interpreter answers; undefined for a call that nothing repeats. */
export function runTurnOf (extra: object): RunTurnId | undefined {
  return (extra as { readonly [RUN]?: RunTurnId })[RUN]
}
