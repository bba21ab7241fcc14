import { normalizeEvents, pairIds, showEvent, typeOf, valuesOf, type NormalEvent } from './events.js'
import type { RecordedExchange } from './session-file.js'

/** Differences of one exchange that are shown, and the characters of each side. */
export const MAX_DIFFERENCES = 5
export const MAX_DIFFERENCE_CHARS = 120
const SEPARATORS: Readonly<Record<string, string>> = { 'text/event-stream': '\n\n', 'application/x-ndjson': '\n' }

export interface Difference { readonly what: string, readonly recorded: string, readonly now: string }
/** What the service answers to the request of an exchange. */
export interface Outcome { readonly status: number, readonly contentType: string, readonly text: string, readonly isPartial: boolean }

/**
 * Compares status, content type, and text or events.
 * @param pairs gets the ids of the recorded run with those of this one
 */
export function compareExchange (exchange: RecordedExchange, now: Outcome, pairs: Map<string, string>): Difference[] {
  const { status, headers, frames } = exchange
  const contentType = headers['content-type'] ?? ''
  const differences: Difference[] = []
  if (status !== now.status) differences.push({ what: 'status', recorded: String(status), now: String(now.status) })
  if (contentType.toLowerCase() !== now.contentType.toLowerCase()) differences.push({ what: 'content type', recorded: contentType, now: now.contentType })
  const recordedValues = valuesOf(frames.join(SEPARATORS[typeOf(contentType)] ?? ''), contentType)
  const values = valuesOf(now.text, now.contentType)
  recordedValues.forEach((value, index) => pairIds(value, values[index], pairs))
  const recorded = normalizeEvents(recordedValues)
  const answered = normalizeEvents(values)
  const isPartial = exchange.isPartial || now.isPartial
  const count = isPartial ? Math.min(recorded.length, answered.length) : Math.max(recorded.length, answered.length)
  const isStream = SEPARATORS[typeOf(contentType)] !== undefined
  for (let index = 0; index < count && differences.length < MAX_DIFFERENCES; index++) {
    const [before, after] = [recorded[index], answered[index]]
    if (isSame(before, after, isPartial && index === count - 1)) continue
    const [left, right] = aroundDifference(before === undefined ? 'nothing' : showEvent(before), after === undefined ? 'nothing' : showEvent(after))
    differences.push({ what: isStream ? `event ${index + 1}` : 'body', recorded: left, now: right })
  }
  return differences
}

/** @param isLast the event may go on in one of the two runs */
function isSame (before: NormalEvent | undefined, after: NormalEvent | undefined, isLast: boolean): boolean {
  if (before === undefined || after === undefined || before.shape !== after.shape) return false
  return isLast ? before.text.startsWith(after.text) || after.text.startsWith(before.text) : before.text === after.text
}

/** Both texts from a little before their first difference. */
function aroundDifference (before: string, after: string): [string, string] {
  let first = 0
  while (first < before.length && before[first] === after[first]) first++
  const start = Math.max(0, first - MAX_DIFFERENCE_CHARS / 2)
  const cut = (text: string): string =>
    `${start > 0 ? '…' : ''}${text.slice(start, start + MAX_DIFFERENCE_CHARS)}${text.length > start + MAX_DIFFERENCE_CHARS ? '…' : ''}`
  return [cut(before), cut(after)]
}
