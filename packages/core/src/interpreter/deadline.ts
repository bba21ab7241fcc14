import { LinkedSet, type LinkedNode } from '../basics/linked-set.js'

/** Interval of the clock in ms: a timeout fires at most so much late. Timeouts of calls are seconds. */
const TICK_MS = 25
/** A ticker without deadlines stops after so many ticks. */
const IDLE_TICKS = 40

// @keyed none: a list in order, of the calls in progress, which their plugins bound
const live = new LinkedSet<Deadline>()
let ticker: NodeJS.Timeout | undefined
let idle = 0

/** A call that ends when its time is over. */
export interface TimedCall { timeOut (): void }

/** A timeout for a call. One ticker serves all of them: a timer per call costs more than the work of a short call. */
export class Deadline {
  readonly at: number
  readonly #place: LinkedNode<Deadline>

  constructor (ms: number, readonly call: TimedCall) {
    this.at = performance.now() + ms
    ticker ??= setInterval(tick, TICK_MS)
    // the process must not end while a call is in progress
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
    deadline.call.timeOut()
  }
}
