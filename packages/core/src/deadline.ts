import { LinkedSet, type LinkedNode } from './linked-set.js'

/** How often the clock is looked at, in ms: a timeout fires at most so much late. Timeouts here count in seconds. */
const TICK_MS = 25
/** A ticker with nothing to watch stops after so many ticks. */
const IDLE_TICKS = 40

const live = new LinkedSet<Deadline>()
let ticker: NodeJS.Timeout | undefined
let idle = 0

/** A timeout for a call. One ticker watches all of them: a timer of its own would cost a short call more than its work. */
export class Deadline {
  readonly at: number
  readonly #place: LinkedNode<Deadline>

  constructor (ms: number, readonly onTimeout: () => void) {
    this.at = performance.now() + ms
    ticker ??= setInterval(tick, TICK_MS)
    // a process that waits for a call stays; one that waits for none may end
    if (live.size === 0) ticker.ref()
    this.#place = live.add(this)
  }

  clear (): void {
    if (this.#place.remove() && live.size === 0) ticker?.unref()
  }
}

function tick (): void {
  idle = live.size === 0 ? idle + 1 : 0
  if (idle > IDLE_TICKS) {
    clearInterval(ticker)
    ticker = undefined
    idle = 0
    return
  }
  const now = performance.now()
  for (const deadline of live.values()) {
    if (deadline.at > now) continue
    deadline.clear()
    deadline.onTimeout()
  }
}
