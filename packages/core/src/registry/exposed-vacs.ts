import type { ExposedVacs } from '../vac/vac.js'
import type { Vacs } from './vacs.js'

/**
 * @param names null or undefined for all, an empty list for none
 * @param refused makes the error for names that are not configured; its argument lists them and those that are
 */
export function exposedVacs (vacs: Vacs, names: readonly string[] | null | undefined,
  refused: (problem: string) => Error): ExposedVacs {
  if (names === null || names === undefined) return vacs
  const unknown = names.filter(name => !vacs.has(name))
  if (unknown.length > 0) throw refused(`has ${unknown.join(', ')}, which is not configured; there are ${vacs.names.join(', ')}`)
  const exposed = new Set(names)
  // a reload may have removed one
  const has = (name: string): boolean => exposed.has(name) && vacs.has(name)
  return { has, get: name => vacs.get(name), list: () => vacs.list().filter(({ name }) => has(name)) }
}
