import { randomFillSync } from 'node:crypto'
import type { RunCaller } from '../vac/run-caller.js'

/** 128 random bits, which no caller can guess. */
const SERVICE_ID = /^conv_[A-Za-z0-9_-]{22}$/

const ID_BYTES = 16
/** Random bytes of the next ids: to get them one by one takes a tenth of a short call. */
const random = Buffer.alloc(64 * ID_BYTES)
let used = random.length

/** An id of a conversation that the service begins. */
export function newConversationId (): string {
  if (used === random.length) {
    randomFillSync(random)
    used = 0
  }
  used += ID_BYTES
  return `conv_${random.toString('base64url', used - ID_BYTES, used)}`
}

/** An id as the header `x-conversation-id`: percent-encoded where it is not visible ASCII, as headers must be. */
export function conversationHeader (id: string): string {
  return id.replace(/[^!-$&-~]+/g, encodeURIComponent)
}

/**
 * The one decision about the id of a conversation that a caller names:
 * - `existing`: the service made it; who has it may use it, and for any other owner than its own it does not exist.
 * - `own`: the caller made it, and it is one of its conversations, or begins one.
 * - `none`: unknown callers on other machines share one owner, so an id that one of them made could be that of another;
 *   nothing is kept under it.
 */
export function conversationAccess ({ principal, isLocal }: Pick<RunCaller, 'principal' | 'isLocal'>, id: string): 'existing' | 'own' | 'none' {
  if (SERVICE_ID.test(id)) return 'existing'
  return principal !== undefined || isLocal ? 'own' : 'none'
}
