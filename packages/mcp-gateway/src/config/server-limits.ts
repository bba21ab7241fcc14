import type { Limits } from '../options.js'
import type { NamedServer } from './server-config.js'

/** The bounds of one server: those of its entry, and where it has none those of the gateway. */
export function limitsOf (
  { timeout, total_timeout: total, start_timeout: start, list_timeout: list, max_message_bytes: bytes, max_in_flight: inFlight }: NamedServer, limits: Limits
): Limits {
  return {
    ...limits,
    callTimeoutMs: milliseconds(timeout) ?? limits.callTimeoutMs,
    maxCallMs: milliseconds(total) ?? limits.maxCallMs,
    startTimeoutMs: milliseconds(start) ?? limits.startTimeoutMs,
    listWaitMs: milliseconds(list) ?? limits.listWaitMs,
    maxMessageBytes: bytes ?? limits.maxMessageBytes,
    maxInFlight: inFlight ?? limits.maxInFlight
  }
}

function milliseconds (seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.max(1, Math.round(seconds * 1000))
}
