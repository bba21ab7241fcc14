import { LogGate } from '../basics/log-gate.js'
import type { Log } from '../basics/log.js'

const gate = new LogGate()

/** Who was refused what, and why. */
export interface Refusal {
  readonly reason: string
  readonly owner?: string | undefined
  readonly address?: string | undefined
  readonly method?: string | undefined
  readonly route?: string | undefined
  readonly what?: string | undefined
}

/**
 * Logs a refusal, without credentials. At most one line in ten seconds for each reason and owner, or address where the
 * caller is unknown, and 250 for each reason: callers could fill the disk.
 */
export function auditRefusal (log: Log, refusal: Refusal): void {
  const { reason, owner, address } = refusal
  const suppressed = gate.pass(reason, owner === undefined ? `address ${address}` : `owner ${owner}`)
  if (suppressed !== undefined) log.warn({ audit: 'refused', ...refusal, suppressed }, 'a caller was refused')
}
