import { ANONYMOUS, ownerWithin } from '@polyvac/core/plugin'

const PROTOCOL = 'runs'

/** The key of the runs of an owner in the store. @param owner undefined for callers without an identity */
export function runsOwner (owner = ANONYMOUS): string {
  return ownerWithin(PROTOCOL, owner)
}

/** Whether a key of the store is that of runs. */
export function isOwnerOfRuns (key: string): boolean {
  return key.startsWith(ownerWithin(PROTOCOL, ''))
}

/** Whose share of the memory a run counts in; undefined for callers without an identity. */
export function ownerOfRuns (key: string): string | undefined {
  const owner = key.slice(PROTOCOL.length + 2)
  return owner === ANONYMOUS ? undefined : owner
}
