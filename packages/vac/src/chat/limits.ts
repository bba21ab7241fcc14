import { Type } from '@sinclair/typebox'

/** Characters of the passage of a source in a message: clients send all messages back with each question. */
const MAX_PASSAGE_CHARS = 2_000
/** An answer that no reader takes goes on for so long, in seconds (contract section 9). */
const UNREAD_TIMEOUT = 900

/** The time in which a reader that has lost its connection comes back, in ms (contract section 9). */
export const GRACE_MS = 30_000

/** The option of a protocol whose answers go on without a reader. */
export const UnreadTimeout = {
  unread_timeout: Type.Optional(Type.Number({ minimum: 1, maximum: 86_400, description: `seconds that an answer goes on without a reader; default ${UNREAD_TIMEOUT}` }))
}

/**
 * How long an answer goes on without a reader, in ms. One whose chat is not kept is found only by the id of its run, so
 * most clients cannot come back to it.
 */
export function unreadMsOf ({ unread_timeout: seconds = UNREAD_TIMEOUT }: { readonly unread_timeout?: number | undefined }, isKept: boolean): number {
  return isKept ? seconds * 1000 : Math.min(seconds * 1000, GRACE_MS)
}

/** The beginning of a passage. */
export function shownPassage (content: string): string { return content.slice(0, MAX_PASSAGE_CHARS).toWellFormed() }
