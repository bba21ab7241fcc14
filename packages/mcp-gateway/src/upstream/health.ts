import type { Limits } from '../options.js'
import type { Session } from '../session/session.js'

/** Pings in a row without a response after which a server counts as hung. */
const MISSES = 2

/**
 * Pings a server that is silent and has no calls. A server that does not respond hangs: `onHung` is called once. A
 * server with calls in flight is never ended: it may be busy, and each call has its own timeout. After a call timed out
 * and a ping got no response, the server gets no new calls, so that those in flight can end. `onRefused` gets the
 * failure of a ping: it may show that the server forgot the session.
 */
export function watchHealth (session: Session, { pingIntervalMs, pingTimeoutMs }: Limits, onHung: () => void, onRefused: (err: unknown) => Promise<void>): { stop (): void } {
  let misses = 0
  let pinging = false
  const timer = setInterval(() => { look().catch(() => {}) }, Math.max(10, Math.min(pingIntervalMs, pingTimeoutMs)))
  timer.unref()

  async function look (): Promise<void> {
    const { heardAt } = session.requests
    // a call timed out, and no message has come since
    const doubtful = session.timedOutAt > heardAt
    const silentMs = performance.now() - heardAt
    if (pinging || (!doubtful && (session.calls > 0 || silentMs < pingIntervalMs))) return
    pinging = true
    const asked = performance.now()
    try {
      await session.ping(pingTimeoutMs)
      misses = 0
    } catch (err) {
      await onRefused(err)
      // any message, also an error response, shows that the server is alive
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
