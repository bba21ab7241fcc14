/**
 * Counts by name that all processes of a store share, such as those of the requests of a caller. A count begins again
 * when its time has passed.
 */
export interface SharedCounts {
  /** Adds to counts, in one statement. */
  add (counts: readonly AddedCount[]): Promise<CountNow[]>
}

export interface AddedCount {
  readonly name: string
  /** May be negative. */
  readonly count: number
  /** Time in ms from the first addition until the count begins again. */
  readonly windowMs: number
}

/** A count after an addition of its name. */
export interface CountNow {
  readonly name: string
  readonly count: number
  readonly endsInMs: number
}
