const INTERVAL_MS = 10_000

/**
 * Lets one log line of a kind pass in an interval, and counts the others: callers and other servers must not be able to
 * fill the disk with log lines.
 */
export class LogGate {
  readonly #intervalMs: number
  readonly #maxKinds: number
  readonly #kinds = new Map<string, { at: number, suppressed: number }>()

  /** @param maxKinds kinds that are remembered; the oldest is forgotten, and its next line passes */
  constructor (intervalMs = INTERVAL_MS, maxKinds = 1_000) {
    this.#intervalMs = intervalMs
    this.#maxKinds = maxKinds
  }

  /** Undefined where the line must be left out; otherwise how many of its kind were left out since the last one. */
  pass (kind: string): number | undefined {
    const now = performance.now()
    const last = this.#kinds.get(kind)
    if (last !== undefined && now - last.at < this.#intervalMs) {
      last.suppressed++
      return undefined
    }
    this.#kinds.delete(kind)
    if (this.#kinds.size >= this.#maxKinds) this.#kinds.delete(this.#kinds.keys().next().value as string)
    this.#kinds.set(kind, { at: now, suppressed: 0 })
    return last?.suppressed ?? 0
  }
}
