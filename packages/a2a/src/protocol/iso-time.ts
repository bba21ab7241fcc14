/** Most times of a task are the same millisecond, or one that was just written. */
let last = { ms: 0, text: new Date(0).toISOString() }

/** A time in milliseconds since 1970 as ISO 8601 in UTC. */
export function isoTime (ms: number): string {
  if (last.ms !== ms) last = { ms, text: new Date(ms).toISOString() }
  return last.text
}
