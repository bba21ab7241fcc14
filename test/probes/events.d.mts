export { parseEvents as messagesOf } from '@polyvac/client/events'
export function eventsOf (body: string): Array<{ readonly event: string | undefined, readonly data: unknown }>
export function jsonOf (text: string): unknown
