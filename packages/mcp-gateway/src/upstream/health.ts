import type { Limits } from '../options.js'
import type { Session } from '../session/session.js'

/** Pings in a row that may stay unanswered. */
const MISSES = 2

/**
 * Pings a server that is silent and has nothing to do; one that does not answer hangs, and `onHung` is called once. A
 * server with calls in flight is never ended: it may be busy with them, and each of them has a time of its own. Where one
 * has run out of it and a ping stays unanswered, no new calls go there, so that those in flight come to their end.
 */
export function watchHealth (session: Session, { pingIntervalMs, pingTimeoutMs }: Limits, onHung: () => void): { stop (): void } {
  let misses = 0
  let pinging = false
  const timer = setInterval(() => { look().catch(() => {}) }, Math.max(10, Math.min(pingIntervalMs, pingTimeoutMs)))
  timer.unref()

  async function look (): Promise<void> {
    const { heardAt } = session.requests
    // a call ran out of its time and nothing has come since
    const doubtful = session.timedOutAt > heardAt
    const silentMs = performance.now() - heardAt
    if (pinging || (!doubtful && (session.calls > 0 || silentMs < pingIntervalMs))) return
    pinging = true
    const asked = performance.now()
    try {
      await session.ping(pingTimeoutMs)
      misses = 0
    } catch {
      // any word from it, and any answer that is an error, is a sign of life
      if (session.requests.heardAt >= asked || !session.open) misses = 0
      else {
        misses++
        session.suspect()
      }
      if (misses >= MISSES && session.calls === 0) {
        clearInterval(timer)
        onHung()
      }
    } finally {
      pinging = false
    }
  }
  return { stop: () => clearInterval(timer) }
}
