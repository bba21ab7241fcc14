import { createParser } from 'eventsource-parser'

/** The events of an event stream, `{ event, data }`, with JSON parsed. */
export function eventsOf (body) {
  const events = []
  const parser = createParser({ onEvent: ({ event, data }) => { events.push({ event, data: jsonOf(data) ?? data }) } })
  parser.feed(body)
  return events
}

/** The value of a JSON text; undefined for any other text. */
export function jsonOf (text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
