/**
 * The key in the column `owner` of what callers without an identity made. It has no space at its beginning, as other
 * keys of that kind have, since databases and replicas of earlier versions have it; `ownerKey` keeps principals off it.
 */
export const ANYONE = 'anyone'

/** Before the name of a principal that is one of the texts above. No principal's name begins with a space. */
const PREFIX = ' user '

/** The key of a caller in a store. @param owner the name of its principal; undefined for callers without an identity */
export function ownerKey (owner: string | undefined): string {
  if (owner === undefined) return ANYONE
  return owner === ANYONE ? PREFIX + owner : owner
}

/** The name of the principal of a key; undefined for callers without an identity. */
export function ownerOfKey (key: string): string | undefined {
  if (key === ANYONE) return undefined
  return key.startsWith(PREFIX) ? key.slice(PREFIX.length) : key
}
