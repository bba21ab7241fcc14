import type { EventBody, TaskEvent } from '../contract/task.js'

/** Events that a reader reads at a time, and the characters with which a page ends. */
export const PAGE = 500
export const PAGE_CHARS = 256 * 1024
/** Bytes that have at least as many characters. */
export const PAGE_BYTES = 3 * PAGE_CHARS
export const FIRST_PAGE = 4

/** Whether reading a log takes so long that it must not share a turn of the event loop with another one. */
export function isLargeLog ({ bytes }: { readonly bytes: number }): boolean {
  return bytes > PAGE_CHARS
}

/** A part of a log. */
export interface LogPage {
  readonly events: readonly TaskEvent[]
  /** Whether it ends with the last event. */
  readonly last: boolean
  /** The number of events for the next page, so that a page of large events has few. */
  readonly next: number
}

export interface EventRow { readonly seq: number, readonly data: string }

/** A page of these rows, which were read with `limit`. It ends with the event that fills it. */
export function logPage (rows: Iterable<EventRow>, limit: number): LogPage {
  const events: TaskEvent[] = []
  let chars = 0
  for (const { seq, data } of rows) {
    events.push(Object.assign({ seq }, JSON.parse(data) as EventBody))
    chars += data.length
    if (chars >= PAGE_CHARS) break
  }
  return {
    events,
    last: events.length < limit && chars < PAGE_CHARS,
    next: Math.max(1, Math.min(PAGE, Math.floor(PAGE_CHARS / Math.max(1, chars / Math.max(1, events.length)))))
  }
}
