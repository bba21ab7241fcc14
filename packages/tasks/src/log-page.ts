import type { TaskEvent } from './task.js'
import type { EventBody } from './task-updates.js'

/** Events that a reader reads at a time, and about how many characters. */
export const PAGE = 500
const PAGE_CHARS = 256 * 1024
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
  readonly chars: number
  /** The number of events for the next page, so that a page of large events has few. */
  readonly next: number
}

export interface EventRow { readonly seq: number, readonly data: string }

/** A page of these rows, which were read with `limit`. */
export function logPage (rows: readonly EventRow[], limit: number): LogPage {
  const chars = rows.reduce((sum, { data }) => sum + data.length, 0)
  return {
    events: rows.map(({ seq, data }) => Object.assign({ seq }, JSON.parse(data) as EventBody)),
    last: rows.length < limit,
    chars,
    next: Math.max(1, Math.min(PAGE, Math.floor(PAGE_CHARS / Math.max(1, chars / Math.max(1, rows.length)))))
  }
}
