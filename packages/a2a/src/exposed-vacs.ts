import type { Vac, Vacs } from '@polyvac/core'
import { A2aOptionsError } from './errors.js'

/** The VACs that are exposed, at any moment: what is not among them is answered as one that does not exist. */
export interface ExposedVacs {
  has (name: string): boolean
  get (name: string): Vac
  list (): readonly Vac[]
}

/** @param names `a2a_vac_names`: null or undefined for all, an empty list for none; an unknown name is refused at start */
export function exposedVacs (vacs: Vacs, names: readonly string[] | null | undefined): ExposedVacs {
  if (names === null || names === undefined) return vacs
  const unknown = names.filter(name => !vacs.has(name))
  if (unknown.length > 0) throw new A2aOptionsError(`vacNames has ${unknown.join(', ')}, which is not configured; there are ${vacs.names.join(', ')}`)
  const exposed = new Set(names)
  // a reload may have taken one away since
  const has = (name: string): boolean => exposed.has(name) && vacs.has(name)
  return { has, get: name => vacs.get(name), list: () => vacs.list().filter(({ name }) => has(name)) }
}
