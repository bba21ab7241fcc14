import { createHash } from 'node:crypto'

/**
 * Before the owners of runs: other protocols over the same store do not list them. No principal's name begins with a
 * space, so no principal has such an owner.
 */
const PREFIX = ' runs '

/** Who stands for all callers without an identity. */
const ANONYMOUS = ' anonymous'

/** Longest owner that a store takes, in characters. */
const MAX_OWNER = 256

/** The key of the runs of an owner in the store. @param owner undefined for callers without an identity */
export function runsOwner (owner: string | undefined): string {
  const key = PREFIX + (owner ?? ANONYMOUS)
  // behind a second space, as the hash itself could be the name of another principal
  return key.length <= MAX_OWNER ? key : `${PREFIX} sha256 ${createHash('sha256').update(key).digest('hex')}`
}

/** Whose share of the memory a run counts in; undefined for callers without an identity. */
export function ownerOfRuns (key: string): string | undefined {
  const owner = key.slice(PREFIX.length)
  return owner === ANONYMOUS ? undefined : owner
}
