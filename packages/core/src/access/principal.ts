import { createHash } from 'node:crypto'
import type { Principal } from '../vac/vac.js'

/** Longest name of an owner, in characters: the task stores take no longer one. */
export const MAX_OWNER_CHARS = 256

/**
 * C0, DEL, C1, separators of lines, directions and invisible marks, which forge lines of logs and of terminals, and
 * half characters, which databases refuse.
 */
// eslint-disable-next-line no-control-regex
const UNFIT = /[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udfff]/u

/**
 * Why a text cannot name an owner; undefined if it can. An owner has no white space at its ends, so keys that begin
 * with a space are free for what belongs to no principal.
 */
export function ownerProblem (owner: string): string | undefined {
  if (owner === '') return 'is empty'
  if (owner.length > MAX_OWNER_CHARS) return `has more than ${MAX_OWNER_CHARS} characters`
  if (owner.trim() !== owner) return 'begins or ends with white space'
  return UNFIT.test(owner) ? 'has a control character or an invisible one' : undefined
}

/** Whether a value can be the scopes of a caller: a text would be searched, and could have a scope as a part. */
export function isScopes (value: unknown): value is readonly string[] | undefined {
  return value === undefined || (Array.isArray(value) && value.every(text => typeof text === 'string'))
}

/** The identity of a caller as fields of what outlives its request, such as a task. The owner is the key of that. */
export type CallerFields = {
  readonly authenticated: boolean
  readonly scopes?: readonly string[] | undefined
  readonly credential?: string | undefined
}

export function callerFields (principal: Principal | undefined): CallerFields {
  if (principal === undefined) return { authenticated: false }
  const { scopes, credential } = principal
  return { authenticated: true, ...scopes !== undefined && { scopes }, ...credential !== undefined && { credential } }
}

/**
 * The caller of stored fields. Version 0.1.0 stored only the scopes, and no owner where callers are not authenticated.
 * @param owner undefined for callers without an identity
 */
export function callerOfFields (owner: string | undefined, fields: Partial<CallerFields>): Principal | undefined {
  const { authenticated = owner !== undefined, scopes, credential } = fields
  if (!authenticated || owner === undefined) return undefined
  return { owner, ...scopes !== undefined && { scopes }, ...credential !== undefined && { credential } }
}

/** What stands for the owner of all callers without an identity, as a part of the key below. */
export const ANONYMOUS = ' anonymous'

/**
 * The owner in a store of tasks of what a protocol keeps apart from others, such as ` mcp alice`: they do not list it.
 * No principal's name begins with a space, so no principal has such an owner.
 * @param owner the name of a principal, or a text that begins with a space
 */
export function ownerWithin (protocol: string, owner: string): string {
  const key = ` ${protocol} ${owner}`
  // behind a second space, as the hash itself could be the name of another principal
  return key.length <= MAX_OWNER_CHARS ? key : ` ${protocol}  sha256 ${createHash('sha256').update(key).digest('hex')}`
}
