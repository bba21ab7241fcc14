import type { MemoryQuery } from '@polyvac/core'
import { MEMORY_DEFAULTS } from '@polyvac/core/plugin'
import { InvalidSearchError } from '../errors.js'

/** Checks the arguments of a search and fills in the defaults; a longer query is cut after its last whole word. */
export function searchArguments ({ query, limit = MEMORY_DEFAULTS.limit, threshold = MEMORY_DEFAULTS.threshold }:
Omit<MemoryQuery, 'signal'>): { query: string, limit: number, threshold: number } {
  if (typeof query !== 'string') throw new InvalidSearchError('query', typeof query, 'a string')
  if (!Number.isInteger(limit) || limit < 1 || limit > MEMORY_DEFAULTS.maxLimit) {
    throw new InvalidSearchError('limit', String(limit), `a whole number from 1 to ${MEMORY_DEFAULTS.maxLimit}`)
  }
  if (typeof threshold !== 'number' || !(threshold >= 0 && threshold <= 1)) {
    throw new InvalidSearchError('threshold', String(threshold), 'a number from 0 to 1')
  }
  return { query: shorten(query), limit, threshold }
}

/** Cuts a text after its last whole word within the longest query: every word costs a lookup in the index. */
export function shorten (query: string): string {
  const { maxQueryLength } = MEMORY_DEFAULTS
  if (query.length <= maxQueryLength) return query
  const cut = query.slice(0, maxQueryLength)
  const lastWhole = /^[^]*[\s\p{P}](?=[^\s\p{P}]*$)/u.exec(cut)
  return lastWhole === null ? cut : lastWhole[0]
}
