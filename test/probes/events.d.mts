export function messagesOf (body: string): Array<{ readonly id: string | undefined, readonly event: string | undefined, readonly data: string }>
export function eventsOf (body: string): Array<{ readonly event: string | undefined, readonly data: unknown }>
export function jsonOf (text: string): unknown
