import type { VacConfig } from '../config/schema.js'
import type { StepView } from '../vac/step.js'

/**
 * The one decision about what a caller sees of the steps of an answer. Inputs, outputs and errors of tools leave only
 * for a caller who may administer, and where the configuration of the VAC has `all`.
 * @param asked whether the request asks for steps, or its protocol always has them
 * @param isAdmin whether the caller may administer: `mayAdminister` of its request
 */
export function stepsFor ({ steps = 'names' }: { readonly steps?: VacConfig['steps'] | undefined }, asked: boolean, isAdmin: () => boolean): StepView | undefined {
  if (steps === 'off') return undefined
  if (steps === 'all') return 'all'
  if (!asked) return undefined
  return isAdmin() ? 'all' : 'names'
}
