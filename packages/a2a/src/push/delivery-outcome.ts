import { pushBackoff, type DeliveryOutcome } from '@polyvac/tasks'

const MIN_RETRY_AFTER_MS = 1_000
const MAX_RETRY_AFTER_MS = 3_600_000

/**
 * What a receiver's status means for the delivery. `Retry-After` counts where a status asks for it, from one second, so
 * that a receiver cannot make us hammer it, to one hour.
 */
export function deliveryOutcome (status: number, retryAfter: string | undefined, tries: number, now = Date.now()):
DeliveryOutcome {
  if (status >= 200 && status < 300) return 'delivered'
  if (status === 410) return { disable: 'the receiver answered 410: it wants no more notifications' }
  const asked = status === 429 || status === 503 ? readRetryAfter(retryAfter, now) : undefined
  if (asked === undefined) return { retryAt: now + pushBackoff(tries) }
  return { retryAt: now + Math.min(MAX_RETRY_AFTER_MS, Math.max(MIN_RETRY_AFTER_MS, asked)) }
}

/** Milliseconds from now, of a header that holds seconds or a date. */
function readRetryAfter (value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1_000
  const date = /^[A-Z][a-z]+,? /.test(value) ? Date.parse(value) : NaN
  return Number.isNaN(date) ? undefined : date - now
}
