/** What a caller did in a window of time. */
export interface Count {
  /** Unique among all counts. */
  readonly name: string
  readonly windowMs: number
  value: number
  /** What the other replicas do not know yet. */
  unsent: number
  /** On the clock of `performance.now()`. */
  endsAt: number
  isForgotten?: boolean
}
