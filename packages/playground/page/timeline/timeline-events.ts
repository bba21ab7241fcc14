import type { Exchange } from '../requests/exchange-record.js'

export const LANES = ['tasks', 'streams', 'tool calls', 'webhooks', 'requests'] as const
export type Lane = typeof LANES[number]

/** A request of the page, a frame that arrived for it, or a delivery to a webhook. Times are in ms since the epoch. */
export interface TimelineEvent {
  readonly lane: Lane
  readonly start: number
  /** Undefined while the request goes on. */
  readonly end: number | undefined
  readonly label: string
  readonly isFrame: boolean
}

const MAX_LABEL = 120
const frameEvents = new WeakMap<Exchange, TimelineEvent[]>()

function laneOf ({ protocol, label, request: { path, headers } }: Exchange): Lane {
  if (/pushNotification/i.test(path)) return 'webhooks'
  if (protocol === 'a2a' || protocol === 'a2a-description') return 'tasks'
  if (label.startsWith('tools/call')) return 'tool calls'
  return headers.accept === 'text/event-stream' ? 'streams' : 'requests'
}

/** The name of the tool that an answer calls, or a state. */
function labelOf (text: string): string {
  const [, label = text] = /"tool_\w+":{"id":"[^"]*","\w+":"([^"]*)/.exec(text) ?? /"state":\s*"([^"]*)/.exec(text) ?? []
  return label.slice(0, MAX_LABEL)
}

/**
 * The events of a session and `others` in the order of their times. Only frames that are new since the last call are
 * read.
 */
export function eventsOf (exchanges: readonly Exchange[], others: readonly TimelineEvent[]): TimelineEvent[] {
  const events = [...others]
  for (const exchange of exchanges) {
    const { startedAt, endedAt, label, status, error, frames } = exchange
    const lane = laneOf(exchange)
    const outcome = error ?? (status === undefined ? '' : String(status))
    events.push({ lane, start: startedAt, end: endedAt === undefined ? undefined : startedAt + endedAt, label: `${label} ${outcome}`.trim(), isFrame: false })
    let known = frameEvents.get(exchange)
    if (known === undefined) frameEvents.set(exchange, known = [])
    for (const { at, text } of frames.slice(known.length)) known.push({ lane: text.includes('"tool_') ? 'tool calls' : lane, start: startedAt + at, end: startedAt + at, label: labelOf(text), isFrame: true })
    for (const event of known) events.push(event)
  }
  return events.sort((a, b) => a.start - b.start)
}

/** The part of the time that is shown. */
export interface Range { readonly from: number, readonly to: number }

/** The time that events span, at least 1 ms. */
export function spanOf (events: readonly TimelineEvent[], now: number): Range {
  const from = events[0]?.start ?? now
  let to = from + 1
  for (const { end = now } of events) if (end > to) to = end
  return { from, to }
}

/** A range of half or twice the length around the same middle, or moved; it stays within the span. */
export function zoomed ({ from, to }: Range, by: 'in' | 'out' | 'earlier' | 'later', span: Range): Range {
  const length = to - from
  const move = by === 'earlier' ? -length / 2 : by === 'later' ? length / 2 : 0
  const next = Math.min(span.to - span.from, Math.max(1, by === 'in' ? length / 2 : by === 'out' ? length * 2 : length))
  const start = Math.min(Math.max(span.from, from + move + (length - next) / 2), span.to - next)
  return { from: start, to: start + next }
}

/** The events of a lane as bars of an overview with `columns` columns; events that share columns are one bar. */
export function barsOf (events: readonly TimelineEvent[], lane: Lane, { from, to }: Range, columns: number, now: number): Array<{ readonly x: number, readonly width: number }> {
  const used = new Int32Array(columns + 1)
  for (const { lane: other, start, end = now } of events) {
    if (other !== lane || end < from || start > to) continue
    const first = Math.max(0, Math.min(columns - 1, Math.floor((start - from) / (to - from) * columns)))
    const last = Math.max(first, Math.min(columns - 1, Math.floor((end - from) / (to - from) * columns)))
    used[first]!++
    used[last + 1]!--
  }
  const bars: Array<{ x: number, width: number }> = []
  let open = 0
  for (let x = 0; x < columns; x++) {
    open += used[x]!
    if (open <= 0) continue
    const last = bars.at(-1)
    if (last !== undefined && last.x + last.width === x) last.width++
    else bars.push({ x, width: 1 })
  }
  return bars
}
