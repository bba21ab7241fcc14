import { findSkill, inputProblems, nearestSkill, type ExposedVacs } from '@polyvac/core/plugin'
import type { TaskProblem, TaskProtocol } from '@polyvac/runs'

/** The queue of tasks whose skill did not exist when they were created: any worker fails them at once. */
export const REFUSED = 'a2a refused'

/**
 * Why a task cannot run: its skill does not exist, or its input breaks the schema of the skill. Such a task is created,
 * and fails (service description, section 7).
 */
export function taskProblem (vacs: ExposedVacs, name: string, input: unknown): TaskProblem | undefined {
  const skill = findSkill(vacs, name)
  if (skill === undefined) {
    const near = nearestSkill(vacs.list(), name)
    const remedy = near === undefined ? 'the agent card lists the skills' : `did you mean ${JSON.stringify(near)}?`
    return { code: 'A2A_SKILL_NOT_FOUND', message: `no skill is named ${JSON.stringify(name)}; ${remedy}` }
  }
  const problems = inputProblems(skill.kind, input).map(({ path, message }) => `${path} ${message}`)
  if (problems.length === 0) return undefined
  return { code: 'A2A_INPUT_INVALID', message: `the input does not fit the skill ${name}: ${problems.join('; ')}` }
}

/** What callers of A2A see of a task that fails. */
export const A2A_TASKS: TaskProtocol = {
  name: 'a2a',
  problemOf: (vacs, { skill, input }) => taskProblem(vacs, skill, input),
  credentialEnded: {
    code: 'A2A_CREDENTIAL_ENDED', message: 'the credential that sent this task does not count any more; send it again with another one'
  },
  failure: { code: 'A2A_SKILL_FAILED' }
}
