import { parseEvents as messagesOf } from '@polyvac/client/events'

export { messagesOf }

/** The events of an event stream, `{ event, data }`, with JSON parsed. */
export function eventsOf (body) {
  return messagesOf(body).map(({ event, data }) => ({ event, data: jsonOf(data) ?? data }))
}

/** The value of a JSON text; undefined for any other text. */
export function jsonOf (text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
