import { createHash } from 'node:crypto'

const INTERVAL_MS = 10_000
/** Lines that a gate remembers, and so the most that pass in an interval. */
const MAX_LINES = 1_000
/** Part of one kind: callers without an account have any number of addresses, and must not silence other kinds. */
const PART_OF_KIND = 0.25

interface Line {
  readonly key: string
  readonly kind: string
  readonly at: number
  suppressed: number
}

/**
 * Lets one log line of a kind and caller pass in an interval, and counts the others: callers and other servers must not
 * be able to fill the disk with log lines, however many callers, hosts or names they invent.
 */
export class LogGate {
  readonly #intervalMs: number
  readonly #maxLines: number
  readonly #maxOfKind: number
  /** Oldest first. */
  // @keyed hash of a kind, and of the owner, address, host or name that a caller or a server chose | holds: a time
  //   and a number | whose: the process | bound: MAX_LINES; a key has 44 characters | share: of no owner,
  //   PART_OF_KIND of one kind; a recent line is never forgotten for another | test:
  //   packages/core/test/shares.test.ts: however many callers and kinds there are, a gate lets no more lines pass
  //   than it remembers, and none silences another kind
  readonly #lines = new Map<string, Line>()

  /** @param maxLines the most that pass in an interval, which are remembered; a quarter of them of one kind */
  constructor (intervalMs = INTERVAL_MS, maxLines = MAX_LINES) {
    this.#intervalMs = intervalMs
    this.#maxLines = maxLines
    this.#maxOfKind = Math.ceil(maxLines * PART_OF_KIND)
  }

  /**
   * Undefined where the line must be left out; otherwise how many were left out since the last one like it.
   * @param kind one of few, such as a code
   * @param caller what a caller or another server chose: an owner, an address, a host
   */
  pass (kind: string, caller = ''): number | undefined {
    const now = performance.now()
    const isRecent = (line: Line): boolean => now - line.at < this.#intervalMs
    // the length of a key does not depend on what a caller chose
    const key = createHash('sha256').update(JSON.stringify([kind, caller])).digest('base64')
    const last = this.#lines.get(key)
    const leaves = last ?? this.#leaving(kind)
    if (leaves !== undefined) {
      if (isRecent(leaves)) {
        leaves.suppressed++
        return undefined
      }
      this.#lines.delete(leaves.key)
    }
    this.#lines.set(key, { key, kind, at: now, suppressed: 0 })
    return last?.suppressed ?? 0
  }

  /** The line whose place one more of the kind takes: the oldest of the kind, or of all; undefined: a place is free. */
  #leaving (kind: string): Line | undefined {
    let ofKind = 0
    let oldest: Line | undefined
    for (const line of this.#lines.values()) {
      if (line.kind !== kind) continue
      oldest ??= line
      ofKind++
    }
    if (ofKind >= this.#maxOfKind) return oldest
    return this.#lines.size < this.#maxLines ? undefined : this.#lines.values().next().value
  }
}
