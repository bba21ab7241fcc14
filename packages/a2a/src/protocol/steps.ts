import type { Principal, StepView } from '@polyvac/core'
import { findSkill, isRecord, mayAdminister, stepsFor, type ExposedVacs, type Skill } from '@polyvac/core/plugin'
import type { TaskRecord } from '@polyvac/tasks'
import type { FastifyRequest } from 'fastify'

/** Whether some metadata of a request, or of its message, asks for the steps of the answer. */
export function asksForSteps (...metadata: readonly unknown[]): boolean {
  return metadata.some(fields => isRecord(fields) && fields.steps === true)
}

/** Whether the log of a task has steps, or may have them. */
export function hasSteps ({ metadata: { steps } }: TaskRecord): boolean {
  return steps !== undefined && steps !== null
}

/**
 * The metadata of a task whose run writes steps: what its caller sees of them, which no reader sees more of. A task
 * that goes on with another caller loses what that one may not see.
 */
export function stepFields (skill: Skill | undefined, asked: boolean, request: FastifyRequest, caller: Principal | undefined): { readonly steps: StepView | null } | undefined {
  const steps = skill && stepsFor(skill.vac.config, asked, () => mayAdminister(request, caller))
  return steps === undefined && !asked ? undefined : { steps: steps ?? null }
}

/** What a reader sees of the steps of a task. */
export function viewOfTask (vacs: ExposedVacs, task: TaskRecord, request: FastifyRequest, caller: Principal | undefined): StepView | undefined {
  if (!hasSteps(task)) return undefined
  const skill = findSkill(vacs, task.skill)
  return skill && stepsFor(skill.vac.config, true, () => mayAdminister(request, caller))
}
