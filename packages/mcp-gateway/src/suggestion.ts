import { nearest } from '@polyvac/core/plugin'

/** Names told where none is near. */
const MAX_NAMES = 10

/** What to tell somebody who gave an unknown name: the one most likely meant, or some there are. */
export function suggestion (given: string, names: readonly string[], what: string): string {
  const near = nearest(given, names)
  if (near !== undefined) return `did you mean ${JSON.stringify(near)}?`
  if (names.length === 0) return `there are no ${what}`
  const told = names.slice(0, MAX_NAMES).join(', ')
  return `its ${what}: ${told}${names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : ''}`.replace(/^its servers/, 'configured')
}

/** A name in a message: quoted, and no longer than anybody reads. */
export function shown (name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name)
}
