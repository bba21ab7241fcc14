import { ANYONE } from '../basics/owner-key.js'

/** What is asked for in an approval, and what became of it: two texts that the store never reads. */
export interface ApprovalRow {
  readonly value: string
  readonly status: string
}

/**
 * Approvals by owner and id, which all processes of a store share. An owner has at most MAX_OPEN_APPROVALS, callers
 * without an identity ten times as many together: past that the oldest leaves.
 */
export interface ApprovalRecords {
  /** Undefined also for one that has expired. @param owner the name of a principal; undefined for unknown callers */
  get (owner: string | undefined, id: string): Promise<ApprovalRow | undefined>
  /** Whose an approval is; undefined for an unknown one. Only for who may answer for others. */
  locate (id: string): Promise<{ readonly owner: string | undefined } | undefined>
  /** Stores a new one, with an empty status. @param expiresAt ms since 1970; it is deleted some time after that */
  create (owner: string | undefined, id: string, value: string, expiresAt: number): Promise<void>
  /** Replaces the status `before`. False where another one is stored, or none. */
  replace (owner: string | undefined, id: string, before: string, after: string): Promise<boolean>
}

export const MAX_OPEN_APPROVALS = 100

/** Approvals that an owner may have. @param key that of `ownerKey` */
export function maxApprovals (key: string): number {
  return key === ANYONE ? 10 * MAX_OPEN_APPROVALS : MAX_OPEN_APPROVALS
}
