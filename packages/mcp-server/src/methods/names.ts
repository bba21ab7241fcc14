import { nearest } from '@polyvac/core/plugin'

/** Names in messages to callers are cut after so many characters. */
const MAX_SHOWN = 100

export function shown (name: string): string {
  return JSON.stringify(name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name)
}

export function suggestion (name: string, names: readonly string[]): string {
  const near = nearest(name, names)
  return near === undefined ? '' : `; did you mean ${near}?`
}
