/** How often the clock is looked at, in ms: a timeout fires at most so much late. Timeouts here count in seconds. */
const TICK_MS = 25
/** A ticker with nothing to watch stops after so many ticks. */
const IDLE_TICKS = 40

const live = new Set<Deadline>()
let ticker: NodeJS.Timeout | undefined
let idle = 0

/** A timeout for a call. One ticker watches all of them: a timer of its own would cost a short call more than its work. */
export class Deadline {
  readonly at: number

  constructor (ms: number, readonly onTimeout: () => void) {
    this.at = performance.now() + ms
    live.add(this)
    ticker ??= setInterval(tick, TICK_MS)
  }

  clear (): void {
    live.delete(this)
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
  // a process that has only calls to wait for waits for them; one that has none may end
  if (live.size === 0) ticker?.unref()
  else ticker?.ref()
  const now = performance.now()
  for (const deadline of live) {
    if (deadline.at > now) continue
    live.delete(deadline)
    deadline.onTimeout()
  }
}
